/* A watched thread calls a function that is probed, and returns from it: the call is sent then. Of calls within calls only the outermost
 * counts. One program for both ends, so that it can be attached in every way that kernels have (call_links.h). x86-64. */
#include "bpf/host_call.h"
#include "bpf/sample_maps.h"

#include "proto/host_sample.h"

/* Of a thread that is in a call: from since_ns on, which is else 0. */
struct call {
	__u64 since_ns;
	__u64 stack_pointer;  /* at its entry, where the return address lies ... */
	__u64 return_address; /* ... until the kernel puts its own in its place */
	struct sample_event event;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} calls SEC(".maps");

/* The return of a call that was answered with IGNORED is not looked at, where the kernel knows the difference. Else this must be 0: some
 * kernels take another answer to mean that the probe is to go. Set by the loader. */
const volatile int answer_ignored;

#define IGNORED answer_ignored

/* Set by the loader at the end. */
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

/* Inside of the call, or jumped to by it as its last act: the return address is the kernel's then. A call that was left without a return
 * (by longjmp) is no longer there when the stack has shrunk. */
static __always_inline bool is_within(const struct call *call, __u64 stack_pointer,
				      __u64 return_address)
{
	return call->since_ns &&
	       (stack_pointer < call->stack_pointer ||
		(stack_pointer == call->stack_pointer && return_address != call->return_address));
}

/* The function's own frame is left out: its name is known. The frame above it is not in the kernel's walk if the function has not set up
 * its own yet; newer kernels look for that (since 6.11), so it may be there twice. */
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

static __always_inline int enter(struct pt_regs *context, struct task_struct *task, __u32 pid,
				 struct call *call, __u64 stack_pointer, __u64 function)
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
	fill_stack(context, &call->event, return_address);
	call->since_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void leave(struct call *call, __u64 now_ns)
{
	__u64 duration_ns = now_ns - call->since_ns;

	call->event.time_ns = now_ns;
	call->event.duration_ns = duration_ns ? duration_ns : 1;
	call->since_ns = 0;
	send_event(&call->event, sizeof(call->event));
}

SEC("uprobe")
int on_call(struct pt_regs *context)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	/* Each is read once: the verifier takes no pointer into the context but the context itself. */
	__u64 ip = context->ip, stack_pointer = context->sp;
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
		return enter(context, task, pid, call, stack_pointer, cookie);
	if (at_return && call->since_ns)
		leave(call, now_ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
