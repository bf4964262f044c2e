/* Keeps the set of watched processes: those that the agent entered, and all that they start. */
#include "find_viewer.h"

/* A child has its parent's memory until it calls exec. */
static __always_inline void inherit_python(__u32 parent, __u32 pid, __u64 start)
{
	struct sample_python *python = bpf_map_lookup_elem(&pythons, &parent);
	struct sample_python own;

	if (!python)
		return;
	own = *python;
	own.start = own.start ? start : 0;
	bpf_map_update_elem(&pythons, &pid, &own, BPF_ANY);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct sample_counts none = {};
	struct watched process = {};
	__u32 pid;

	if (child->pid != child->tgid)
		return 0; /* a thread, not a process */
	process.parent = pid_of(parent);
	if (!process.parent || !bpf_map_lookup_elem(&watched, &process.parent))
		return 0;
	pid = pid_of(child);
	process.start = child->start_boottime;
	process.fork_exec_id = (__u32)child->self_exec_id;
	if (bpf_map_update_elem(&counts, &pid, &none, BPF_ANY) ||
	    bpf_map_update_elem(&watched, &pid, &process, BPF_ANY)) {
		struct sample_viewer *agent = get_viewer();

		if (agent)
			add(&agent->unwatched, 1);
		return 0;
	}
	inherit_python(process.parent, pid, process.start);
	return 0;
}

/* Wakes the agent, so that it reads the process's files before the first sample: afterwards the process may be gone. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	__u32 pid = pid_of(task);
	struct sample_event *event;

	if (!is_watched(pid))
		return 0;
	event = bpf_ringbuf_reserve(&events, SAMPLE_EVENT_HEAD_SIZE, 0);
	if (!event)
		return 0;
	fill_who(event, task, pid);
	event->time_ns = bpf_ktime_get_ns();
	event->duration_ns = 0;
	event->user_size = 0;
	event->kernel_size = 0;
	event->kind = SAMPLE_EVENT_EXEC;
	event->user_pc = event->user_sp = event->user_fp = 0;
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
