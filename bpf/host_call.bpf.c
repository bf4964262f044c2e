/* Observes calls of probed functions in watched threads. A call is sent when it returns. Of nested calls only the
 * outermost counts. One program serves both ends, so that every kernel can attach it (call_links.h). x86-64. */
#include "host_call.h"
#include "python_walk.h"
#include "sample_maps.h"

#include "proto/host_sample.h"

/* The call that a thread is in. since_ns: its start; 0: no call. */
#define CALLS_UNTIL 7u /* eighths of the ring buffer */

struct call {
	__u64 since_ns;
	__u64 stack_pointer;  /* at the entry, where the return address is ... */
	__u64 return_address; /* ... until the kernel replaces it */
	bool is_large;        /* the event is in call_stacks */
	struct sample_event event;
};

/* For a thread whose calls carry more than addresses. Each thread has its own, since threads can interrupt each other
 * in this program. */
struct call_stack {
	struct sample_call_copy copy;
	struct python_scratch scratch;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} calls SEC(".maps");

/* By the thread id in the first namespace, until the thread ends. Task storage would be too small: it has at most 8 KiB
 * from Linux 6.19 on. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the loader */
	__type(key, __u32);
	__type(value, struct call_stack);
} call_stacks SEC(".maps");

/* The initial value of entries of call_stacks. It is never written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_stack);
} blank SEC(".maps");

/* Pages of the stack that are copied with each call. Set by the loader. */
const volatile __u32 stack_pages;

/* IGNORED tells a kernel with session probes not to report the call's return. For other kernels it must be 0, because
 * some of them remove a probe on another answer. Set by the loader. */
const volatile int answer_ignored;

#define IGNORED answer_ignored

/* Set by the loader at the end of the capture. */
volatile int is_silent;

static __always_inline bool wants_calls(__u32 pid)
{
	struct watched *process = pid ? bpf_map_lookup_elem(&watched, &pid) : NULL;

	return process && !is_silent &&
	       !(process->flags & (WATCHED_CHILDREN_ONLY | WATCHED_HAS_GUEST));
}

static __always_inline void count_lost(__u32 pid)
{
	struct sample_counts *count = bpf_map_lookup_elem(&counts, &pid);

	if (!count)
		return;
	add(&count->samples, 1);
	add(&count->lost, 1);
}

/* Returns whether the call contains this entry, or jumped here as its last act: the return address is then the
 * kernel's. A call that longjmp() left is over once the stack has shrunk. */
static __always_inline bool is_within(const struct call *call, __u64 stack_pointer,
				      __u64 return_address)
{
	return call->since_ns &&
	       (stack_pointer < call->stack_pointer ||
		(stack_pointer == call->stack_pointer && return_address != call->return_address));
}

/* Leaves out the function's own frame, since its name is known. The kernel's walk misses the frame above it if the
 * function has not yet set up its own. Kernels from 6.11 on find that frame, so it may be there twice. */
static __always_inline void fill_stack(struct pt_regs *context, struct sample_event *event,
				       __u64 return_address)
{
	const long max = (SAMPLE_USER_DEPTH - 1) * sizeof(__u64);
	long size;

	event->addresses[0] = return_address - 1;
	size = bpf_get_stack(context, &event->addresses[1], max, BPF_F_USER_STACK | 1);
	if (size < 0 || size > max)
		size = 0;
	event->user_size = (__u16)(sizeof(__u64) + size);
	event->kernel_size = 0;
}

static __always_inline struct call_stack *find_stack(struct task_struct *task)
{
	__u32 tid = (__u32)task->pid, zero = 0;
	struct call_stack *stack = bpf_map_lookup_elem(&call_stacks, &tid);

	if (stack)
		return stack;
	stack = bpf_map_lookup_elem(&blank, &zero);
	if (!stack || bpf_map_update_elem(&call_stacks, &tid, stack, BPF_NOEXIST))
		return NULL;
	return bpf_map_lookup_elem(&call_stacks, &tid);
}

/* Returns how full the ring buffer is, in eighths. Many processes can make calls faster than the agent reads them, so
 * room is kept for rare events such as collectives. */
static __always_inline __u64 fullness(void)
{
	__u64 size = bpf_ringbuf_query(&events, BPF_RB_RING_SIZE);

	return size ? bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) * 8 / size : 0;
}

/* Does more than fill_stack(): it copies the stack as the caller sees it after the return, and Python's frames. event
 * holds the identity. Returns false if no copy is wanted, or the map has no room. */
static __always_inline bool fill_large(struct pt_regs *context, struct task_struct *task,
				       const struct sample_event *event, __u64 stack_pointer,
				       __u64 frame_pointer, __u64 return_address)
{
	struct sample_event *large;
	struct call_stack *stack;

	if (!stack_pages && (!has_python || !python_of(event)))
		return false;
	stack = find_stack(task);
	if (!stack)
		return false;
	large = &stack->copy.event;
	__builtin_memcpy(large, event, SAMPLE_EVENT_HEAD_SIZE);
	fill_stack(context, large, return_address);
	if (stack_pages) {
		large->user_pc = return_address - 1;
		large->user_sp = stack_pointer + sizeof(return_address);
		large->user_fp = frame_pointer;
		copy_stack_from(large, stack_pages, SAMPLE_CALL_PAGES_MAX);
	}
	copy_python_by(&stack->scratch, large, task,
		       sizeof(large->addresses) + SAMPLE_CALL_STACK_MAX,
		       (struct python_limits){.states = 512, .frames = SAMPLE_PYTHON_DEPTH});
	return true;
}

static __always_inline int enter(struct pt_regs *context, struct task_struct *task, __u32 pid,
				 struct call *call, __u64 stack_pointer, __u64 frame_pointer,
				 __u64 function)
{
	__u64 return_address;

	if (bpf_probe_read_user(&return_address, sizeof(return_address), (void *)stack_pointer)) {
		count_lost(pid);
		return IGNORED;
	}
	if (is_within(call, stack_pointer, return_address))
		return IGNORED;
	fill_who(&call->event, task, pid);
	call->event.argument = function;
	call->event.kind = HOST_SAMPLE_CALL;
	call->stack_pointer = stack_pointer;
	call->return_address = return_address;
	call->is_large = fill_large(context, task, &call->event, stack_pointer, frame_pointer,
				    return_address);
	if (!call->is_large)
		fill_stack(context, &call->event, return_address);
	call->since_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void send_call(struct sample_event *event, __u64 since_ns, __u64 now_ns,
				      const __u64 max)
{
	__u64 duration_ns = now_ns - since_ns;

	event->time_ns = now_ns;
	event->duration_ns = duration_ns ? duration_ns : 1;
	if (fullness() < CALLS_UNTIL)
		send_event(event, max);
	else
		count_unsent(event);
}

static __always_inline void leave(struct task_struct *task, struct call *call, __u64 now_ns)
{
	__u64 since_ns = call->since_ns;

	call->since_ns = 0;
	if (call->is_large) {
		__u32 tid = (__u32)task->pid;
		struct call_stack *stack = bpf_map_lookup_elem(&call_stacks, &tid);

		if (stack)
			send_call(&stack->copy.event, since_ns, now_ns, sizeof(stack->copy));
		else
			count_lost(call->event.pid);
	} else {
		send_call(&call->event, since_ns, now_ns, sizeof(call->event));
	}
}

SEC("uprobe")
int on_call(struct pt_regs *context)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	/* Each field is read once, because the verifier accepts no pointer into the context. */
	__u64 ip = context->ip, stack_pointer = context->sp, frame_pointer = context->bp;
	__u64 cookie = bpf_get_attach_cookie(context);
	bool is_return = cookie & HOST_CALL_RETURN, at_return;
	__u32 pid = pid_of(task);
	struct call *call;

	if (!wants_calls(pid))
		return IGNORED;
	call = bpf_task_storage_get(&calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) {
		if (!is_return)
			count_lost(pid);
		return IGNORED;
	}
	at_return = ip == call->return_address && stack_pointer > call->stack_pointer;
	if (!is_return && !at_return)
		return enter(context, task, pid, call, stack_pointer, frame_pointer, cookie);
	if (at_return && call->since_ns)
		leave(task, call, now_ns);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_thread_end, struct task_struct *task)
{
	__u32 tid = (__u32)task->pid;

	if (bpf_map_lookup_elem(&call_stacks, &tid))
		bpf_map_delete_elem(&call_stacks, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
