/* Which processes are looked at: those that the agent entered, and all that they start. */
#include "bpf/sample_maps.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct sample_counts none = {};
	struct watched process = {};
	__u32 pid;

	if (child->pid != child->tgid)
		return 0; /* a thread */
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
	}
	return 0;
}

/* Run once by the agent itself. */
SEC("raw_tp")
int find_viewer(void *context)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	struct sample_viewer *agent = get_viewer();

	if (!agent)
		return 1;
	agent->level = BPF_CORE_READ(pid, level);
	agent->pid_namespace = read_number(pid, agent->level).pid_namespace;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
