/* Where the evaluation loop's code lies. */
#ifndef PYTHON_EVAL_H
#define PYTHON_EVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/eh_frame_image.h"
#include "unwind/unwind.h"

/* A whole loop is tens of kilobytes. A smaller function is only the way into a loop that is split: with an option of
 * 3.14 each instruction is a function, and they tail-call each other. The way in still has one frame on the native
 * stack for each loop. The instructions' functions show as native frames of their own. */
#define PYTHON_EVAL_WHOLE_BYTES 8192u

/* A file in memory, loaded or mapped with its parts at the same distances. All fields are addresses or sizes. */
struct python_eval_file {
	struct eh_frame_image image;
	uint64_t eval_frame;           /* the evaluation loop */
	uint64_t code_start, code_end; /* of the segment that holds it */
	uint64_t eh_frame_hdr, eh_frame_hdr_size;
};

/* Finds the function at eval_frame and the parts that the compiler moved out of it. false: the file has no unwind
 * information for the function, and *stops is empty. */
bool python_eval_find_in(const struct python_eval_file *file, struct unwind_stops *stops);

/* Does the same for the loaded file that holds eval_frame. Takes the loader's lock. */
bool python_eval_find(uint64_t eval_frame, struct unwind_stops *stops);

#endif
