#include "host_only.h"

#include "target_process.h"

#include "base/log.h"
#include "cli/base/job_environment.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/watch/bpf_source.h"

#define MORE                                                                                       \
	"for its GPU work, start it with `flamegrid run --dormant COMMAND`, or "                   \
	"set " JOB_ENVIRONMENT_INJECTION                                                           \
	" and FLAMEGRID_WINDOW=dormant for all jobs (flamegrid(1), DORMANT GUESTS)"

bool host_only_is_possible(const struct target_process *target)
{
	char missing[BPF_SOURCE_LINE_MAX];

	if (bpf_source_missing("its calls of CUDA can't be seen either", missing)) {
		log_error("process %d has no guest of flamegrid's in it: its GPU work can't be "
			  "seen. %s; " MORE,
			  (int)target->pid, missing);
		return false;
	}
	log_notice("process %d has no guest of flamegrid's in it: its calls of CUDA are "
		   "timed, from the kernel's side; " MORE,
		   (int)target->pid);
	return true;
}

bool host_only_is_alive(const struct target_process *target)
{
	return proc_file_is_alive(target->pid, target->start_ticks);
}
