/* Observes the calls of a collective library (NCCL) in watched threads. A call is sent when it returns, with its
 * communicator and its number on that communicator. The program gives the numbers, so that an event without room does
 * not shift the numbers after it. Of nested calls only the outermost counts; a group is no call. One program serves
 * both ends, as in host_call.bpf.c. x86-64: six arguments are in registers (System V ABI). Further arguments, and
 * structs such as ncclUniqueId, are on the stack above the return address. */
#include "collective_event.h"
#include "collective_key.h"
#include "host_call.h"
#include "sample_maps.h"

#include "proto/collective.h"

#define COMMUNICATORS_MAX 16384u
#define REGISTERS         6
#define ARGUMENTS         8
#define PENDING_MAX       8
#define DEVICES_MAX       64   /* of ncclCommInitAll */
#define NO_COLOR          (-1) /* NCCL_SPLIT_NOCOLOR: the rank gets no communicator */

struct communicator_key {
	__u64 process_start, handle;
	__u32 pid, exec_id;
};

struct communicator_state {
	__u64 made_ns, key, parent_key;
	__u64 sequence, function_sequences[16]; /* a power of two; functions are fewer */
	__u32 rank, nr_ranks;
	__s32 color;
	__u32 split;     /* its number among its parent's splits */
	__u32 nr_splits; /* splits of which it is the parent */
	__u8 origin;
	__u8 reserved[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, COMMUNICATORS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct communicator_key);
	__type(value, struct communicator_state);
} communicators SEC(".maps");

/* A split that is not done when its call returns, because it is in a group or does not block. */
struct pending {
	__u64 place, before; /* place of its handle; the value there before */
	struct communicator_state made;
};

/* The state of a thread. since_ns: start of the current call; 0: no call. */
struct thread {
	__u64 since_ns;
	__u64 stack_pointer;  /* at the entry, where the return address is ... */
	__u64 return_address; /* ... until the kernel replaces it */
	__u64 arguments[ARGUMENTS];
	__u32 site;
	__u32 nr_pending;
	__u64 group, group_since_ns, group_calls; /* the outermost group: its number */
	__u32 group_depth;
	__u32 exec_id;                  /* program to which the state belongs */
	struct communicator_state made; /* made by the current call */
	struct pending pending[PENDING_MAX];
	__u8 unique_id[COLLECTIVE_UNIQUE_ID_SIZE];
	struct sample_event event;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* Explained in host_call.bpf.c. Set by the loader. */
const volatile int answer_ignored;

#define IGNORED answer_ignored

/* A hash of the host's boot id. Set by the loader. */
const volatile __u64 boot_key;

/* Set by the loader at the end of the capture. */
volatile int is_silent;

/* The meaning of each argument, by its place. */
#define NONE 255

struct layout {
	__u8 function, count, type, op, peer, communicator, stream, reserved;
};

#define LAYOUTS 16 /* a power of two, so that a mask bounds an index for the verifier */

static const struct layout layouts[LAYOUTS] = {
	[COLLECTIVE_SITE_ALL_REDUCE] = {COLLECTIVE_ALL_REDUCE, 2, 3, 4, NONE, 5, 6, 0},
	[COLLECTIVE_SITE_BROADCAST] = {COLLECTIVE_BROADCAST, 2, 3, NONE, 4, 5, 6, 0},
	[COLLECTIVE_SITE_BCAST] = {COLLECTIVE_BROADCAST, 1, 2, NONE, 3, 4, 5, 0},
	[COLLECTIVE_SITE_REDUCE] = {COLLECTIVE_REDUCE, 2, 3, 4, 5, 6, 7, 0},
	[COLLECTIVE_SITE_ALL_GATHER] = {COLLECTIVE_ALL_GATHER, 2, 3, NONE, NONE, 4, 5, 0},
	[COLLECTIVE_SITE_REDUCE_SCATTER] = {COLLECTIVE_REDUCE_SCATTER, 2, 3, 4, NONE, 5, 6, 0},
	[COLLECTIVE_SITE_SEND] = {COLLECTIVE_SEND, 1, 2, NONE, 3, 4, 5, 0},
	[COLLECTIVE_SITE_RECV] = {COLLECTIVE_RECV, 1, 2, NONE, 3, 4, 5, 0},
	[COLLECTIVE_SITE_ALL_TO_ALL] = {COLLECTIVE_ALL_TO_ALL, 2, 3, NONE, NONE, 4, 5, 0},
	[COLLECTIVE_SITE_GATHER] = {COLLECTIVE_GATHER, 2, 3, NONE, 4, 5, 6, 0},
	[COLLECTIVE_SITE_SCATTER] = {COLLECTIVE_SCATTER, 2, 3, NONE, 4, 5, 6, 0},
};

static __always_inline bool wants_calls(__u32 pid)
{
	struct watched *process = pid ? bpf_map_lookup_elem(&watched, &pid) : NULL;

	return process && !is_silent &&
	       !(process->flags & (WATCHED_CHILDREN_ONLY | WATCHED_HAS_GUEST));
}

static __always_inline bool is_call(__u32 site)
{
	return site >= COLLECTIVE_SITE_ALL_REDUCE && site <= COLLECTIVE_SITE_LAST_CALL;
}

static __always_inline bool is_done(__s32 result)
{
	return result == COLLECTIVE_SUCCESS || result == COLLECTIVE_IN_PROGRESS;
}

static __always_inline void count_lost(__u32 pid)
{
	struct sample_counts *count = bpf_map_lookup_elem(&counts, &pid);

	if (!count)
		return;
	add(&count->collectives, 1);
	add(&count->collectives_lost, 1);
}

static __always_inline __u64 unique_id_key(struct thread *thread, __u64 address)
{
	if (bpf_probe_read_user(thread->unique_id, sizeof(thread->unique_id), (void *)address))
		return 0;
	return unique_id_hash(thread->unique_id);
}

/* ---- communicators ------------------------------------------------------------------------------ */

static __always_inline struct communicator_key key_of(const struct sample_event *event,
						      __u64 handle)
{
	return (struct communicator_key){.process_start = event->process_start,
					 .handle = handle,
					 .pid = event->pid,
					 .exec_id = event->exec_id};
}

static __always_inline struct collective_call *call_in(struct sample_event *event)
{
	return (struct collective_call *)event->addresses;
}

static __always_inline void show(struct collective_call *call, __u64 handle,
				 const struct communicator_state *state)
{
	call->handle = handle;
	call->made_ns = state->made_ns;
	call->key = state->key;
	call->parent_key = state->parent_key;
	call->rank = state->rank;
	call->nr_ranks = state->nr_ranks;
	call->color = state->color;
	call->split = state->split;
	call->origin = state->origin;
}

static __always_inline long output(struct sample_event *event)
{
	__u64 size = SAMPLE_EVENT_HEAD_SIZE + event->user_size;

	barrier_var(size);
	if (size > sizeof(*event))
		size = sizeof(*event);
	return bpf_ringbuf_output(&events, event, size, wake_flags(event));
}

static __always_inline void send_call(struct sample_event *event)
{
	struct sample_counts *count = bpf_map_lookup_elem(&counts, &event->pid);

	event->kind = SAMPLE_EVENT_COLLECTIVE;
	if (count)
		add(&count->collectives, 1);
	if (output(event) && count)
		add(&count->collectives_lost, 1);
}

/* Each call carries all facts of its communicator. If the map has no room for the communicator, the reader learns of it
 * from its first call. */
static __always_inline void enter_communicator(struct thread *thread, __u64 handle,
					       const struct communicator_state *state)
{
	struct sample_event *event = &thread->event;
	struct communicator_key key = key_of(event, handle);
	struct collective_call *call = call_in(event);

	if (!handle || bpf_map_update_elem(&communicators, &key, state, BPF_ANY))
		return;
	__builtin_memset(call, 0, sizeof(*call));
	show(call, handle, state);
	event->kind = SAMPLE_EVENT_COMMUNICATOR;
	output(event);
}

static __always_inline __u64 read_handle(__u64 place)
{
	__u64 handle = 0;

	bpf_probe_read_user(&handle, sizeof(handle), (void *)place);
	return handle;
}

/* Enters this thread's splits whose handles are written. all: also enters splits without a handle. */
static __always_inline void settle(struct thread *thread, bool all)
{
	for (__u32 i = 0; i < PENDING_MAX; i++) {
		struct pending *pending = &thread->pending[i];
		__u64 handle;

		if (!pending->place)
			continue;
		handle = read_handle(pending->place);
		if (!all && (!handle || handle == pending->before))
			continue;
		enter_communicator(thread, handle, &pending->made);
		pending->place = 0;
		thread->nr_pending--;
	}
}

static __always_inline void put_off(struct thread *thread, __u64 place, __u64 before)
{
	for (__u32 i = 0; i < PENDING_MAX; i++) {
		struct pending *pending = &thread->pending[i];

		if (pending->place)
			continue;
		pending->place = place;
		pending->before = before;
		pending->made = thread->made;
		thread->nr_pending++;
		return;
	}
}

static __always_inline struct communicator_state *meet(struct thread *thread, __u64 handle,
						       __s32 result)
{
	struct communicator_key key = key_of(&thread->event, handle);
	struct communicator_state *state = bpf_map_lookup_elem(&communicators, &key);

	if (state || !handle || !is_done(result))
		return state;
	__builtin_memset(&thread->made, 0, sizeof(thread->made));
	thread->made.made_ns = thread->since_ns;
	thread->made.rank = thread->made.nr_ranks = COLLECTIVE_NOT_KNOWN;
	thread->made.origin = COMMUNICATOR_MIDDLE;
	bpf_map_update_elem(&communicators, &key, &thread->made, BPF_NOEXIST);
	return bpf_map_lookup_elem(&communicators, &key);
}

/* ---- entry -------------------------------------------------------------------------------------- */

/* The call contains this entry, or jumped here as its last act (host_call.bpf.c). */
static __always_inline bool is_within(const struct thread *thread, __u64 stack_pointer,
				      __u64 return_address)
{
	return thread->since_ns && (stack_pointer < thread->stack_pointer ||
				    (stack_pointer == thread->stack_pointer &&
				     return_address != thread->return_address));
}

/* The stack follows the call's own words. It may show the caller twice, as in host_call.bpf.c. */
static __always_inline void fill_stack(struct pt_regs *context, struct sample_event *event,
				       __u64 return_address)
{
	const long max = (SAMPLE_USER_DEPTH - 1) * sizeof(__u64);
	long size;

	event->addresses[COLLECTIVE_CALL_WORDS] = return_address - 1;
	size = bpf_get_stack(context, &event->addresses[COLLECTIVE_CALL_WORDS + 1], max,
			     BPF_F_USER_STACK | 1);
	if (size < 0 || size > max)
		size = 0;
	event->user_size = (__u16)(sizeof(struct collective_call) + sizeof(__u64) + size);
	event->kernel_size = 0;
}

static __always_inline void read_arguments(struct pt_regs *context, struct thread *thread,
					   __u64 stack_pointer)
{
	__u64 *arguments = thread->arguments;

	arguments[0] = BPF_CORE_READ(context, di);
	arguments[1] = BPF_CORE_READ(context, si);
	arguments[2] = BPF_CORE_READ(context, dx);
	arguments[3] = BPF_CORE_READ(context, cx);
	arguments[4] = BPF_CORE_READ(context, r8);
	arguments[5] = BPF_CORE_READ(context, r9);
	if (bpf_probe_read_user(&arguments[REGISTERS], 2 * sizeof(__u64),
				(void *)(stack_pointer + sizeof(__u64))))
		arguments[6] = arguments[7] = 0;
}

/* ncclCommInitRank(newcomm, nranks, commId, rank), with the id on the stack; ncclCommInitRankScalable(newcomm, nranks,
 * rank, nId, ids); ncclCommInitAll(comms, ndev, devices). */
static __always_inline void prepare_init(struct thread *thread, __u64 now_ns)
{
	struct communicator_state *made = &thread->made;

	__builtin_memset(made, 0, sizeof(*made));
	made->made_ns = now_ns;
	made->nr_ranks = (__u32)thread->arguments[1];
	made->rank = (__u32)thread->arguments[2];
	if (thread->site == COLLECTIVE_SITE_INIT_ALL) {
		made->origin = COMMUNICATOR_INIT_ALL;
		made->key = own_key(boot_key, &thread->event, now_ns);
		return;
	}
	made->origin = COMMUNICATOR_UNIQUE_ID;
	made->key = unique_id_key(thread, thread->site == COLLECTIVE_SITE_INIT_RANK
						  ? thread->stack_pointer + sizeof(__u64)
						  : thread->arguments[4]);
}

/* ncclCommSplit(comm, color, key, newcomm); ncclCommShrink(comm, list, count, newcomm), which NCCL turns into a split
 * of colour 0. */
static __always_inline void prepare_split(struct thread *thread, __u64 now_ns)
{
	struct communicator_state *made = &thread->made, *parent;
	bool is_split = thread->site == COLLECTIVE_SITE_SPLIT;

	parent = meet(thread, thread->arguments[0], COLLECTIVE_SUCCESS);
	__builtin_memset(made, 0, sizeof(*made));
	made->made_ns = now_ns;
	made->rank = made->nr_ranks = COLLECTIVE_NOT_KNOWN;
	made->origin = is_split ? COMMUNICATOR_SPLIT : COMMUNICATOR_SHRINK;
	made->color = is_split ? (__s32)thread->arguments[1] : 0;
	if (!parent)
		return;
	made->split = ++parent->nr_splits;
	made->parent_key = parent->key;
	made->key = split_key(parent->key, made->color, made->split);
}

/* Handles groups and ends of communicators, which need no return. Returns false if the call goes on. */
static __always_inline bool is_over_at_entry(struct thread *thread, __u32 site, __u64 handle,
					     __u64 now_ns)
{
	if (site == COLLECTIVE_SITE_GROUP_START) {
		if (thread->group_depth++ == 0) {
			thread->group++;
			thread->group_since_ns = now_ns;
			thread->group_calls = 0;
		}
		return true;
	}
	if (site == COLLECTIVE_SITE_GROUP_END && thread->group_depth != 1) {
		if (thread->group_depth)
			thread->group_depth--;
		return true;
	}
	if (site == COLLECTIVE_SITE_DESTROY) {
		struct communicator_key key = key_of(&thread->event, handle);

		bpf_map_delete_elem(&communicators, &key);
		return true;
	}
	return false;
}

/* State of an earlier program in the process does not count. */
static __always_inline void begin_program(struct thread *thread)
{
	if (thread->exec_id == thread->event.exec_id)
		return;
	thread->exec_id = thread->event.exec_id;
	thread->group_depth = 0;
	for (__u32 i = 0; i < PENDING_MAX; i++)
		thread->pending[i].place = 0;
	thread->nr_pending = 0;
}

static __always_inline int enter(struct pt_regs *context, struct task_struct *task, __u32 pid,
				 struct thread *thread, __u64 stack_pointer, __u32 site)
{
	__u64 return_address, now_ns;

	if (bpf_probe_read_user(&return_address, sizeof(return_address), (void *)stack_pointer)) {
		if (is_call(site))
			count_lost(pid);
		return IGNORED;
	}
	if (is_within(thread, stack_pointer, return_address))
		return IGNORED;
	now_ns = bpf_ktime_get_ns();
	thread->since_ns = 0;
	fill_who(&thread->event, task, pid);
	begin_program(thread);
	read_arguments(context, thread, stack_pointer);
	if (is_over_at_entry(thread, site, thread->arguments[0], now_ns))
		return IGNORED;
	thread->site = site;
	thread->stack_pointer = stack_pointer;
	thread->return_address = return_address;
	fill_stack(context, &thread->event, return_address);
	thread->event.time_ns = now_ns;
	thread->event.duration_ns = 1;
	if (thread->nr_pending && thread->group_depth == 0)
		settle(thread, false);
	if (site == COLLECTIVE_SITE_SPLIT || site == COLLECTIVE_SITE_SHRINK)
		prepare_split(thread, now_ns);
	else if (site >= COLLECTIVE_SITE_INIT_RANK && site <= COLLECTIVE_SITE_INIT_ALL)
		prepare_init(thread, now_ns);
	thread->since_ns = bpf_ktime_get_ns();
	return 0;
}

/* ---- return ------------------------------------------------------------------------------------- */

static __always_inline __u64 argument(const struct thread *thread, __u8 place)
{
	__u64 index = place;

	if (index >= ARGUMENTS)
		return 0;
	barrier_var(index);
	return thread->arguments[index & (ARGUMENTS - 1)];
}

static __always_inline void end_call(struct thread *thread, __s32 result)
{
	struct sample_event *event = &thread->event;
	struct collective_call *call = call_in(event);
	const struct layout *layout;
	struct communicator_state *state;
	__u32 site = thread->site;
	__u64 handle;

	if (!is_call(site))
		return;
	barrier_var(site); /* otherwise the compiler drops the mask */
	layout = &layouts[site & (LAYOUTS - 1)];
	handle = argument(thread, layout->communicator);
	state = meet(thread, handle, result);
	if (!state && is_done(result)) { /* without its communicator a call has no number */
		count_lost(event->pid);
		return;
	}
	__builtin_memset(call, 0, sizeof(*call));
	call->function = layout->function;
	call->count = argument(thread, layout->count);
	call->data_type = (__u32)argument(thread, layout->type);
	call->reduce_op =
		layout->op == NONE ? COLLECTIVE_OP_NONE : (__u32)argument(thread, layout->op);
	call->peer =
		layout->peer == NONE ? COLLECTIVE_NOT_KNOWN : (__u32)argument(thread, layout->peer);
	call->stream = argument(thread, layout->stream);
	call->result = result;
	if (thread->group_depth) {
		call->group = thread->group;
		thread->group_calls++;
	}
	if (state) {
		if (is_done(result) && layout->function < COLLECTIVE_GROUP) {
			__u64 function = layout->function;

			barrier_var(function);
			call->sequence = ++state->sequence;
			call->function_sequence = ++state->function_sequences[function & 15];
		}
		show(call, handle, state);
	}
	send_call(event);
}

static __always_inline void end_group(struct thread *thread, __s32 result)
{
	struct sample_event *event = &thread->event;
	struct collective_call *call = call_in(event);

	thread->group_depth = 0;
	if (thread->nr_pending)
		settle(thread, result != COLLECTIVE_IN_PROGRESS);
	__builtin_memset(call, 0, sizeof(*call));
	call->function = COLLECTIVE_GROUP;
	call->count = thread->group_calls;
	call->data_type = COLLECTIVE_TYPE_NONE;
	call->reduce_op = COLLECTIVE_OP_NONE;
	call->peer = COLLECTIVE_NOT_KNOWN;
	call->group = thread->group;
	call->result = result;
	event->duration_ns = event->time_ns - thread->group_since_ns;
	if (!event->duration_ns)
		event->duration_ns = 1;
	send_call(event);
}

static __always_inline void end_init_all(struct thread *thread)
{
	__u32 count = (__u32)thread->arguments[1];

	for (__u32 i = 0; i < DEVICES_MAX && i < count; i++) {
		thread->made.rank = i;
		enter_communicator(thread, read_handle(thread->arguments[0] + i * sizeof(__u64)),
				   &thread->made);
	}
}

/* A call that failed made no split of the parent. */
static __always_inline void take_back_split(struct thread *thread)
{
	struct communicator_key key = key_of(&thread->event, thread->arguments[0]);
	struct communicator_state *parent = bpf_map_lookup_elem(&communicators, &key);

	if (parent && thread->made.split && parent->nr_splits == thread->made.split)
		parent->nr_splits--;
}

/* NCCL writes the handle of a new communicator at once (ncclCommInitRankDev and ncclCommInitRankFunc in src/init.cc).
 * It writes the handle of a split in a group when the group ends, and without blocking when the split is done. */
static __always_inline void end_making(struct thread *thread, __s32 result)
{
	bool is_split =
		thread->site == COLLECTIVE_SITE_SPLIT || thread->site == COLLECTIVE_SITE_SHRINK;
	__u64 place = thread->arguments[is_split ? 3 : 0], handle;

	if (!is_done(result)) {
		if (is_split)
			take_back_split(thread);
		return;
	}
	if (is_split && thread->made.color == NO_COLOR)
		return;
	handle = read_handle(place);
	if (handle && (!is_split || (!thread->group_depth && result == COLLECTIVE_SUCCESS)))
		enter_communicator(thread, handle, &thread->made);
	else
		put_off(thread, place, handle);
}

static __always_inline void leave(struct thread *thread, __u64 now_ns, __s32 result)
{
	__u64 duration_ns = now_ns - thread->since_ns;

	thread->event.time_ns = now_ns;
	thread->event.duration_ns = duration_ns ? duration_ns : 1;
	if (is_call(thread->site))
		end_call(thread, result);
	else if (thread->site == COLLECTIVE_SITE_GROUP_END)
		end_group(thread, result);
	else if (thread->site == COLLECTIVE_SITE_INIT_ALL && is_done(result))
		end_init_all(thread);
	else if (thread->site != COLLECTIVE_SITE_INIT_ALL)
		end_making(thread, result);
	thread->since_ns = 0;
}

SEC("uprobe")
int on_call(struct pt_regs *context)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	/* Each field is read once, because the verifier accepts no pointer into the context. */
	__u64 ip = context->ip, stack_pointer = context->sp;
	__u64 cookie = bpf_get_attach_cookie(context);
	bool is_return = cookie & HOST_CALL_RETURN, at_return;
	__u32 pid = pid_of(task);
	struct thread *thread;

	if (!wants_calls(pid))
		return IGNORED;
	thread = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		if (!is_return && is_call((__u32)cookie))
			count_lost(pid);
		return IGNORED;
	}
	at_return = ip == thread->return_address && stack_pointer > thread->stack_pointer;
	if (!is_return && !at_return)
		return enter(context, task, pid, thread, stack_pointer, (__u32)cookie);
	if (at_return && thread->since_ns)
		leave(thread, now_ns, (__s32)BPF_CORE_READ(context, ax));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
