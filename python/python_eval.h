/* Where the evaluation loop's code lies. */
#ifndef PYTHON_EVAL_H
#define PYTHON_EVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/eh_frame_image.h"
#include "unwind/unwind.h"

/* A whole loop is tens of kilobytes. Below this it is but the way in to one that is split into a
 * function for each instruction, which tail-call each other (an option of 3.14): the way in then
 * still has one frame for each loop on the native stack, but the instructions' functions are seen
 * as native frames of their own. */
#define PYTHON_EVAL_WHOLE_BYTES 8192u

/* A file in memory as it is loaded, or as it would be: its parts at their distances from each other. All are
 * addresses. */
struct python_eval_file {
	struct eh_frame_image image;
	uint64_t eval_frame;           /* the evaluation loop */
	uint64_t code_start, code_end; /* of the segment that holds it */
	uint64_t eh_frame_hdr, eh_frame_hdr_size;
};

/* The function at eval_frame and the parts that the compiler moved out of it. false: the file has no unwind information
 * for it; *stops is then empty. */
bool python_eval_find_in(const struct python_eval_file *file, struct unwind_stops *stops);

/* Finds the function at eval_frame and the parts that the compiler moved out of it. Takes the
 * loader's lock. false: its file has no unwind information for it; *stops is then empty. */
bool python_eval_find(uint64_t eval_frame, struct unwind_stops *stops);

#endif
