/* What compilers say of their work. It stands outside of the thread's stack, as all ranges do. Readers see it inside,
 * next to the work.
 *   - XLA (JAX) opens NVTX ranges: one for a compiled module, and one for each of its operations
 *     (inject/nvtx/xla_text.h). They become the module, the lines of the operation, and the operation:
 *	train.py:step:30;cuLaunchKernel;[XLA] jit_step;train.py:layer:7;[HLO] gemm_fusion_dot.5;[GPU0_Kernel]…
 *   - C++ code of PyTorch's Inductor names lines of its model (inject/launch/kernel_context.h):
 *	serve.py:main:9;…;run_impl;cuLaunchKernel;model.py:forward:12, model.py:loss:30;[GPU0_Kernel]…
 * Pure; any thread. */
#ifndef INNER_RANGE_H
#define INNER_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#define INNER_RANGE_TEXT_MAX 1088u /* with NUL; a longer text is cut */

struct catalog;

/* Returns whether a node of stacks is such a range. */
bool inner_range_is(const struct catalog *catalog, uint32_t node_id);

/* Writes the frames of such a range. lines: "train.py:layer:7, train.py:loss:12", a frame outside of `name`; "": a
 * module, or none are known. name: "": there are only lines. numbers: whether line numbers stay; without them equal
 * lines are one. */
void inner_range_frames(const struct catalog *catalog, uint32_t node_id,
			char name[static INNER_RANGE_TEXT_MAX],
			char lines[static INNER_RANGE_TEXT_MAX], bool numbers);

#endif
