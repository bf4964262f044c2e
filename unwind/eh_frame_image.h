/* Where one file lies in memory, loaded or only mapped. The file may say anything, and memory beside it is not the
 * file's. So all that its call frame information leads to must lie in the image. Pure. */
#ifndef EH_FRAME_IMAGE_H
#define EH_FRAME_IMAGE_H

#include <stdint.h>

struct dl_phdr_info;

struct eh_frame_image {
	uint64_t low, high; /* addresses of all its segments, high exclusive */
	/* Added to its absolute pointers. 0: the file is loaded, and the loader has relocated them. */
	uint64_t bias;
};

/* The image of a file that dl_iterate_phdr() describes. */
struct eh_frame_image eh_frame_image_loaded(const struct dl_phdr_info *info);

/* Bytes from an address to the image's end; 0: the address lies outside. */
static inline uint64_t eh_frame_image_left(const struct eh_frame_image *image, uint64_t address)
{
	return address >= image->low && address < image->high ? image->high - address : 0;
}

#endif
