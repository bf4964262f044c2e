#include "host_only.h"

#include "target_process.h"

#include "base/log.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/watch/bpf_source.h"

bool host_only_is_possible(const struct target_process *target)
{
	char missing[BPF_SOURCE_LINE_MAX];

	bool is_missing = bpf_source_missing("its calls of CUDA can't be seen either", missing);
	enum log_level level = is_missing ? LOG_LEVEL_ERROR : LOG_LEVEL_NOTICE;

	log_write(level, "process %d has no guest of flamegrid's in it: %s%s", (int)target->pid,
		  is_missing ? "its GPU work can't be seen. "
			     : "only its calls of CUDA are timed, not its GPU work",
		  is_missing ? missing : "");
	log_write(level, "for GPU work start it with `flamegrid run --dormant COMMAND` "
			 "(flamegrid(1), DORMANT GUESTS, has more ways)");
	return !is_missing;
}

bool host_only_is_alive(const struct target_process *target)
{
	return proc_file_is_alive(target->pid, target->start_ticks);
}
