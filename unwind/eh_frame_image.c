#include "eh_frame_image.h"

#include <link.h>

struct eh_frame_image eh_frame_image_loaded(const struct dl_phdr_info *info)
{
	struct eh_frame_image image = {.low = UINT64_MAX};

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + segment->p_vaddr, high = low + segment->p_memsz;

		if (segment->p_type != PT_LOAD)
			continue;
		image.low = low < image.low ? low : image.low;
		image.high = high > image.high ? high : image.high;
	}
	return image;
}
