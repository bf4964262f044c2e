#include "agent_rights.h"

#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent.h"

#include "node-agent/files/proc_file.h"
#include "node-agent/probe/probe_event.h"

/* Root's processes are allowed all, and an agent that is allowed less needs CAP_SYS_PTRACE to look at them. */
static bool serves_others(const struct agent_options *options)
{
	pid_t pid = options->bpf.watch_pid;

	return options->any_user || geteuid() == 0 ||
	       (options->guest_uid && options->guest_uid != geteuid()) ||
	       (pid && proc_file_is_alive(pid, 0) && !proc_file_is_ours(pid));
}

/* Probes of their own for processes and files that come later. Since Linux 6.6 host calls have another way. */
static bool wants_probes(const struct agent_options *options)
{
	struct utsname kernel;
	int major = 0, minor = 0;

	if (options->probe.source == STACK_SOURCE_UPROBE)
		return true;
	if (!options->bpf.host_calls || uname(&kernel) ||
	    sscanf(kernel.release, "%d.%d", &major, &minor) != 2)
		return options->bpf.host_calls;
	return major < 6 || (major == 6 && minor < 6);
}

static int try_probe(void *context)
{
	(void)context;
	return probe_event_try();
}

void agent_rights_choose(const struct agent_options *options, bool beside_job,
			 struct capability_set *rights)
{
	enum capability_role role = CAPABILITY_ROLE_USER;

	if (serves_others(options))
		role = CAPABILITY_ROLE_SITE;
	else if (beside_job)
		role = CAPABILITY_ROLE_JOB;
	capability_set_choose(role, rights);
	if (wants_probes(options) && capability_set_call(rights, try_probe, NULL) == -EACCES)
		capability_set_add_admin(rights);
}
