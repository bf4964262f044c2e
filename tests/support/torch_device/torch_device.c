#include "torch_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#define EXPORT __attribute__((visibility("default"), noinline))

struct own_kernel {
	const void *node;
	CUfunction kernel;
};

static struct own_kernel own_kernels[TORCH_DEVICE_NODES_MAX];
static uint32_t nr_own_kernels;
static CUcontext context;
static CUfunction other_kernel, evaluation_kernel;
static bool uses_engine_thread = true;
static _Atomic uint64_t nr_launches;

static __thread const void *evaluated; /* node */
static __thread bool is_engine;

/* ---- launches */

static CUfunction kernel_of(const void *node)
{
	for (uint32_t i = 0; node && i < nr_own_kernels; i++)
		if (own_kernels[i].node == node)
			return own_kernels[i].kernel;
	return node ? evaluation_kernel : other_kernel;
}

static void launch(void)
{
	CUfunction kernel = kernel_of(evaluated);

	if (!kernel)
		return;
	if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS)
		abort();
	atomic_fetch_add(&nr_launches, 1);
}

EXPORT void torch_device_start(void *its_context, void *other, void *evaluation)
{
	context = its_context;
	other_kernel = other;
	evaluation_kernel = evaluation;
}

EXPORT void torch_device_add_node(const void *node, void *kernel)
{
	if (nr_own_kernels == TORCH_DEVICE_NODES_MAX)
		abort();
	own_kernels[nr_own_kernels++] = (struct own_kernel){node, kernel};
}

EXPORT const void *torch_device_evaluated(void)
{
	return evaluated;
}

EXPORT void torch_device_set_engine_thread(int used)
{
	uses_engine_thread = used;
}

EXPORT uint64_t torch_device_launches(void)
{
	return nr_launches;
}

/* ---- libtorch's functions */

#define GET_KERNEL  "_ZN2at6native16DispatchStubImpl12get_call_ptrEN3c1010DeviceTypeEPvS4_S4_"
#define PART_BEGINS "_ZN2at8internal14set_thread_numEi"
#define EVALUATE                                                                                   \
	"_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEE"            \
	"PNS0_4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE"
#define EXECUTE                                                                                    \
	"_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EE"                         \
	"RKS2_IN2at6TensorESaIS9_EEbbbS7_"

/* Returns the function that `caller`, an address in a library of PyTorch's, means. Python may have loaded that library
 * with names that others do not see. */
static void *next(const char *name, const void *caller)
{
	void *address = dlsym(RTLD_NEXT, name), *library = NULL;
	Dl_info info;

	if (!address && dladdr(caller, &info))
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (library)
		address = dlsym(library, name);
	if (!address) {
		fprintf(stderr, "torch_device: PyTorch has no %s\n", name);
		abort();
	}
	return address;
}

/* Most kernels are chosen by the processor's instructions. */
EXPORT void *get_kernel(void *stub, int device, void *plain, void *avx512,
			void *avx2) __asm__(GET_KERNEL);
void *get_kernel(void *stub, int device, void *plain, void *avx512, void *avx2)
{
	static void *(*original)(void *, int, void *, void *, void *);

	if (!original)
		*(void **)&original = next(GET_KERNEL, __builtin_return_address(0));
	launch();
	return original(stub, device, plain, avx512, avx2);
}

/* Loops of kernels that are not chosen are cut into parts for threads. */
EXPORT void set_thread_number(int number) __asm__(PART_BEGINS);
void set_thread_number(int number)
{
	static void (*original)(int);

	if (!original)
		*(void **)&original = next(PART_BEGINS, __builtin_return_address(0));
	launch();
	original(number);
}

/* Products of matrices. */
EXPORT void multiply(const char *transpose_a, const char *transpose_b, const int *m, const int *n,
		     const int *k, const float *alpha, const float *a, const int *a_stride,
		     const float *b, const int *b_stride, const float *beta, float *c,
		     const int *c_stride) __asm__("sgemm_");
void multiply(const char *transpose_a, const char *transpose_b, const int *m, const int *n,
	      const int *k, const float *alpha, const float *a, const int *a_stride, const float *b,
	      const int *b_stride, const float *beta, float *c, const int *c_stride)
{
	static void (*original)(const char *, const char *, const int *, const int *, const int *,
				const float *, const float *, const int *, const float *,
				const int *, const float *, float *, const int *);

	if (!original)
		*(void **)&original = next("sgemm_", __builtin_return_address(0));
	launch();
	original(transpose_a, transpose_b, m, n, k, alpha, a, a_stride, b, b_stride, beta, c,
		 c_stride);
}

EXPORT void evaluate(void *engine, void *graph_task, void *node, void *inputs,
		     void *queue) __asm__(EVALUATE);
void evaluate(void *engine, void *graph_task, void *node, void *inputs, void *queue)
{
	static void (*original)(void *, void *, void *, void *, void *);
	const void *outer = evaluated;

	if (!original)
		*(void **)&original = next(EVALUATE, __builtin_return_address(0));
	evaluated = node;
	original(engine, graph_task, node, inputs, queue);
	evaluated = outer;
}

/* ---- the engine's thread */

/* The arguments of Engine::execute(), and where its result goes. */
struct pass {
	void *result, *engine;
	const void *roots, *inputs, *outputs;
	bool keep_graph, create_graph, accumulate_grad;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const struct pass *pass; /* NULL: there is nothing to do */
	bool is_started;
} engine_thread = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, false};

static void *(*engine_execute)(void *, void *, const void *, const void *, bool, bool, bool,
			       const void *);

static void run(const struct pass *pass)
{
	engine_execute(pass->result, pass->engine, pass->roots, pass->inputs, pass->keep_graph,
		       pass->create_graph, pass->accumulate_grad, pass->outputs);
}

static void *run_passes(void *argument)
{
	is_engine = true;
	if (cuCtxSetCurrent(context) != CUDA_SUCCESS)
		abort();
	pthread_mutex_lock(&engine_thread.mutex);
	for (;;) {
		while (!engine_thread.pass)
			pthread_cond_wait(&engine_thread.changed, &engine_thread.mutex);
		run(engine_thread.pass);
		engine_thread.pass = NULL;
		pthread_cond_broadcast(&engine_thread.changed);
	}
	return argument;
}

static void run_on_engine_thread(const struct pass *pass)
{
	pthread_t thread;

	pthread_mutex_lock(&engine_thread.mutex);
	if (!engine_thread.is_started && pthread_create(&thread, NULL, run_passes, NULL) != 0)
		abort();
	engine_thread.is_started = true;
	engine_thread.pass = pass;
	pthread_cond_broadcast(&engine_thread.changed);
	while (engine_thread.pass)
		pthread_cond_wait(&engine_thread.changed, &engine_thread.mutex);
	pthread_mutex_unlock(&engine_thread.mutex);
}

/* The caller has let go of Python's lock. A pass within a pass stays on its thread, as in PyTorch. */
EXPORT void *execute(void *result, void *engine, const void *roots, const void *inputs,
		     bool keep_graph, bool create_graph, bool accumulate_grad,
		     const void *outputs) __asm__(EXECUTE);
void *execute(void *result, void *engine, const void *roots, const void *inputs, bool keep_graph,
	      bool create_graph, bool accumulate_grad, const void *outputs)
{
	const struct pass pass = {result,  engine,     roots,        inputs,
				  outputs, keep_graph, create_graph, accumulate_grad};

	if (!engine_execute)
		*(void **)&engine_execute = next(EXECUTE, __builtin_return_address(0));
	if (uses_engine_thread && context && !is_engine)
		run_on_engine_thread(&pass);
	else
		run(&pass);
	return result;
}
