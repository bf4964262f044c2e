/* The demo's kernels, as PTX for any GPU since Maxwell; the driver compiles it at loading. */
#ifndef DEMO_KERNELS_H
#define DEMO_KERNELS_H

#include <stdint.h>

enum demo_kernel {
	DEMO_EMBEDDING,
	DEMO_GEMM,
	DEMO_SOFTMAX,
	DEMO_LAYER_NORM,
	DEMO_RELU,
	DEMO_LOSS,
	DEMO_GEMM_GRAD,
	DEMO_REDUCE,
	DEMO_ADAM,
	DEMO_KERNELS
};

struct demo_kernel_shape {
	const char *name;
	unsigned int grid, block; /* blocks, threads a block */
	uint32_t rounds;          /* of arithmetic in each thread; they set the duration */
};

extern const struct demo_kernel_shape demo_kernel_shapes[DEMO_KERNELS];

/* The text of one module with all kernels. Each kernel takes (address of grid * block floats, rounds), and replaces
 * each float by a function of itself. */
extern const char demo_kernels_ptx[];

#endif
