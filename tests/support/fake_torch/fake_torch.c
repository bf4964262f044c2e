#include "fake_torch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#define NO_NUMBER UINT64_MAX

/* ---- classes: a table of functions, before which stands the typeinfo */

struct typeinfo {
	const void *functions;
	const char *name;
};

struct class
{
	ptrdiff_t to_top;
	const struct typeinfo *typeinfo;
	const void *functions[2];
};

#define CLASS(symbol, text)                                                                        \
	static const struct typeinfo symbol##_info = {NULL, text};                                 \
	static const struct class symbol = {0, &symbol##_info, {NULL, NULL}}

CLASS(addmm_class, "N5torch8autograd9generated14AddmmBackward0E");
CLASS(mul_class, "N5torch8autograd9generated12MulBackward0E");
CLASS(view_class, "N5torch8autograd9generated13ViewBackward0E");
CLASS(function_class, "N5torch8autograd6PyNodeE");
CLASS(accumulate_class, "N5torch8autograd14AccumulateGradE");

/* ---- nodes */

#ifdef FAKE_TORCH_INTRUSIVE
struct node {
	const void *functions;
	_Atomic uint64_t count; /* the lower half counts references */
	uint64_t number, topological, parent, thread_id;
};
#else
struct control {
	const void *functions;
	_Atomic uint32_t count, weak;
};

struct node {
	const void *functions;
	struct node *self; /* weak_ptr */
	struct control *self_control;
	uint64_t number, topological, parent, thread_id;
};
#endif

struct owned_node {
	struct node node;
#ifndef FAKE_TORCH_INTRUSIVE
	struct control control;
#endif
};

static struct owned_node nodes[FAKE_TORCH_NODES_MAX];
static uint32_t nr_nodes;
static void *forward_kernel, *backward_kernel;

static _Atomic uint64_t nr_threads;
static __thread uint64_t next_number, thread_id;
static __thread bool no_grad;
static __thread int graph_task_id = -1;
static __thread struct owned_node *evaluated;

#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT uint64_t peek(void) __asm__("_ZN2at15sequence_number4peekEv");
uint64_t peek(void)
{
	return next_number;
}

EXPORT uint64_t current_thread_id(void) __asm__("_ZN2at14RecordFunction15currentThreadIdEv");
uint64_t current_thread_id(void)
{
	if (!thread_id)
		thread_id = atomic_fetch_add(&nr_threads, 1) + 1;
	return thread_id;
}

EXPORT bool is_enabled(void) __asm__("_ZN3c108GradMode10is_enabledEv");
bool is_enabled(void)
{
	return !no_grad;
}

EXPORT int current_graph_task(void) __asm__("_ZN5torch8autograd25get_current_graph_task_idEv");
int current_graph_task(void)
{
	return graph_task_id;
}

#ifndef FAKE_TORCH_WITHOUT_NODE
EXPORT void *current_node(void *pointer) __asm__("_ZN5torch8autograd16get_current_nodeEv");
void *current_node(void *pointer)
{
	void **words = pointer;

	words[0] = evaluated ? &evaluated->node : NULL;
#ifdef FAKE_TORCH_INTRUSIVE
	if (evaluated)
		atomic_fetch_add(&evaluated->node.count, 1);
#else
	words[1] = evaluated ? &evaluated->control : NULL;
	if (evaluated)
		atomic_fetch_add(&evaluated->control.count, 1);
#endif
	return pointer;
}
#endif

static uint32_t count_of(struct owned_node *owned)
{
#ifdef FAKE_TORCH_INTRUSIVE
	return (uint32_t)atomic_load(&owned->node.count);
#else
	return atomic_load(&owned->control.count);
#endif
}

static void make(struct owned_node *owned, const struct class *type, uint64_t number)
{
	memset(owned, 0, sizeof(*owned));
	owned->node.functions = type->functions;
	owned->node.number = number;
	owned->node.thread_id = number == NO_NUMBER ? 0 : current_thread_id();
#ifdef FAKE_TORCH_INTRUSIVE
	atomic_store(&owned->node.count, 2); /* the task's reference, and the guard's */
#else
	owned->node.self = &owned->node;
	owned->node.self_control = &owned->control;
	atomic_store(&owned->control.count, 2);
#endif
}

static void add_node(const struct class *type)
{
	if (nr_nodes == FAKE_TORCH_NODES_MAX)
		abort();
	make(&nodes[nr_nodes++], type, next_number++);
}

static __attribute__((noinline)) void launch(void *kernel)
{
	if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS)
		abort();
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

/* ---- forward */

void fake_torch_kernels(void *forward, void *backward)
{
	forward_kernel = forward;
	backward_kernel = backward;
}

#define OPERATOR(name, symbol, type)                                                               \
	static __attribute__((noinline, used)) void name(void) __asm__(symbol);                    \
	static void name(void)                                                                     \
	{                                                                                          \
		const struct class *made = type;                                                   \
		if (made)                                                                          \
			add_node(made);                                                            \
		launch(forward_kernel);                                                            \
		__asm__ volatile("" ::: "memory");                                                 \
	}

OPERATOR(addmm, "_ZN2at4_ops5addmm4callERKNS_6TensorES4_S4_", &addmm_class)
OPERATOR(mul, "_ZN2at4_ops10mul_Tensor4callERKNS_6TensorES4_", &mul_class)
OPERATOR(fill, "_ZN2at4_ops12fill__Scalar4callERNS_6TensorE", NULL)

void fake_torch_addmm(void)
{
	addmm();
	__asm__ volatile("" ::: "memory");
}

void fake_torch_mul(void)
{
	mul();
	__asm__ volatile("" ::: "memory");
}

void fake_torch_fill(void)
{
	fill();
	__asm__ volatile("" ::: "memory");
}

void fake_torch_view(void)
{
	add_node(&view_class);
}

void fake_torch_views(uint32_t count)
{
	next_number += count;
}

EXPORT void apply_function(void (*forward)(void)) __asm__("_Z17THPFunction_applyP7_objectS0_");
void apply_function(void (*forward)(void))
{
	bool before = no_grad;

	add_node(&function_class);
	no_grad = true;
	forward();
	no_grad = before;
}

void fake_torch_function(void (*forward)(void))
{
	apply_function(forward);
	__asm__ volatile("" ::: "memory");
}

/* ---- backward */

struct pass {
	CUcontext context;
	uint32_t leaves, nr_changed;
	bool create_graph;
};

static __attribute__((noinline, used)) void
apply(void) __asm__("_ZN5torch8autograd9generated14AddmmBackward05applyEOSt6vectorIN2at6TensorESaIS4_EE");
static void apply(void)
{
	launch(backward_kernel);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline, used)) void evaluate(struct owned_node *owned, struct pass *pass) __asm__(
	"_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeE");
static void evaluate(struct owned_node *owned, struct pass *pass)
{
	uint32_t before = count_of(owned);

	evaluated = owned;
	apply();
	evaluated = NULL;
	pass->nr_changed += count_of(owned) != before;
}

static void run(struct pass *pass)
{
	static struct owned_node leaf;
	static int next_task = 7;

	cuCtxSetCurrent(pass->context);
	no_grad = !pass->create_graph;
	graph_task_id = next_task++;
	while (nr_nodes > 0)
		evaluate(&nodes[--nr_nodes], pass);
	make(&leaf, &accumulate_class, NO_NUMBER);
	for (uint32_t i = 0; i < pass->leaves; i++)
		evaluate(&leaf, pass);
	graph_task_id = -1;
	no_grad = false;
}

/* The engine's one thread, which lasts. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct pass *pass; /* NULL: there is nothing to do */
	bool is_started;
} engine = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, false};

static void *run_engine(void *argument)
{
	pthread_mutex_lock(&engine.mutex);
	for (;;) {
		while (!engine.pass)
			pthread_cond_wait(&engine.changed, &engine.mutex);
		run(engine.pass);
		engine.pass = NULL;
		pthread_cond_broadcast(&engine.changed);
	}
	return argument;
}

uint32_t fake_torch_backward(uint32_t leaves, int create_graph)
{
	struct pass pass = {.leaves = leaves, .create_graph = create_graph};
	pthread_t thread;

	if (cuCtxGetCurrent(&pass.context) != CUDA_SUCCESS)
		abort();
	pthread_mutex_lock(&engine.mutex);
	if (!engine.is_started && pthread_create(&thread, NULL, run_engine, NULL) != 0)
		abort();
	engine.is_started = true;
	engine.pass = &pass;
	pthread_cond_broadcast(&engine.changed);
	while (engine.pass)
		pthread_cond_wait(&engine.changed, &engine.mutex);
	pthread_mutex_unlock(&engine.mutex);
	return pass.nr_changed;
}
