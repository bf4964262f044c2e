#include "autograd_origin.h"

#include <assert.h>
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "autograd_node.h"

#include "proto/backward_frame.h"
#include "proto/launch_path.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"
#include "proto/sparse_memory.h"
#include "proto/stack_word.h"

#define LIBRARY    "libtorch_cpu.so"
#define PATH_BYTES 4096u

/* A slot holds the thread of a number, the number's high bits, and the stack. The slot's place stands for the low bits.
 * Numbers and threads beyond these bits have no slot. */
#define STACK_BITS  18
#define HIGH_BITS   13
#define THREAD_BITS 31
#define PLACE_BITS  20
#define SLOT_USED   (1ull << 63)
#define SLOT_WITHIN (1ull << 62) /* the launch ran where no nodes are made */
#define STACK_MASK  ((1ull << STACK_BITS) - 1)
#define KEY_MASK    (~(STACK_MASK | SLOT_WITHIN))
static_assert(RECORD_STACKS_MAX == 1u << STACK_BITS, "an id, less one, fits");
static_assert(STACK_BITS + HIGH_BITS + THREAD_BITS == 62, "a slot is a word");
static_assert(AUTOGRAD_ORIGIN_SLOTS == 1u << PLACE_BITS, "each place is a slot");

#define NEAR_MAX       2u    /* an operation in place on a view has up to two nodes after its own */
#define NR_TYPES       1024u /* classes of nodes; PyTorch generates about 450 */
#define TYPE_PROBES    8u
#define TYPE_NAME_BITS 17
static_assert(RECORD_CODES_MAX < 1u << TYPE_NAME_BITS, "an id fits below an address of 47 bits");

#define COUNT_TRIES   4
#define CHECKED_NODES 64u /* the first of a process are read with care */

struct autograd_origin {
	struct record_ring *ring;
	struct autograd_functions functions; /* written before the state says READY */
	unsigned long long adds;             /* the loader's counter at the last look */
	_Atomic int state;
	_Atomic(const char *) text;
	_Atomic uint32_t nr_checked;      /* nodes, up to CHECKED_NODES */
	_Atomic bool is_shared;           /* the checked nodes came by shared_ptr */
	_Atomic uint64_t custom;          /* the class BACKWARD_FRAME_CUSTOM; 0: not seen yet */
	_Atomic uint64_t in_place;        /* the same for BACKWARD_FRAME_IN_PLACE */
	_Atomic uint64_t types[NR_TYPES]; /* address << TYPE_NAME_BITS | id of its name */
	_Atomic uint64_t slots[AUTOGRAD_ORIGIN_SLOTS];
};

static_assert(offsetof(struct autograd_origin, state) == 56, "tests/gpu/programs/origin_cost.py");

struct autograd_origin *autograd_origin_create(struct record_ring *ring)
{
	struct autograd_origin *origin = sparse_memory_map(sizeof(*origin), PROT_READ | PROT_WRITE);

	if (!origin)
		return NULL;
	origin->ring = ring;
	return origin;
}

void autograd_origin_destroy(struct autograd_origin *origin)
{
	if (origin)
		munmap(origin, sizeof(*origin));
}

enum autograd_state autograd_origin_state(const struct autograd_origin *origin)
{
	return (enum autograd_state)atomic_load_explicit(&origin->state, memory_order_acquire);
}

const char *autograd_origin_text(const struct autograd_origin *origin)
{
	const char *text = atomic_load_explicit(&origin->text, memory_order_acquire);

	return text ? text : "";
}

static __attribute__((cold)) void refuse(struct autograd_origin *origin, const char *text)
{
	atomic_store_explicit(&origin->text, text, memory_order_release);
	atomic_store_explicit(&origin->state, AUTOGRAD_REFUSED, memory_order_release);
}

/* ---- libtorch */

static const struct {
	const char *name, *refusal;
	size_t offset; /* in struct autograd_functions */
} symbols[] = {
#define SYMBOL(name, field)                                                                        \
	{                                                                                          \
		name, "this PyTorch does not export " name " (2.0 and newer do)",                  \
			offsetof(struct autograd_functions, field)                                 \
	}
	SYMBOL("_ZN2at15sequence_number4peekEv", next_number),
	SYMBOL("_ZN2at14RecordFunction15currentThreadIdEv", thread_id),
	SYMBOL("_ZN3c108GradMode10is_enabledEv", makes_nodes),
	SYMBOL("_ZN5torch8autograd25get_current_graph_task_idEv", graph_task),
	SYMBOL("_ZN5torch8autograd16get_current_nodeEv", node),
#undef SYMBOL
};

struct look {
	struct autograd_origin *origin;
	bool changed; /* since the last look */
	char path[PATH_BYTES];
};

/* Distributions put a version behind the name, as in "libtorch_cpu.so.2.6". */
static bool is_library(const char *path)
{
	const char *slash = strrchr(path, '/');
	const size_t size = strlen(LIBRARY);

	return slash && strncmp(slash + 1, LIBRARY, size) == 0 &&
	       (slash[1 + size] == '\0' || slash[1 + size] == '.');
}

static int note_library(struct dl_phdr_info *info, size_t size, void *user)
{
	struct look *look = user;

	(void)size;
	if (!look->changed && info->dlpi_adds == look->origin->adds)
		return 1;
	look->changed = true;
	look->origin->adds = info->dlpi_adds;
	if (!info->dlpi_name || !is_library(info->dlpi_name) ||
	    strlen(info->dlpi_name) >= PATH_BYTES)
		return 0;
	strcpy(look->path, info->dlpi_name);
	return 1;
}

void autograd_origin_use(struct autograd_origin *origin, const struct autograd_functions *functions)
{
	origin->functions = *functions;
	atomic_store_explicit(&origin->state, AUTOGRAD_READY, memory_order_release);
}

/* The library stays loaded, since the launch path calls it. */
static void take_library(struct autograd_origin *origin, const char *path)
{
	struct autograd_functions functions;
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

	for (size_t i = 0; library && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *address = dlsym(library, symbols[i].name);

		if (!address) {
			refuse(origin, symbols[i].refusal);
			return;
		}
		memcpy((char *)&functions + symbols[i].offset, &address, sizeof(address));
	}
	if (library)
		autograd_origin_use(origin, &functions);
}

enum autograd_state autograd_origin_find(struct autograd_origin *origin)
{
	static struct look look; /* one thread at a time looks */

	if (autograd_origin_state(origin) == AUTOGRAD_NONE) {
		look.origin = origin;
		look.changed = false;
		look.path[0] = '\0';
		dl_iterate_phdr(note_library, &look);
		if (look.path[0])
			take_library(origin, look.path);
	}
	return autograd_origin_state(origin);
}

/* ---- numbers and their stacks */

/* Returns the slot's content but for the stack; 0: numbers like this have no slot. Neighbouring numbers of a thread are
 * neighbours in memory. */
static uint64_t slot_word(uint64_t thread_id, uint64_t number, uint32_t *place)
{
	if (thread_id >> THREAD_BITS || number >> (HIGH_BITS + PLACE_BITS))
		return 0;
	*place = (uint32_t)(number + thread_id * 0x9e3779b1u) % AUTOGRAD_ORIGIN_SLOTS;
	return SLOT_USED | (thread_id << HIGH_BITS | number >> PLACE_BITS) << STACK_BITS;
}

void autograd_origin_remember(struct autograd_origin *origin, const struct autograd_launch *launch,
			      uint32_t stack_id)
{
	_Atomic uint64_t *slot = &origin->slots[launch->place];

	assert(stack_id >= 1 && stack_id <= RECORD_STACKS_MAX);
	if (launch->number &&
	    ((atomic_load_explicit(slot, memory_order_relaxed) ^ launch->number) & KEY_MASK) != 0)
		atomic_store_explicit(slot, launch->number | (stack_id - 1), memory_order_release);
}

struct number_stack {
	uint32_t stack_id; /* RECORD_STACK_NONE: the number has none */
	bool taken;        /* another number has its slot, so that it may have had one */
	bool within;       /* the launch ran where no nodes are made */
};

static struct number_stack stack_of(struct autograd_origin *origin, uint64_t thread_id,
				    uint64_t number)
{
	uint32_t place;
	uint64_t wanted = slot_word(thread_id, number, &place);

	if (!wanted)
		return (struct number_stack){RECORD_STACK_NONE, .taken = true};
	uint64_t slot = atomic_load_explicit(&origin->slots[place], memory_order_acquire);
	uint64_t there = slot & KEY_MASK;
	if (there == wanted)
		return (struct number_stack){(uint32_t)(slot & STACK_MASK) + 1,
					     .within = slot & SLOT_WITHIN};
	/* An older number of the same thread, or nothing at all, was there before this number came. */
	return (struct number_stack){
		RECORD_STACK_NONE,
		.taken = there > wanted || (there && there >> (STACK_BITS + HIGH_BITS) !=
							     wanted >> (STACK_BITS + HIGH_BITS))};
}

/* ---- nodes */

static bool is_name(const char *name, size_t size, const char *wanted)
{
	return size == strlen(wanted) && memcmp(name, wanted, size) == 0;
}

static uint32_t add_name(struct autograd_origin *origin, uint64_t type)
{
	char name[AUTOGRAD_NODE_NAME_MAX];
	size_t size = autograd_node_name(type, name);

	if (is_name(name, size, BACKWARD_FRAME_CUSTOM))
		atomic_store_explicit(&origin->custom, type, memory_order_relaxed);
	if (is_name(name, size, BACKWARD_FRAME_IN_PLACE))
		atomic_store_explicit(&origin->in_place, type, memory_order_relaxed);
	return size ? record_ring_add_code(origin->ring, "", 0, name, (uint32_t)size) : 0;
}

/* Returns the id of the class's name in the ring; 0: it has none. */
static uint32_t name_of(struct autograd_origin *origin, uint64_t type)
{
	uint64_t hash = (type >> 4) * 0x9e3779b97f4a7c15u >> 40;

	for (uint32_t i = 0; i < TYPE_PROBES; i++) {
		_Atomic uint64_t *slot = &origin->types[(hash + i) % NR_TYPES];
		uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);

		if (there == 0) {
			uint32_t id = add_name(origin, type);

			/* A thread that loses the race uses the winner's id. */
			if (atomic_compare_exchange_strong(slot, &there,
							   type << TYPE_NAME_BITS | id))
				return id;
		}
		if (there >> TYPE_NAME_BITS == type)
			return (uint32_t)there & ((1u << TYPE_NAME_BITS) - 1);
	}
	return 0;
}

static bool is_custom(const struct autograd_origin *origin, const struct autograd_node *node)
{
	return node->type == atomic_load_explicit(&origin->custom, memory_order_relaxed);
}

static bool is_in_place(const struct autograd_origin *origin, const struct autograd_node *node)
{
	return node->type == atomic_load_explicit(&origin->in_place, memory_order_relaxed);
}

/* Returns the forward stack of the operation that made a node; RECORD_STACK_NONE: it is not known, or none did. *near:
 * it may be another's. A custom function launches after its node has its number, if at all. So no number before it is
 * its own. An operation in place on a view launches under the number of its own node, and makes CopySlices with the
 * next one when it is done. A function of the user's that it calls before makes no nodes. */
static uint32_t forward_of(struct autograd_origin *origin, const struct autograd_node *node,
			   bool *near)
{
	const bool in_place = is_in_place(origin, node);
	const uint32_t own = in_place ? 1 : 0, near_max = is_custom(origin, node) ? 0 : NEAR_MAX;
	struct number_stack found;
	uint32_t back = own;

	*near = false;
	if (node->number == AUTOGRAD_NODE_NO_NUMBER)
		return RECORD_STACK_NONE;
	do
		found = stack_of(origin, node->thread_id, node->number - back);
	while (found.stack_id == RECORD_STACK_NONE && !found.taken && back++ < near_max &&
	       node->number >= back);
	*near = found.stack_id != RECORD_STACK_NONE && (back > own || (in_place && found.within));
	return found.stack_id;
}

/* Sets the origin of work without a forward stack: the stack of backward()'s caller. Returns whether it is known. */
static bool take_caller(const struct autograd_origin *origin, struct autograd_thread *thread,
			uint32_t name_id, struct autograd_launch *launch)
{
	uint32_t pass = (uint32_t)origin->functions.graph_task() + 1;

	launch->wants_caller = thread->pass != pass;
	if (launch->wants_caller) {
		thread->pass = pass;
		thread->caller_stack_id = RECORD_STACK_NONE;
		return false;
	}
	launch->word = stack_word_origin(name_id, thread->caller_stack_id, false);
	return true;
}

static void take_origin(struct autograd_origin *origin, struct autograd_thread *thread,
			const struct autograd_node *node, bool has_python,
			struct autograd_launch *launch)
{
	bool near;
	uint32_t name_id = name_of(origin, node->type);
	uint32_t stack_id = forward_of(origin, node, &near);

	if (stack_id != RECORD_STACK_NONE) {
		launch->word = stack_word_origin(name_id, stack_id, near);
		return;
	}
	/* A thread that evaluates nodes within its own call of backward() has the caller's frames. */
	bool known =
		(has_python && !thread->is_engine) || take_caller(origin, thread, name_id, launch);
	if (known && node->number != AUTOGRAD_NODE_NO_NUMBER && !is_custom(origin, node))
		record_ring_count(origin->ring, LEDGER_DEVICE_NONE, LEDGER_ORIGIN_UNKNOWN, 1, 0);
}

/* Returns whether another reference to the node raises the count by one, as it stands where it is expected. Other
 * threads may take references meanwhile, so it is tried again. */
static __attribute__((cold, noinline)) bool
counts_references(const struct autograd_origin *origin, const struct autograd_reference *reference)
{
	uint32_t before, after;

	for (int i = 0; i < COUNT_TRIES; i++) {
		struct autograd_reference second = {0};

		if (!autograd_node_count(reference, &before))
			return false;
		origin->functions.node(&second);
		if (memcmp(&second, reference, sizeof(second)) != 0 ||
		    !autograd_node_count(reference, &after))
			return false;
		if (after == before + 1) {
			/* The earlier tries' references, too. */
			for (int k = 0; k <= i; k++)
				autograd_node_release(&second);
			return true;
		}
	}
	return false;
}

/* Reads the node that is being evaluated, and gives the reference back. The first nodes tell the layout. A reference of
 * another layout stays, since nobody knows where it is counted. */
static bool read_node(struct autograd_origin *origin, const struct autograd_reference *reference,
		      struct autograd_node *node)
{
	uint32_t nr_checked = atomic_load_explicit(&origin->nr_checked, memory_order_relaxed);
	bool checked = nr_checked < CHECKED_NODES, is_shared = reference->control != 0;

	if (checked && nr_checked == 0)
		atomic_store_explicit(&origin->is_shared, is_shared, memory_order_relaxed);
	if (is_shared != atomic_load_explicit(&origin->is_shared, memory_order_relaxed) ||
	    (checked && !counts_references(origin, reference)) ||
	    !autograd_node_read(reference, checked, node)) {
		refuse(origin, "PyTorch's backward nodes are not as they should be");
		return false;
	}
	if (checked)
		atomic_fetch_add_explicit(&origin->nr_checked, 1, memory_order_relaxed);
	autograd_node_release(reference);
	return true;
}

static void look_at_node(struct autograd_origin *origin, struct autograd_thread *thread,
			 bool has_python, struct autograd_launch *launch)
{
	struct autograd_reference reference = {0};
	struct autograd_node node;

	thread->is_engine |= !has_python;
	origin->functions.node(&reference);
	if (thread->node != reference.node) {
		thread->node = reference.node;
		thread->started = thread->next;
	}
	if (reference.node && read_node(origin, &reference, &node))
		take_origin(origin, thread, &node, has_python, launch);
	else if (!reference.node &&
		 thread->is_engine) /* the engine's own work, or what is due after the last node */
		take_caller(origin, thread, 0, launch);
}

/* graph_task() and node() read variables with destructors. The first touch of such a variable takes the loader's lock,
 * which must not happen in a launch. So they are only called on threads that touched them in libtorch: threads that
 * have made nodes, and those with nodes switched off, as in a backward pass. The other variables are plain. */
static bool is_in_pass(const struct autograd_origin *origin, const struct autograd_thread *thread,
		       uint64_t next, bool makes_nodes)
{
	return (thread->is_engine || next > 0 || !makes_nodes) &&
	       origin->functions.graph_task() >= 0;
}

LAUNCH_PATH void autograd_origin_look(struct autograd_origin *origin,
				      struct autograd_thread *thread, bool has_python,
				      struct autograd_launch *launch)
{
	const struct autograd_functions *functions = &origin->functions;

	*launch = (struct autograd_launch){0};
	if (autograd_origin_state(origin) != AUTOGRAD_READY)
		return;
	uint64_t next = functions->next_number();
	bool forward = true, makes_nodes = functions->makes_nodes();

	/* In a backward pass nodes are made for its own derivative, and where a checkpoint computes again. There a
	 * function of the user's own runs without making nodes, after its own was made. */
	if (is_in_pass(origin, thread, next, makes_nodes)) {
		look_at_node(origin, thread, has_python, launch);
		forward = makes_nodes || (has_python && next > thread->started);
	}
	thread->next = next;
	/* A node takes its number before its operation launches, also where the operation itself makes no nodes. */
	if (forward && next > 0 && !launch->wants_caller)
		launch->number = slot_word(functions->thread_id(), next - 1, &launch->place);
	if (launch->number && !makes_nodes)
		launch->number |= SLOT_WITHIN;
}
