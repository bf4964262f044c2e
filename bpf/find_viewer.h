/* Finds the pid namespace of the agent. The agent runs it once for each set of maps, from one program of the set. */
#ifndef FIND_VIEWER_H
#define FIND_VIEWER_H

#include "sample_maps.h"

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

#endif
