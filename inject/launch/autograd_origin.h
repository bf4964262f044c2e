/* Knows where the work of a backward pass comes from. PyTorch's autograd numbers the operations of each thread: an
 * operation's node has the thread's id and a sequence number. The guest can read both, too, while the operation
 * launches its forward kernels, and remembers the stack of the first launch of each (thread, number). A launch in a
 * backward pass asks for the node that is being evaluated, and finds that stack by the node's fields.
 *
 * It only reads thread-local variables, through functions that libtorch exports; PyTorch calls nothing of the guest's.
 * Sources: aten/src/ATen/SequenceNumber.h, aten/src/ATen/record_function.h,
 * torch/csrc/autograd/{engine,function,graph_task}.h of PyTorch 2.0 to 2.12; torch/csrc/autograd/function.h of July
 * 2026 for nodes that count their references themselves.
 *
 * AccumulateGrad and hooks of gradients have no forward operation. Their work has the stack of the thread that waits in
 * backward(), whose Python frames are read once in a pass. If backward() evaluates nodes on its own thread, the frames
 * of that thread are enough, and the work has no origin.
 *
 * A node of a view launches nothing. The next launch then takes its number, so that a number's stack may be that of a
 * neighbour; a report compares the names (report/frames/backward_path.h).
 *
 * An operation in place on a view makes two nodes or more: its own before it launches, and CopySlices when it is done.
 * Both are made within the operation's call. So a launch under the number before that of CopySlices was made within the
 * call, too, whatever node has that number. Sources: rebase_history() in torch/csrc/autograd/variable.cpp, and its
 * callers in VariableTypeUtils.h, VariableTypeManual.cpp and custom_function.cpp. A launch under the number of
 * CopySlices itself comes after the call, and is never its own. The operation may call the user's functions before it
 * launches: hooks of saved tensors, or torch.autograd.Function. In these no nodes are made, and their stacks are marked
 * as a neighbour's (torch/csrc/autograd/saved_variable.cpp, python_function.cpp). */
#ifndef AUTOGRAD_ORIGIN_H
#define AUTOGRAD_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#define AUTOGRAD_ORIGIN_SLOTS (1u << 20) /* operations of which a forward stack is remembered */

struct autograd_origin;
struct record_ring;

enum autograd_state {
	AUTOGRAD_NONE, /* no PyTorch in the process so far */
	AUTOGRAD_READY,
	AUTOGRAD_REFUSED, /* autograd_origin_text() says why */
};

/* What one thread keeps. Zeroed for a new thread. */
struct autograd_thread {
	bool is_engine;   /* it evaluates nodes without Python frames of its own */
	uint64_t node;    /* address of the node that it evaluated last */
	uint64_t next;    /* number of its next operation, at the last look */
	uint64_t started; /* number of its next operation, when the evaluation of the node began */
	uint32_t pass;    /* id, plus one, of the last pass without a forward stack */
	uint32_t caller_stack_id; /* of the thread that called backward() for that pass */
};

/* What one launch gets. */
struct autograd_launch {
	uint64_t
		number; /* for autograd_origin_remember(); 0: the launch is no forward operation's */
	uint32_t place;
	uint64_t word; /* stack_word_origin(); 0: the launch is in no backward pass */
	/* a new pass has no forward stack here: set the thread's caller_stack_id, and look again */
	bool wants_caller;
};

/* The functions of libtorch that the launch path calls. Each returns a thread-local variable. */
struct autograd_functions {
	uint64_t (*next_number)(void); /* at::sequence_number::peek() */
	uint64_t (*thread_id)(void);   /* at::RecordFunction::currentThreadId() */
	bool (*makes_nodes)(void);     /* c10::GradMode::is_enabled() */
	int (*graph_task)(
		void); /* torch::autograd::get_current_graph_task_id(); -1: no backward pass */
	/* torch::autograd::get_current_node(): stores a pointer that holds a reference */
	void *(*node)(void *pointer);
};

/* Creates it with mmap. The ring is borrowed until destroy, which accepts NULL. NULL: out of memory. */
struct autograd_origin *autograd_origin_create(struct record_ring *ring);
void autograd_origin_destroy(struct autograd_origin *origin);

/* Looks for libtorch_cpu, unless it was found before. It takes the loader's lock: never call it on the launch path. One
 * thread at a time. */
enum autograd_state autograd_origin_find(struct autograd_origin *origin);

/* Uses these functions, as autograd_origin_find() does with libtorch's. For tests. */
void autograd_origin_use(struct autograd_origin *origin,
			 const struct autograd_functions *functions);

/* Any thread; takes no lock. READY becomes REFUSED if nodes are not as they should be. */
enum autograd_state autograd_origin_state(const struct autograd_origin *origin);

/* Why it was refused, for people; "" otherwise. Static storage. */
const char *autograd_origin_text(const struct autograd_origin *origin);

/* Looks at the calling thread, which launches. has_python: it has Python frames. Takes no lock and allocates nothing,
 * but for the C library's own memory for the first plain thread-local variable of libtorch that the thread touches. */
void autograd_origin_look(struct autograd_origin *origin, struct autograd_thread *thread,
			  bool has_python, struct autograd_launch *launch);

/* Remembers the stack of a launch for its number. Does nothing if the launch has no number, or if the number already
 * has a stack. stack_id: of a stored stack, 1 to RECORD_STACKS_MAX (asserted). */
void autograd_origin_remember(struct autograd_origin *origin, const struct autograd_launch *launch,
			      uint32_t stack_id);

#endif
