/* Lays out an ELF file as it would be loaded, with its segments at their distances from each other, but without its
 * writable data. Files belong to applications; all sizes are bounded. Little-endian x86_64 alone. Any thread. */
#ifndef ELF_IMAGE_H
#define ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/eh_frame_image.h"

#define ELF_IMAGE_PHDRS_MAX 64u

struct elf_image { /* zeroed: no image */
	Elf64_Phdr segments[ELF_IMAGE_PHDRS_MAX];
	uint32_t nr_segments;
	uint64_t low, span; /* virtual addresses; whole pages, if not borrowed */
	char *base; /* owns, if not borrowed; the place of low in our memory. NULL: no image */
	bool is_borrowed;
};

/* Reads the file's list of segments. false: it is not such a file, or makes no sense. */
bool elf_image_read(struct elf_image *image, int fd);

/* Finds the first segment of a type with these flags whose content lies in the image, or returns NULL. */
const Elf64_Phdr *elf_image_segment(const struct elf_image *image, uint32_t type, uint32_t flags);

/* elf_image_map() maps the contents. If the file is cut afterwards, only reads that cannot fault may touch them.
 * elf_image_copy() copies the contents that are not writable; any code may read these. */
bool elf_image_map(struct elf_image *image, int fd);
bool elf_image_copy(struct elf_image *image, int fd);

/* Uses a file that is already in our memory, in place of reading and mapping one. Its segments must lie in memory
 * as they lie in the file. Borrowed until elf_image_fini(). false: it is not such a file, or its segments lie
 * elsewhere. */
bool elf_image_borrow(struct elf_image *image, const void *memory, size_t size);

/* Returns the image's place for the reader of its call frame information. */
struct eh_frame_image elf_image_frames(const struct elf_image *image);
void elf_image_fini(struct elf_image *image);

#endif
