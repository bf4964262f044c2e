#include "made_frames.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

static void put_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void put_entry(struct made_frames *made, const uint8_t *bytes, size_t size)
{
	static const uint8_t nops[8];
	size_t padding = (8 - (size + 4) % 8) % 8;

	assert(made->frames_size + 4 + size + padding <= MADE_FRAMES_BYTES);
	put_u32(made->frames + made->frames_size, (uint32_t)(size + padding));
	memcpy(made->frames + made->frames_size + 4, bytes, size);
	memcpy(made->frames + made->frames_size + 4 + size, nops, padding);
	made->frames_size += 4 + size + padding;
}

static size_t put_common(struct made_frames *made, const char *letters)
{
	uint8_t bytes[64] = {0, 0, 0, 0, 1};
	size_t at = made->frames_size, nr = 5;
	static const uint8_t rest[] = {1,    0x78, 16, 1,    0x1b, /* pc-relative, 32 bits */
				       0x0c, 7,    8,  0x90, 1}; /* def_cfa rsp 8; rip at cfa - 8 */

	memcpy(bytes + nr, letters, strlen(letters) + 1);
	nr += strlen(letters) + 1;
	memcpy(bytes + nr, rest, sizeof(rest));
	put_entry(made, bytes, nr + sizeof(rest));
	return at;
}

static void put_function(struct made_frames *made, size_t common, uint32_t start, uint32_t size,
			 const uint8_t *program, size_t program_size)
{
	uint8_t bytes[256];
	size_t at = made->frames_size;
	uint8_t *pointer = made->frames + at + 8;

	assert(made->nr < MADE_FRAMES_MAX && program_size + 13 <= sizeof(bytes));
	put_u32(bytes, (uint32_t)(at + 4 - common));
	put_u32(bytes + 4, (uint32_t)(made->code + start - pointer));
	put_u32(bytes + 8, size);
	bytes[12] = 0; /* no augmentation data */
	if (program_size)
		memcpy(bytes + 13, program, program_size);
	put_entry(made, bytes, 13 + program_size);
	made->functions[made->nr].start = start;
	made->functions[made->nr++].at = at;
}

void made_frames_init(struct made_frames *made)
{
	memset(made, 0, sizeof(*made));
	made->memory = mmap(NULL, 4 * MADE_FRAMES_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert(made->memory != MAP_FAILED);
	made->header = made->memory;
	made->frames = made->memory + MADE_FRAMES_BYTES;
	made->code = made->memory + 2 * MADE_FRAMES_BYTES;
	made->module = (struct unwind_module){
		.start = (uint64_t)(uintptr_t)made->code,
		.end = (uint64_t)(uintptr_t)made->code + 2 * MADE_FRAMES_BYTES,
		.identity = 1,
		.eh_frame_hdr = (uint64_t)(uintptr_t)made->header,
		.image = {.low = (uint64_t)(uintptr_t)made->memory,
			  .high = (uint64_t)(uintptr_t)made->memory + 4 * MADE_FRAMES_BYTES},
	};
	put_common(made, "zR");
}

void made_frames_fini(struct made_frames *made)
{
	munmap(made->memory, 4 * MADE_FRAMES_BYTES);
}

void made_frames_function(struct made_frames *made, uint32_t start, uint32_t size,
			  const uint8_t *program, size_t program_size)
{
	put_function(made, 0, start, size, program, program_size);
}

void made_frames_signal(struct made_frames *made, uint32_t start, uint32_t size)
{
	put_function(made, put_common(made, "zRS"), start, size, NULL, 0);
}

void made_frames_finish(struct made_frames *made, enum made_table table)
{
	uint8_t *header = made->header;

	put_u32(made->frames + made->frames_size, 0);
	made->frames_size += 4;
	memcpy(header, (const uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
	put_u32(header + 4, (uint32_t)(made->frames - (header + 4)));
	put_u32(header + 8, (uint32_t)made->nr);
	made->header_size = 12 + 8 * (size_t)made->nr;
	for (int i = 0; i < made->nr; i++) {
		int from = table == MADE_BACKWARDS ? made->nr - 1 - i : i;

		put_u32(header + 12 + 8 * i,
			(uint32_t)(made->code + made->functions[from].start - header));
		put_u32(header + 16 + 8 * i,
			(uint32_t)(made->frames + made->functions[from].at - header));
	}
	if (table == MADE_NONE) {
		memcpy(header + 2, (const uint8_t[]){0xff, 0xff}, 2);
		made->header_size = 8;
	}
	made->module.eh_frame_hdr_size = made->header_size;
}
