#include "bpf_source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "bpf_options.h"
#include "source_ring.h"
#include "watched_set.h"

#include "base/clock.h"
#include "node-agent/base/event_loop.h"
#include "node-agent/calls/call_probes.h"
#include "node-agent/kernel/bpf_programs.h"
#include "node-agent/kernel/bpf_rights.h"
#include "node-agent/kernel/bpf_ring.h"
#include "node-agent/kernel/descendants.h"
#include "node-agent/kernel/python_file.h"
#include "node-agent/kernel/python_process.h"
#include "node-agent/kernel/stack_budget.h"
#include "node-agent/kernel/unwind_files.h"
#include "node-agent/kernel/wait_reasons.h"
#include "node-agent/symbols/kernel_symbols.h"

#define EVENTS_MAX         8192u /* of one pass: room is checked between passes */
#define ACCOUNT_NS         500000000ull
#define LOOK_NS            100000000ull /* between looks for processes that ended unsampled */
#define PYTHON_NOTICES_MAX 8u
#define MISSED_NS          100000000ull  /* after missed code, more is likely to be missed */
#define PATIENCE_NS        1000000000ull /* a guest comes within milliseconds of cuInit() */
#define LOST_CALLS         "no calls of CUDA"
#define LOST_CALLS_AUTO    "no calls of CUDA in processes that no guest captures"

struct bpf_source {
	struct bpf_options options;
	struct bpf_source_scope scope;
	struct bpf_ring *ring; /* owns it and all below */
	struct bpf_programs *programs;
	struct call_probes *calls; /* NULL: not wanted, or not possible */
	struct kernel_symbols *kernel;
	struct wait_reasons *wait_reasons;
	struct unwind_files *files;
	struct python_files *python_files;
	struct python_scope python;
	struct watched_set set;
	struct event_source urgent;
	uint32_t nr_python_notices;
	uint64_t missed_until_ns; /* Python code vanished before it was read */
	uint64_t next_account_ns, next_look_ns;
	uint64_t event_ns, deadline_ns; /* end of the last event; deadline of the pass */
	uint64_t stop_ns;               /* end of the waits that still last */
	uint32_t nr_events;             /* in this pass */
	bool is_behind;                 /* the last pass left events unread */
	bool has_open_waits;            /* the open waits are still to be taken after the stop */
	uint64_t unwatched, unnoted;    /* as in the last notice */
	bool is_urgent, listens;
};

__attribute__((format(printf, 2, 3))) static void notice(struct bpf_source *source,
							 const char *format, ...)
{
	char line[BPF_RIGHTS_LINE_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	source->scope.notice(source->scope.context, line);
}

static void on_notice(void *context, const char *line)
{
	notice(context, "%s", line);
}

/* ---- events ----------------------------------------------------------------------------------- */

static int take_event(struct bpf_source *source, const struct sample_event *event)
{
	struct watched_process *process;
	int r = watched_set_find(&source->set, event, &process);

	if (r || !process)
		return r;
	struct stack_budget *budget = watched_process_budget(process);
	uint64_t begin_ns = source->event_ns;
	bool in_haste = !stack_budget_allows(budget, begin_ns, bpf_ring_fill(source->ring));
	if (event->kind == SAMPLE_EVENT_EXEC)
		r = in_haste ? 0 : watched_process_exec(process, event);
	else
		r = watched_process_add(process, event, in_haste);
	source->event_ns = source->scope.now_ns();
	stack_budget_spend(budget, source->event_ns, source->event_ns - begin_ns);
	if (r == 0 && source->options.calls_auto && event->kind == HOST_SAMPLE_CALL)
		watched_process_replace_guest(process, on_notice, source);
	return r;
}

static int on_event(void *context, const struct sample_event *event)
{
	struct bpf_source *source = context;
	bool counts = event->duration_ns || event->kind == SAMPLE_EVENT_EXEC;
	int r = counts ? take_event(source, event) : 0;

	if (r)
		return r;
	return ++source->nr_events == EVENTS_MAX || source->event_ns >= source->deadline_ns
		       ? BPF_RING_ENOUGH
		       : 0;
}

/* The capture ends this wait, so the kernel has not counted it. */
static int on_open_wait(void *context, const struct sample_event *event)
{
	struct bpf_source *source = context;
	struct watched_process *process;
	int r = watched_set_find(&source->set, event, &process);

	if (r || !process)
		return r;
	if (event->duration_ns < source->options.off_cpu_min_ns) {
		watched_process_count_short(process, event->duration_ns);
		return 0;
	}
	return watched_process_add_open(process, event);
}

/* ---- start -------------------------------------------------------------------------------------- */

static void watch_job(struct bpf_source *source)
{
	pid_t pid = source->options.watch_pid;
	int r = 0;

	if (pid == 0)
		return;
	if (pid == getpid())
		r = bpf_ring_watch(source->ring, pid, 0, WATCHED_CHILDREN_ONLY);
	else
		r = descendants_watch(source->ring, pid);
	if (r)
		notice(source, "process %d cannot be watched: %s", (int)pid, strerror(-r));
}

static void start_program(struct bpf_source *source, bool wanted, const char *lost, bool *started,
			  int (*start)(struct bpf_source *source, const char **what))
{
	char line[BPF_RIGHTS_LINE_MAX];
	const char *what;

	if (!wanted)
		return;
	int r = start(source, &what);
	*started |= r == 0;
	if (r == 0)
		return;
	bpf_rights_explain(what, r, lost, line);
	notice(source, "%s", line);
}

static int start_cpu(struct bpf_source *source, const char **what)
{
	return bpf_programs_start_cpu(source->programs, source->options.cpu_hz,
				      source->options.stack_pages, what);
}

static int start_off_cpu(struct bpf_source *source, const char **what)
{
	return bpf_programs_start_off_cpu(source->programs, source->options.off_cpu_min_ns,
					  source->options.stack_pages, what);
}

/* Reads the process before its first call, so that this call's frames have names. */
static int prepare_process(void *context, pid_t pid)
{
	struct bpf_source *source = context;

	return watched_set_prepare(&source->set, pid);
}

static bool wants_python(const struct bpf_source *source)
{
	return source->options.stack_mode != STACK_MODE_NATIVE &&
	       source->options.stack_mode != STACK_MODE_NONE;
}

static int start_calls(struct bpf_source *source, const char **what)
{
	/* Other ways of probing change stacks of processes that have a guest. */
	const enum call_links_way way =
		source->options.calls_auto ? CALL_LINKS_SESSION : source->options.call_way;
	const struct call_program_options options = {.way = way,
						     .wants_python = wants_python(source),
						     .stack_pages = source->options.stack_pages};
	const struct call_probes_scope scope = {
		.notice = on_notice,
		.prepare = prepare_process,
		.context = source,
		.patience_ns = source->options.calls_auto ? PATIENCE_NS : 0,
	};

	return call_probes_create(source->ring, &options, source->options.watch_pid != 0, &scope,
				  &source->calls, what);
}

static const char *lost_by(const struct bpf_options *options)
{
	if (options->host_calls && !options->calls_auto)
		return LOST_CALLS;
	if (options->host_calls && !options->cpu_hz && !options->off_cpu_min_ns)
		return LOST_CALLS_AUTO;
	if (options->cpu_hz && options->off_cpu_min_ns)
		return "no CPU samples and no waits of host threads";
	return options->cpu_hz ? "no CPU samples" : "no waits of host threads";
}

/* Returns -ECANCELED if the ring failed; a notice has then said so. */
static int start_ring(struct bpf_source *source)
{
	char line[BPF_RIGHTS_LINE_MAX];
	int r = source_ring_create(&source->options, lost_by(&source->options), on_event, source,
				   &source->ring, line);

	if (r)
		notice(source, "%s", line);
	return r;
}

static void on_urgent(void *context)
{
	struct bpf_source *source = context;

	bpf_ring_quiet(source->ring);
	source->is_urgent = true;
}

static int listen(struct bpf_source *source)
{
	source->urgent = (struct event_source){bpf_ring_fd(source->ring), on_urgent, source};
	int r = event_loop_add(source->scope.loop, &source->urgent);

	source->listens = r == 0;
	return r;
}

static void set_python(void *context, pid_t pid, const struct sample_python *where)
{
	struct bpf_source *source = context;

	bpf_ring_set_python(source->ring, pid, where);
}

/* Only the first few processes get a notice. */
static void notice_python(void *context, const char *line)
{
	struct bpf_source *source = context;

	if (source->nr_python_notices++ < PYTHON_NOTICES_MAX)
		notice(source, "%s", line);
}

static void on_missed_code(void *context)
{
	struct bpf_source *source = context;

	source->missed_until_ns = source->event_ns + MISSED_NS;
}

static void prepare_python(struct bpf_source *source)
{
	bpf_programs_set_python(source->programs, wants_python(source));
	if (!wants_python(source))
		return;
	source->python = (struct python_scope){
		.files = source->python_files,
		.notice = notice_python,
		.missed = on_missed_code,
		.context = source,
	};
	source->set.scope.python = &source->python;
	source->set.scope.stack_mode = source->options.stack_mode;
	source->set.scope.set_python = set_python;
	source->set.scope.python_context = source;
}

static void say_python(struct bpf_source *source)
{
	int error = bpf_programs_python(source->programs);

	if (!error && source->calls)
		error = call_probes_python(source->calls);
	if (error)
		notice(source, "BPF: this kernel reads no Python frames (%s): samples have none",
		       strerror(-error));
}

static int start(struct bpf_source *source)
{
	const struct bpf_source_scope *scope = &source->scope;
	bool started = false;
	int r = start_ring(source);

	if (r == 0)
		r = watched_set_init(&source->set);
	if (r)
		return r;
	source->set.ring = source->ring;
	if (kernel_symbols_read(&source->kernel) || !kernel_symbols_count(source->kernel))
		notice(source, "/proc/kallsyms: no addresses (kernel.kptr_restrict, CAP_SYSLOG): "
			       "the kernel's functions have no names, waits no reasons");
	source->files = unwind_files_create();
	source->python_files = python_files_create();
	source->programs = bpf_programs_create(source->ring);
	source->wait_reasons = wait_reasons_create(source->kernel);
	if (!source->files || !source->python_files || !source->programs || !source->wait_reasons)
		return -ENOMEM;
	source->set.scope = (struct watched_scope){
		.outputs = {.strings = scope->strings,
			    .stacks = scope->stacks,
			    .module = scope->module,
			    .context = scope->context},
		.builder = scope->builder,
		.send = scope->send,
		.context = scope->context,
		.devices = scope->devices,
		.kernel = source->kernel,
		.wait_reasons = source->wait_reasons,
		.files = source->files,
		.loop = scope->loop,
		.nr_processes = scope->nr_processes,
		.realtime_offset_ns = clock_realtime_offset_ns(),
		.trusts_all = source->options.watch_pid != 0,
	};
	kernel_clock_read(&source->set.scope.clock);
	prepare_python(source);
	watch_job(source);
	start_program(source, source->options.cpu_hz, "no CPU samples", &started, start_cpu);
	start_program(source, source->options.off_cpu_min_ns, "no waits of host threads", &started,
		      start_off_cpu);
	start_program(source, source->options.host_calls,
		      source->options.calls_auto ? LOST_CALLS_AUTO : LOST_CALLS, &started,
		      start_calls);
	say_python(source);
	/* Processes that already run are probed before the caller reports success. */
	if (source->calls && (r = call_probes_scan(source->calls, clock_now_ns())) != 0)
		return r;
	return started ? listen(source) : -ECANCELED;
}

int bpf_source_create(const struct bpf_options *options, const struct bpf_source_scope *scope,
		      struct bpf_source **source)
{
	*source = NULL;
	if (!options->cpu_hz && !options->off_cpu_min_ns && !options->host_calls)
		return 0;
	struct bpf_source *new_source = calloc(1, sizeof(*new_source));
	if (!new_source)
		return -ENOMEM;
	new_source->options = *options;
	new_source->scope = *scope;
	int r = start(new_source);
	if (r == 0)
		*source = new_source;
	else
		bpf_source_destroy(new_source);
	if (r == -ECANCELED)
		return options->required ? -EPERM : 0;
	return r;
}

bool bpf_source_missing(const char *lost, char line[static BPF_SOURCE_LINE_MAX])
{
	struct bpf_rights rights;

	bpf_rights_read(&rights, "");
	return bpf_rights_missing(&rights, lost, line);
}

void bpf_source_destroy(struct bpf_source *source)
{
	if (!source)
		return;
	if (source->listens)
		event_loop_remove(source->scope.loop, &source->urgent);
	call_probes_destroy(source->calls);
	bpf_programs_destroy(source->programs);
	watched_set_fini(&source->set);
	bpf_ring_destroy(source->ring);
	unwind_files_destroy(source->files);
	python_files_destroy(source->python_files);
	wait_reasons_destroy(source->wait_reasons);
	kernel_symbols_destroy(source->kernel);
	free(source);
}

int bpf_source_watch(struct bpf_source *source, pid_t pid, enum bpf_source_watch what)
{
	if (!source)
		return 0;
	if (what != BPF_SOURCE_WATCH_END)
		return bpf_ring_watch(source->ring, pid, 0,
				      what == BPF_SOURCE_WATCH_CHILDREN ? WATCHED_CHILDREN_ONLY
									: 0);
	bpf_ring_unwatch(source->ring, pid);
	return 0;
}

/* ---- passes ------------------------------------------------------------------------------------- */

static int drain(struct bpf_source *source)
{
	source->nr_events = 0;
	source->event_ns = source->scope.now_ns();
	source->deadline_ns = source->event_ns + BPF_SOURCE_PASS_NS;
	watched_set_begin_pass(&source->set);
	int r = bpf_ring_drain(source->ring);
	int flushed = r < 0 ? r : watched_set_flush(&source->set);

	source->is_behind = r == BPF_RING_ENOUGH;
	if (flushed)
		return flushed;
	return source->is_behind ? BPF_SOURCE_MORE : BPF_SOURCE_ALL;
}

/* Waits that ended before the stop have come already. */
static int take_open_waits(struct bpf_source *source)
{
	if (!source->has_open_waits)
		return 0;
	source->has_open_waits = false;
	return bpf_programs_open_waits(
		source->programs, source->stop_ns - (uint64_t)source->set.scope.clock.monotonic_ns,
		on_open_wait, source);
}

static void say_failures(struct bpf_source *source)
{
	uint64_t unwatched, unnoted;

	bpf_ring_failures(source->ring, &unwatched, &unnoted);
	if (unwatched && !source->unwatched)
		notice(source, "more than %u processes at the same time: some are not watched",
		       SAMPLE_PROCESSES_MAX);
	if (unnoted && !source->unnoted)
		notice(source,
		       "more threads than there is room for: some of their waits are not seen");
	source->unwatched = unwatched;
	source->unnoted = unnoted;
}

/* Sends the accounts, even while the buffer is not empty. */
static int account(struct bpf_source *source, uint64_t now_ns)
{
	if (!source->set.stopped && now_ns < source->next_account_ns)
		return 0;
	source->next_account_ns = now_ns + ACCOUNT_NS;
	int r = watched_set_account(&source->set);
	say_failures(source);
	return r;
}

int bpf_source_pass(struct bpf_source *source, uint64_t now_ns)
{
	if (!source)
		return BPF_SOURCE_ALL;
	source->is_urgent = false;
	int r = source->calls ? call_probes_scan(source->calls, now_ns) : 0;
	if (r)
		return r;
	if (!source->scope.has_room(source->scope.context))
		return BPF_SOURCE_NO_ROOM;
	int progress = drain(source);
	if (progress < 0)
		return progress;
	if (progress == BPF_SOURCE_MORE) {
		r = source->set.stopped ? 0 : account(source, now_ns);
		return r ? r : progress;
	}
	r = take_open_waits(source);
	if (r == 0 && (source->set.stopped || now_ns >= source->next_look_ns)) {
		source->next_look_ns = now_ns + LOOK_NS;
		r = watched_set_look(&source->set, source->set.stopped);
	}
	if (r == 0)
		r = watched_set_finish(&source->set);
	return r ? r : account(source, now_ns);
}

int bpf_source_stop(struct bpf_source *source, uint64_t now_ns)
{
	if (!source || source->set.stopped)
		return 0;
	source->set.stopped = true;
	source->stop_ns = now_ns;
	source->has_open_waits = true;
	bpf_programs_stop(source->programs);
	call_probes_destroy(source->calls);
	source->calls = NULL;
	return 0;
}

bool bpf_source_is_read(struct bpf_source *source, const struct guest_process *guest)
{
	return !source || watched_set_is_read(&source->set, guest);
}

bool bpf_source_misses_code(const struct bpf_source *source, uint64_t now_ns)
{
	return source && now_ns < source->missed_until_ns;
}

bool bpf_source_is_urgent(struct bpf_source *source)
{
	return source && source->is_urgent;
}

uint32_t bpf_source_probed_files(const struct bpf_source *source)
{
	return source && source->calls ? call_probes_files(source->calls) : 0;
}

uint64_t bpf_source_samples(const struct bpf_source *source)
{
	return source ? watched_set_samples(&source->set) : 0;
}

/* ---- guests ------------------------------------------------------------------------------------- */

int bpf_source_claim(struct bpf_source *source, pid_t pid, uint32_t *process_id)
{
	*process_id = 0;
	if (!source || pid <= 0)
		return 0;
	/* Events in the buffer precede the guest. But the guest waits, so a full buffer is not read first. */
	int r = source->is_behind ? 0 : drain(source);
	return r < 0 ? r : watched_set_claim(&source->set, pid, process_id);
}

int bpf_source_attach(struct bpf_source *source, pid_t pid, struct guest_process *guest)
{
	struct watched watched;

	if (!source || pid <= 0)
		return 0;
	if (!bpf_ring_lookup(source->ring, pid, &watched)) {
		int failed = bpf_ring_watch(source->ring, pid, 0, 0);

		if (failed) {
			notice(source, "process %d cannot be watched: %s", (int)pid,
			       strerror(-failed));
			return 0;
		}
	}
	int r = watched_set_attach(&source->set, pid, guest);
	bpf_ring_set_flags(source->ring, pid, WATCHED_HAS_GUEST, WATCHED_NO_CAPTURE);
	return r;
}

void bpf_source_set_blocked(struct bpf_source *source, const struct guest_process *guest,
			    bool blocked)
{
	pid_t pid =
		source && source->options.calls_auto ? watched_set_pid_of(&source->set, guest) : 0;

	if (pid && blocked)
		bpf_ring_set_flags(source->ring, pid, WATCHED_NO_CAPTURE, WATCHED_HAS_GUEST);
	else if (pid)
		bpf_ring_set_flags(source->ring, pid, WATCHED_HAS_GUEST, WATCHED_NO_CAPTURE);
}

void bpf_source_refuse(struct bpf_source *source, pid_t pid)
{
	struct watched watched;

	if (!source || !source->options.calls_auto || pid <= 0)
		return;
	if (bpf_ring_lookup(source->ring, pid, &watched))
		bpf_ring_set_flags(source->ring, pid, WATCHED_NO_CAPTURE, 0);
	else
		bpf_ring_watch(source->ring, pid, 0, WATCHED_NO_CAPTURE);
}

void bpf_source_account(struct bpf_source *source, const struct guest_process *guest)
{
	if (source)
		watched_set_account_guest(&source->set, guest);
}

void bpf_source_detach(struct bpf_source *source, const struct guest_process *guest)
{
	if (source)
		watched_set_detach(&source->set, guest);
}
