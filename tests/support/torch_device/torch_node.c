/* The two functions that PyTorch has from 2.0 on, for PyTorch 1.13: which node of autograd a thread evaluates, and in
 * which pass. The nodes are PyTorch's own objects. This library needs that libtorch_cpu.so.1.13 and has the name that
 * the guest looks for, so that the guest finds all five functions through it. It is loaded first (LD_PRELOAD). */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default"), noinline))
#define EVALUATE                                                                                   \
	"_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEE"            \
	"PNS0_4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE"
#define RUN_PASS                                                                                   \
	"_ZN5torch8autograd6Engine23execute_with_graph_taskERKSt10shared_ptrINS0_9GraphTaskEE"     \
	"S2_INS0_4NodeEEONS0_11InputBufferE"

/* libstdc++'s control block of a shared_ptr. */
struct control {
	const void *functions;
	_Atomic uint32_t count;
};

/* A node begins as std::enable_shared_from_this does in a class with virtual functions. */
struct node {
	const void *functions;
	struct node *self; /* std::weak_ptr */
	struct control *control;
};

static __thread struct node *evaluated;
static __thread int pass_id = -1;

static void *next(const char *name)
{
	void *address = dlsym(RTLD_NEXT, name);

	if (!address) {
		fprintf(stderr, "torch_node: PyTorch has no %s\n", name);
		abort();
	}
	return address;
}

/* torch::autograd::get_current_node(). */
EXPORT void *current_node(void *pointer) __asm__("_ZN5torch8autograd16get_current_nodeEv");
void *current_node(void *pointer)
{
	void **words = pointer;

	words[0] = evaluated;
	words[1] = evaluated ? evaluated->control : NULL;
	if (evaluated && evaluated->self != evaluated)
		abort();
	if (evaluated)
		atomic_fetch_add(&evaluated->control->count, 1);
	return pointer;
}

/* torch::autograd::get_current_graph_task_id(). */
EXPORT int current_pass(void) __asm__("_ZN5torch8autograd25get_current_graph_task_idEv");
int current_pass(void)
{
	return pass_id;
}

/* PyTorch 2.0 sets the node where it calls this function. */
EXPORT void evaluate(void *engine, void *graph_task, struct node *node, void *inputs,
		     void *queue) __asm__(EVALUATE);
void evaluate(void *engine, void *graph_task, struct node *node, void *inputs, void *queue)
{
	static void (*original)(void *, void *, struct node *, void *, void *);
	struct node *outer = evaluated;

	if (!original)
		*(void **)&original = next(EVALUATE);
	evaluated = node;
	original(engine, graph_task, node, inputs, queue);
	evaluated = outer;
}

EXPORT void *run_pass(void *result, void *engine, void *graph_task, void *root,
		      void *inputs) __asm__(RUN_PASS);
void *run_pass(void *result, void *engine, void *graph_task, void *root, void *inputs)
{
	static void *(*original)(void *, void *, void *, void *, void *);
	static _Atomic int nr_passes;
	int outer = pass_id;

	if (!original)
		*(void **)&original = next(RUN_PASS);
	pass_id = atomic_fetch_add(&nr_passes, 1);
	original(result, engine, graph_task, root, inputs);
	pass_id = outer;
	return result;
}
