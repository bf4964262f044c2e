/* Lets a real PyTorch for CPUs work as if its operators ran on a GPU. This library is loaded before libtorch_cpu
 * (LD_PRELOAD), and stands in front of a few of libtorch's own functions:
 * - Where an operator reaches its kernel for CPUs, a kernel of the fake CUDA is launched first, from the same stack.
 * - Passes of Engine::execute() are evaluated by one lasting thread, as those of a GPU are; the caller waits.
 *
 * Python programs call these functions by ctypes, from one thread at a time. */
#ifndef TORCH_DEVICE_H
#define TORCH_DEVICE_H

#include <stdint.h>

#define TORCH_DEVICE_NODES_MAX 1024u

/* Launches these kernels (CUfunction) from now on, in the context: `evaluation` while a node without a kernel of its
 * own is evaluated, `other` at other times. NULL: launches nothing. */
void torch_device_start(void *context, void *other, void *evaluation);

/* Gives a node of autograd (torch::autograd::Node) a kernel of its own. The node must not be freed. There is
 * room for TORCH_DEVICE_NODES_MAX (asserted). */
void torch_device_add_node(const void *node, void *kernel);

/* Returns the node that the calling thread evaluates; NULL: none. */
const void *torch_device_evaluated(void);

/* Whether the lasting thread evaluates passes (as at first), or the thread that calls backward(). */
void torch_device_set_engine_thread(int used);

/* Returns the number of launches so far. */
uint64_t torch_device_launches(void);

#endif
