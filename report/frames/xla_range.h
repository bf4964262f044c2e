/* The NVTX ranges that XLA (JAX) opens around its work: one for a compiled module, and one for each of its operations
 * (inject/nvtx/xla_text.h). They stand outside of the thread's stack, as all ranges do. Readers see them inside, next
 * to the work: the module, the lines of the operation, and the operation.
 *	train.py:step:30;cuLaunchKernel;[XLA] jit_step;train.py:layer:7;[HLO] gemm_fusion_dot.5;[GPU0_Kernel]…
 * Pure; any thread. */
#ifndef XLA_RANGE_H
#define XLA_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#define XLA_RANGE_TEXT_MAX 256u /* with NUL; a longer text is cut */

struct catalog;

/* Returns whether a node of stacks is such a range. */
bool xla_range_is(const struct catalog *catalog, uint32_t node_id);

/* Writes the frames of such a range. lines: "train.py:layer:7, train.py:loss:12", a frame outside of `name`; "": a
 * module, or none are known. */
void xla_range_frames(const struct catalog *catalog, uint32_t node_id,
		      char name[static XLA_RANGE_TEXT_MAX], char lines[static XLA_RANGE_TEXT_MAX]);

#endif
