/* One function's entry in .eh_frame, with the common entry that it refers to: Linux Standard Base, "Exception Frames".
 * Pure: it reads only inside the section, whatever that holds. One thread at a time. */
#ifndef FRAME_DESCRIPTION_H
#define FRAME_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi_program.h"
#include "dwarf_reader.h"
#include "eh_frame_image.h"

#define FRAME_COMMONS 8u /* parsed common entries that are kept; linkers leave a few a file */

/* A copy of .eh_frame. */
struct frame_section {
	struct eh_frame_image image; /* of the file */
	uint64_t address; /* of the original */
	uint8_t *bytes;
	size_t size;
	uint64_t data_base; /* of pointers that are relative to data: the header's address */
};

struct frame_common {
	struct cfi_common cfi;
	uint8_t pointer_encoding;
	bool augmented, signal;
};

struct frame_description {
	struct frame_common common;
	uint64_t start, end;    /* addresses, in the file's image */
	const uint8_t *program; /* borrowed until the section goes */
	size_t program_size;
};

/* Common entries of one section that were read before. Zeroed: empty. */
struct frame_common_cache {
	struct {
		size_t at;
		struct frame_common common;
	} entries[FRAME_COMMONS];
	uint32_t nr, next;
};

/* A reader of the section from byte `at` on. `at` may lie outside. */
struct dwarf_reader frame_section_reader(const struct frame_section *section, size_t at);

/* Reads the description whose length field lies at byte `at`. false: none there makes sense. */
bool frame_description_parse(const struct frame_section *section, struct frame_common_cache *cache,
			     size_t at, struct frame_description *description);

/* The same in three steps, for copies of single entries. The first tells where the description's common entry lies,
 * and the caller copies that. The second reads the common entry, which is borrowed from its copy. The third reads the
 * description. */
bool frame_description_common(const struct frame_section *section, size_t at, uint64_t *address);
bool frame_common_parse(const struct frame_section *section, size_t at,
			struct frame_common *common);
bool frame_description_parse_apart(const struct frame_section *section, size_t at,
				   const struct frame_common *common,
				   struct frame_description *description);

#endif
