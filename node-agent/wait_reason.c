#include "wait_reason.h"

#include <stdio.h>
#include <string.h>

#include "address_stack.h"
#include "kernel_symbols.h"

#define LEAVES_MAX 12u /* the scheduler's functions are at the leaf */

struct rule {
	const char *
		prefix; /* of a function's name; the first function from the leaf on that has one decides */
	const char *reason;
};

/* Names of functions in Linux 5.10 to 6.18; those of NVIDIA's driver as /proc/kallsyms shows them. */
static const struct rule rules[] = {
	{"futex_", "futex"},
	{"do_futex", "futex"},
	{"pipe_", "pipe"},
	{"anon_pipe_", "pipe"},
	{"fifo_open", "pipe"},
	{"ep_poll", "poll"},
	{"do_epoll_wait", "poll"},
	{"do_poll", "poll"},
	{"do_sys_poll", "poll"},
	{"do_select", "poll"},
	{"core_sys_select", "poll"},
	{"hrtimer_nanosleep", "sleep"},
	{"do_nanosleep", "sleep"},
	{"do_wait", "child"},
	{"kernel_wait", "child"},
	{"kernel_clone", "child"},
	{"eventfd_", "eventfd"},
	{"inotify_read", "inotify"},
	{"timerfd_", "sleep"},
	{"io_cqring_wait", "io_uring"},
	{"unix_", "socket"},
	{"tcp_", "socket"},
	{"udp_", "socket"},
	{"inet_", "socket"},
	{"skb_wait", "socket"},
	{"__skb_wait", "socket"},
	{"sk_wait", "socket"},
	{"sock_", "socket"},
	{"n_tty_", "tty"},
	{"do_sigtimedwait", "signal"},
	{"sigsuspend", "signal"},
	{"do_signal_stop", "stopped"},
	{"ptrace_stop", "stopped"},
	{"io_schedule", "io"},
	{"folio_wait", "io"},
	{"wait_on_page", "io"},
	{"submit_bio_wait", "io"},
	{"blk_", "io"},
	{"jbd2_", "io"},
	{"ext4_", "io"},
	{"xfs_", "io"},
	{"btrfs_", "io"},
	{"nfs", "io"},
	{"rpc_", "io"},
	{"fuse_", "io"},
	{"__mutex_lock", "lock"},
	{"mutex_lock", "lock"},
	{"rwsem_", "lock"},
	{"down_", "lock"},
	{"synchronize_", "kernel"},
	{"do_exit", "exit"},
	{"exc_page_fault", "page fault"},
	{"asm_exc_page_fault", "page fault"},
	{"do_user_addr_fault", "page fault"},
	{"handle_mm_fault", "page fault"},
	{"do_page_fault", "page fault"},
};

/* Its driver waits by the kernel's own means: that any of its functions is there counts. */
static const char *const gpu_prefixes[] = {"nvidia_", "uvm_",    "nv_", "nvkms_",
					   "_nv",     "amdgpu_", "kfd_"};

static const char *const system_calls[] = {"__x64_sys_", "__arm64_sys_", "__ia32_sys_",
					   "__se_sys_"};

static const char *const scheduler[] = {
	"__schedule",  "schedule",    "preempt_schedule", "__cond_resched",    "schedule_",
	"bpf_",        "__bpf_",      "__traceiter_",     "__probestub_",      "trace_",
	"finish_task", "__switch_to", "context_switch",   "irqentry_exit",     "raw_irqentry_exit",
	"dynamic_",    "__SCT__",     "io_schedule",      "__sched_text_start"};

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static const char *name_of(const struct kernel_symbols *symbols, const uint64_t *addresses,
			   uint32_t i)
{
	const char *name = kernel_symbols_find(symbols, addresses[i] - (i ? 1 : 0));

	return name ? name : "";
}

static const char *by_rule(const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (has_prefix(name, rules[i].prefix))
			return rules[i].reason;
	return NULL;
}

static bool is_gpu(const char *name)
{
	for (size_t i = 0; i < sizeof(gpu_prefixes) / sizeof(gpu_prefixes[0]); i++)
		if (has_prefix(name, gpu_prefixes[i]))
			return true;
	return false;
}

static const char *system_call(const char *name)
{
	for (size_t i = 0; i < sizeof(system_calls) / sizeof(system_calls[0]); i++)
		if (has_prefix(name, system_calls[i]))
			return name + strlen(system_calls[i]);
	return NULL;
}

void wait_reason_find(const struct kernel_symbols *symbols, const struct sample_event *event,
		      char reason[static WAIT_REASON_MAX])
{
	const uint32_t nr_user = event->user_size / (uint32_t)sizeof(uint64_t);
	const uint32_t nr = event->kernel_size / (uint32_t)sizeof(uint64_t);
	const uint64_t *kernel = (const uint64_t *)event->addresses + nr_user;
	const char *found = NULL, *call = NULL;

	if (event->flags & SAMPLE_EVENT_PREEMPTED)
		found = "preempted";
	for (uint32_t i = 0; symbols && !(event->flags & SAMPLE_EVENT_PREEMPTED) && i < nr; i++) {
		const char *name = name_of(symbols, kernel, i);

		if (is_gpu(name)) {
			found = "gpu";
			break;
		}
		if (!found)
			found = by_rule(name);
		if (!call)
			call = system_call(name);
	}
	snprintf(reason, WAIT_REASON_MAX, "%s", found ? found : call ? call : "");
}

static bool is_scheduler(const char *name)
{
	for (size_t i = 0; i < sizeof(scheduler) / sizeof(scheduler[0]); i++)
		if (has_prefix(name, scheduler[i]))
			return true;
	return false;
}

void wait_reason_strip(const struct kernel_symbols *symbols, struct address_list *list)
{
	uint32_t nr_leaves = 0;

	for (uint32_t i = 0; symbols && i < list->nr_kernel && i < LEAVES_MAX; i++)
		if (is_scheduler(name_of(symbols, list->kernel, i)))
			nr_leaves = i + 1;
	list->kernel += nr_leaves;
	list->nr_kernel -= nr_leaves;
}
