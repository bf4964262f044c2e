/* What the frames, kernels and hosts of a profile are called in reports: demangled, cleaned, each
 * made once.
 *	- a frame: its symbol; else file+0xoffset; an address in no file: [unknown]
 *	- CUDA's own frames at the leaf are cut down to the outermost API function that the
 *	  application called Part of report_build; used by one thread. */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "demangle.h"
#include "fold_table.h"
#include "profile.h"

struct report_names;

/* The profile is borrowed until destroy. NULL: out of memory. report_names_destroy() accepts NULL.
 */
struct report_names *report_names_create(const struct profile *profile, enum demangle_mode mode);
void report_names_destroy(struct report_names *names);

/* Each: the text as it is, cleaned; or demangled, too. Texts are named by an index from 0 without
 * gaps; index 0 is "". 0 or -ENOMEM. */
int report_names_text(struct report_names *names, const char *text, uint32_t *index);
int report_names_string(struct report_names *names, uint32_t string_id, uint32_t *index);
int report_names_frame(struct report_names *names, uint32_t frame_id, uint32_t *index);

/* "[GPU0_Kernel]gemm", "[GPU1_Memcpy]HtoD", "[GPU?_Memset]". gpu: REPORT_GPU_NONE or the index. */
int report_names_leaf(struct report_names *names, const struct fold_key *key, int32_t gpu,
		      uint32_t *index);

/* The stack node at which the host's part of the stack ends for a reader: the node itself or one
 * further out. */
uint32_t report_names_cut(const struct report_names *names, uint32_t node_id);

uint32_t report_names_count(const struct report_names *names);
const char *report_names_get(const struct report_names *names, uint32_t index); /* borrowed */

#endif
