/* Reads the call frame information of one loaded file: .eh_frame_hdr and .eh_frame, as the
 * processor-specific ABI and DWARF define them. Pure but for the reading of memory, which goes
 * through a copy and cannot fault, and stays inside the file's image. Nothing that the file says is believed. One
 * thread at a time. */
#ifndef EH_FRAME_H
#define EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct eh_frame_image;
struct frame_description;
struct unwind_rows;

/* The function (more exactly: its frame description entry) that holds an address, by the header's
 * search table, or without one by looking through all. false: none; *start and *end are then 0. */
bool eh_frame_function(const struct eh_frame_image *image, uint64_t eh_frame_hdr,
		       uint64_t eh_frame_hdr_size, uint64_t address, uint64_t *start,
		       uint64_t *end);

/* The rows of the executable segment [start, end), at most 4 GiB of it, appended to rows (empty).
 * Returns 0; -ENOENT: the header names no functions there; -EINVAL: it makes no sense; -EFAULT: it
 * or what it points to cannot be read (now); -ENOMEM; -ENOSPC: more rows than rows may hold. */
int eh_frame_compile(const struct eh_frame_image *image, uint64_t eh_frame_hdr,
		     uint64_t eh_frame_hdr_size, uint64_t start, uint64_t end,
		     struct unwind_rows *rows);

/* The rows of one function (eh_frame_lookup.h), from its own start on, appended to rows (empty). false: there is
 * no room. */
bool eh_frame_rows(const struct frame_description *function, struct unwind_rows *rows);

#endif
