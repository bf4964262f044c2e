/* An ELF file as it would be loaded, without its writable data: its segments at their distances from each other. Files
 * belong to applications; all sizes are bounded. Little-endian x86_64 alone. Any thread. */
#ifndef ELF_IMAGE_H
#define ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/eh_frame_image.h"

#define ELF_IMAGE_PHDRS_MAX 64u

struct elf_image { /* zeroed: nothing is there */
	Elf64_Phdr segments[ELF_IMAGE_PHDRS_MAX];
	uint32_t nr_segments;
	uint64_t low, span; /* virtual addresses; whole pages, if not borrowed */
	char *base; /* owns, if not borrowed; where low lies in our memory. NULL: nothing is there */
	bool is_borrowed;
};

/* Reads what the file says of its segments. false: it is no such file, or makes no sense. */
bool elf_image_read(struct elf_image *image, int fd);

/* The first one of a type with these flags, whose content lies in the image. NULL: there is none. */
const Elf64_Phdr *elf_image_segment(const struct elf_image *image, uint32_t type, uint32_t flags);

/* Maps the contents: if the file is cut, they may not be touched any more but by reads that cannot fault. Or copies
 * those that are not writable: they may. */
bool elf_image_map(struct elf_image *image, int fd);
bool elf_image_copy(struct elf_image *image, int fd);

/* One that is in our memory already, its segments where they are in the file, in place of reading and mapping it.
 * Borrowed until elf_image_fini(). false: it is no such file, or does not lie there so. */
bool elf_image_borrow(struct elf_image *image, const void *memory, size_t size);

/* Where it lies, for what reads its call frame information. */
struct eh_frame_image elf_image_frames(const struct elf_image *image);
void elf_image_fini(struct elf_image *image);

#endif
