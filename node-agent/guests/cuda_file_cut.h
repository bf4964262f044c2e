/* Decides where the agent ends a stack. CUDA's own frames at the leaf say nothing about the application's source, and
 * the driver decides whether they have names. They are known by their files (proto/options/cuda_file.h).
 *   - If the outermost of these frames is libcudart's, the stack ends in that exported function of libcudart.
 *   - Otherwise it ends in the driver function of the launch's cbid, as a frame without a file. The application has
 *     then called libcuda directly, or has a static runtime, or the walk ended before or among CUDA's frames. Frames of
 *     a static runtime stay outside that frame, and so does the mark of an ended walk.
 *
 * A report cuts a second time, by names (report/frames/cuda_name_cut.h): only they tell a static runtime's frames from
 * the application's, and the agent does not wait for names. Pure. */
#ifndef CUDA_FILE_CUT_H
#define CUDA_FILE_CUT_H

#include <stdbool.h>
#include <stdint.h>

struct message_frame;
struct stack_dictionary;

/* Returns how many of the innermost frames are cut. words and frames: `depth` of each, leaf first. *is_named: the first
 * frame that stays is libcudart's function. */
uint32_t cuda_file_cut_of(const struct stack_dictionary *stacks, const uint64_t *words,
			  const struct message_frame *frames, uint32_t depth, bool *is_named);

#endif
