/* Makes the names of a profile's frames, kernels and hosts for reports. They are demangled and cleaned, each once.
 *   - A native frame has its symbol, with all inlined functions, and a source line for each where it is known. Without
 *     a symbol it is file+0xoffset; an address in no file is [unknown].
 *   - A Python frame is file:function:line (source_name.h).
 *   - A mark is its words.
 * Part of report_build; used by one thread. */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/fold_table.h"
#include "report/names/demangle.h"
#include "report/names/symbol_part.h"
#include "report/profile/profile.h"

enum report_lines {
	REPORT_LINES_ON = 0,
	/* no line numbers and native sources, so that equal functions merge */
	REPORT_LINES_OFF = 1,
};

struct report_names;
struct step_paths; /* report/frames/step_path.h */

/* The profile is borrowed until destroy. NULL: out of memory. report_names_destroy() accepts NULL.
 */
struct report_names *report_names_create(const struct profile *profile, enum demangle_mode mode,
					 enum report_lines lines);
void report_names_destroy(struct report_names *names);

/* Each makes a clean text, the third a demangled one. Texts are named by an index from 0 without gaps; index 0 is
 * "". 0 or -ENOMEM. */
int report_names_text(struct report_names *names, const char *text, uint32_t *index);
int report_names_string(struct report_names *names, uint32_t string_id, uint32_t *index);
int report_names_function(struct report_names *names, uint32_t string_id, uint32_t *index);

/* Makes the functions of a frame, outermost first: 1 to REPORT_INLINES_MAX. Behind the function of a Python frame of
 * generated code stand the lines of the model that it works for, if they are known: "model.py:forward:57,
 * model.py:loss:60". Borrowed until the next call. 0 or -ENOMEM. */
int report_names_frame(struct report_names *names, uint32_t frame_id, const uint32_t **indices,
		       uint32_t *count);

/* Makes "kernels.cu:17" of a frame that is a code with a file. 0 or -ENOMEM. */
int report_names_line(struct report_names *names, uint32_t frame_id, uint32_t *index);

/* Makes the leaf's name (kind_name.h): "[GPU0_Kernel]gemm", "[GPU1_Memcpy]HtoD", "[GPU?_Memset]", "[GPU0_Graph]",
 * "[GPU0_Sync]stream"; of memory "[GPU0_Memory]device", "[GPU0_Managed]managed", "[Host_Memory]pinned"; of host
 * threads "[CPU]", "[Off-CPU]futex", "[GPU_Launch]cuLaunchKernel"; within kernels "[stall]long scoreboard"; and
 * "[GPU0_Idle]" or, of a pause (idle_fold.h), "[GPU0_Idle]pause"; and "[GPU0_Energy]not explained". gpu is the index,
 * REPORT_GPU_NONE, or REPORT_GPU_ANY ("[GPU_Kernel]gemm"). key->kind is an enum report_kind. */
int report_names_leaf(struct report_names *names, const struct fold_key *key, int32_t gpu,
		      uint32_t *index);

/* Names the step that the row's work is of: "[step] prefill", or "", index 0, if it is of none. The row's stacks must
 * be in the catalog of the steps. 0; -EPROTO: a stack is deeper than the wire allows; -ENOMEM. */
int report_names_step(struct report_names *names, struct step_paths *steps,
		      const struct fold_key *key, uint32_t *index);

/* Returns whether names have numbers of lines. */
bool report_names_has_lines(const struct report_names *names);

uint32_t report_names_count(const struct report_names *names);
const char *report_names_get(const struct report_names *names, uint32_t index); /* borrowed */

/* Makes an array of all texts by their indexes, which the caller owns (free()); the texts are borrowed. NULL: out of
 * memory. */
const char **report_names_all(const struct report_names *names);

#endif
