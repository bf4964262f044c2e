/* Reads the call frame information of one loaded file: .eh_frame_hdr and .eh_frame, as the processor-specific ABI and
 * DWARF define them. It copies memory before it reads, so that it cannot fault, and stays inside the file's image. It
 * believes nothing that the file says. One thread at a time. */
#ifndef EH_FRAME_H
#define EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct eh_frame_image;
struct frame_description;
struct unwind_rows;

/* Finds the function that holds an address, as its frame description entry bounds it. Uses the header's search table;
 * without a table it looks through all entries. false: there is none, and *start and *end are 0. */
bool eh_frame_function(const struct eh_frame_image *image, uint64_t eh_frame_hdr,
		       uint64_t eh_frame_hdr_size, uint64_t address, uint64_t *start,
		       uint64_t *end);

/* Appends to `rows`, which is empty, the rows of the executable segment [start, end), of its first 4 GiB at most.
 * Returns 0; -ENOENT: the header names no functions there; -EINVAL: the header makes no sense; -EFAULT: the header, or
 * memory that it points to, cannot be read now; -ENOMEM; -ENOSPC: there are more rows than `rows` may hold. */
int eh_frame_compile(const struct eh_frame_image *image, uint64_t eh_frame_hdr,
		     uint64_t eh_frame_hdr_size, uint64_t start, uint64_t end,
		     struct unwind_rows *rows);

/* Appends to `rows`, which is empty, the rows of one function (eh_frame_lookup.h). They count from the function's
 * start. false: there is no room. */
bool eh_frame_rows(const struct frame_description *function, struct unwind_rows *rows);

#endif
