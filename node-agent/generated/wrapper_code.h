/* A file that Inductor generated: the kernels that it defines, and its calls of them. A comment stands above each
 * definition and above each call:
 *	# Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.add, aten.relu]
 *	# Source node to ATen node mapping:
 *	#   x => add
 *	# Graph fragment:
 *	#   %add : Tensor "f32[8]"[num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = …)
 *	triton_poi_fused_add_relu_0 = async_compile.triton('triton_poi_fused_add_relu_0', '''
 *	…
 *	# Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.add, aten.relu]
 *	# [Provenance debug handles] triton_poi_fused_add_relu_0:3
 *	triton_poi_fused_add_relu_0.run(buf0, buf1, 8, stream=stream0)
 * Handles are there if the program asked for them (INDUCTOR_PROVENANCE=1). A definition of a kernel that the user wrote
 * has "# Original path: FILE:LINE", and its function's name between the quotes. PyTorch 2.11,
 * torch/_inductor/utils.py (get_kernel_metadata), codegen/wrapper.py. Pure; any thread. */
#ifndef WRAPPER_CODE_H
#define WRAPPER_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "text_span.h"

#define WRAPPER_CODE_ITEMS_MAX 32768u /* kernels, and calls */
#define WRAPPER_BUFFER_NONE    UINT32_MAX

/* All texts are borrowed from the file's text. */
struct wrapper_kernel {
	struct text_span name;
	struct text_span function; /* in the kernel's own text */
	struct text_span comment;  /* the line of the source nodes; size 0: there is none */
	struct text_span mapping, fragment; /* lines; size 0: there are none */
	struct text_span origin; /* "FILE:LINE" of a kernel of the user's own; size 0: it is none */
};

struct wrapper_call {
	uint32_t line;            /* from 1 */
	struct text_span callee;  /* "triton_poi_fused_add_relu_0.run", "extern_kernels.mm" */
	struct text_span comment; /* as above */
	struct text_span handle;  /* "extern_kernels.mm:4"; size 0: there is none */
	/* number of the buffer that it makes: 7 in "out=buf7"; or WRAPPER_BUFFER_NONE */
	uint32_t buffer;
	uint32_t kernel; /* index of its kernel + 1; 0: it has none in this file */
	bool is_first;   /* of the calls of its kernel */
};

struct wrapper_code {
	struct wrapper_kernel *kernels; /* own both */
	struct wrapper_call *calls;
	uint32_t nr_kernels, nr_calls, room_kernels, room_calls;
};

/* Reads the text of a file, which is borrowed until wrapper_code_fini(). That accepts zeroed memory. 0; -ENOSPC: more
 * than WRAPPER_CODE_ITEMS_MAX kernels or calls; -ENOMEM. */
int wrapper_code_init(struct wrapper_code *code, struct text_span text);
void wrapper_code_fini(struct wrapper_code *code);

/* Returns the names of the source nodes, with commas between them, in such a comment. */
struct text_span wrapper_code_sources(struct text_span comment);

/* Returns the ATen operations, with commas between them, in such a comment. */
struct text_span wrapper_code_operations(struct text_span comment);

#endif
