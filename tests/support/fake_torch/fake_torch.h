/* A stand-in for libtorch_cpu: operations that launch kernels of the fake CUDA, nodes as autograd makes them, and an
 * engine's thread that evaluates them in a backward pass. It exports what the guest asks for, under libtorch's names,
 * with the objects of PyTorch 2.11 (shared_ptr) or, compiled with FAKE_TORCH_INTRUSIVE, of those to come. Functions may
 * be called from one thread at a time; forward operations of several threads may take turns. */
#ifndef FAKE_TORCH_H
#define FAKE_TORCH_H

#include <stdint.h>

#define FAKE_TORCH_NODES_MAX (1u << 16) /* that wait for a backward pass */

/* The kernels that forward and backward operations launch (CUfunction), in the current context. */
void fake_torch_kernels(void *forward, void *backward);

/* Operations, each with one launch. addmm and mul make a node; view makes one and launches nothing; fill launches and
 * makes none. */
void fake_torch_addmm(void);
void fake_torch_mul(void);
void fake_torch_view(void);
void fake_torch_fill(void);

/* torch.autograd.Function: makes its node, and calls back with grad mode off. */
void fake_torch_function(void (*forward)(void));

/* Operations that launch nothing. */
void fake_torch_views(uint32_t count);

/* Evaluates all nodes, the newest first, and then `leaves` AccumulateGrad nodes, each with one launch, on the engine's
 * thread. create_graph: grad mode is on meanwhile. Returns how many reference counts are not as before. */
uint32_t fake_torch_backward(uint32_t leaves, int create_graph);

#endif
