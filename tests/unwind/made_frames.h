/* Makes a file's .eh_frame_hdr and .eh_frame by hand, in memory of their own; for tests. */
#ifndef MADE_FRAMES_H
#define MADE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind_table.h"

#define MADE_FRAMES_MAX   64
#define MADE_FRAMES_BYTES 4096u /* of each part */

struct made_frames {
	uint8_t *memory; /* owns: header, frames, two pages of code */
	uint8_t *header, *frames, *code;
	size_t header_size, frames_size;
	struct unwind_module module; /* its segment is the code; identity 1 */
	int nr;
	struct {
		uint32_t start; /* in the code */
		size_t at;      /* in the frames */
	} functions[MADE_FRAMES_MAX];
};

enum made_table { MADE_SORTED, MADE_BACKWARDS, MADE_NONE };

/* With one common entry: CFA = rsp + 8, return address below it. */
void made_frames_init(struct made_frames *made);
void made_frames_fini(struct made_frames *made);

/* A function of the code, by offset, with its program. */
void made_frames_function(struct made_frames *made, uint32_t start, uint32_t size,
			  const uint8_t *program, size_t program_size);

/* The same with a common entry of its own, marked as a signal's frame. */
void made_frames_signal(struct made_frames *made, uint32_t start, uint32_t size);

/* The header; nothing is added afterwards. */
void made_frames_finish(struct made_frames *made, enum made_table table);

#endif
