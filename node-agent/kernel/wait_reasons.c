#include "wait_reasons.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "address_stack.h"

#include "node-agent/symbols/kernel_symbols.h"
#include "proto/host_sample.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define LEAVES_MAX 12u /* the scheduler's functions come first */
#define PLACE_BITS 11u
#define PLACES     (1u << PLACE_BITS) /* waits go through a few hundred addresses in the kernel */

struct rule {
	/* of a function's name; the first match from the leaf on decides */
	const char *prefix;
	const char *reason;
};

/* Function names of Linux 5.10 to 6.18. Those of NVIDIA's driver are as in /proc/kallsyms. */
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

/* A GPU's driver waits by functions of the kernel, so any function of the driver in the stack decides. */
static const char *const gpu_prefixes[] = {"nvidia_", "uvm_",    "nv_", "nvkms_",
					   "_nv",     "amdgpu_", "kfd_"};

static const char *const system_calls[] = {"__x64_sys_", "__arm64_sys_", "__ia32_sys_",
					   "__se_sys_"};

static const char *const scheduler[] = {
	"__schedule",  "schedule",    "preempt_schedule", "__cond_resched",    "schedule_",
	"bpf_",        "__bpf_",      "__traceiter_",     "__probestub_",      "trace_",
	"finish_task", "__switch_to", "context_switch",   "irqentry_exit",     "raw_irqentry_exit",
	"dynamic_",    "__SCT__",     "io_schedule",      "__sched_text_start"};

struct place {
	uint64_t address;   /* 0: free, which means nothing */
	const char *reason; /* of the matching rule; NULL: none */
	const char *call;   /* name of the system call; NULL: another function */
	bool is_gpu, is_scheduler;
};

struct wait_reasons {
	const struct kernel_symbols *symbols;
	struct place places[PLACES]; /* an address has one place, and replaces the address in it */
};

struct wait_reasons *wait_reasons_create(const struct kernel_symbols *symbols)
{
	struct wait_reasons *reasons = calloc(1, sizeof(*reasons));

	if (reasons)
		reasons->symbols = symbols;
	return reasons;
}

void wait_reasons_destroy(struct wait_reasons *reasons)
{
	free(reasons);
}

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool has_one_of(const char *name, const char *const *prefixes, size_t nr_prefixes)
{
	for (size_t i = 0; i < nr_prefixes; i++)
		if (has_prefix(name, prefixes[i]))
			return true;
	return false;
}

static const char *by_rule(const char *name)
{
	for (size_t i = 0; i < COUNT(rules); i++)
		if (has_prefix(name, rules[i].prefix))
			return rules[i].reason;
	return NULL;
}

static const char *system_call(const char *name)
{
	for (size_t i = 0; i < COUNT(system_calls); i++)
		if (has_prefix(name, system_calls[i]))
			return name + strlen(system_calls[i]);
	return NULL;
}

static struct place look(const struct kernel_symbols *symbols, uint64_t address)
{
	const char *name = symbols ? kernel_symbols_find(symbols, address) : NULL;

	if (!name)
		return (struct place){.address = address};
	return (struct place){
		.address = address,
		.reason = by_rule(name),
		.call = system_call(name),
		.is_gpu = has_one_of(name, gpu_prefixes, COUNT(gpu_prefixes)),
		.is_scheduler = has_one_of(name, scheduler, COUNT(scheduler)),
	};
}

/* Finds the place of frame i. All frames but the leaf are return addresses, which may lie behind the function. */
static const struct place *place_of(struct wait_reasons *reasons, const uint64_t *addresses,
				    uint32_t i)
{
	uint64_t address = addresses[i] - (i ? 1 : 0);
	struct place *place =
		&reasons->places[address * 0x9e3779b97f4a7c15ull >> (64 - PLACE_BITS)];

	if (place->address != address)
		*place = look(reasons->symbols, address);
	return place;
}

const char *wait_reasons_find(struct wait_reasons *reasons, const struct sample_event *event)
{
	const uint32_t nr_user = event->user_size / (uint32_t)sizeof(uint64_t);
	const uint32_t nr = event->kernel_size / (uint32_t)sizeof(uint64_t);
	const uint64_t *kernel = (const uint64_t *)event->addresses + nr_user;
	const char *found = NULL, *call = NULL;

	if (event->flags & SAMPLE_EVENT_PREEMPTED)
		return HOST_SAMPLE_PREEMPTED;
	for (uint32_t i = 0; i < nr; i++) {
		const struct place *place = place_of(reasons, kernel, i);

		if (place->is_gpu)
			return "gpu";
		if (!found)
			found = place->reason;
		if (!call)
			call = place->call;
	}
	return found ? found : call;
}

void wait_reasons_strip(struct wait_reasons *reasons, struct address_list *list)
{
	uint32_t nr_leaves = 0;

	for (uint32_t i = 0; i < list->nr_kernel && i < LEAVES_MAX; i++)
		if (place_of(reasons, list->kernel, i)->is_scheduler)
			nr_leaves = i + 1;
	list->kernel += nr_leaves;
	list->nr_kernel -= nr_leaves;
}
