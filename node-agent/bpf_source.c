#include "bpf_source.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "bpf_programs.h"
#include "bpf_rights.h"
#include "bpf_ring.h"
#include "call_probes.h"
#include "event_loop.h"
#include "guest_process.h"
#include "kernel_symbols.h"
#include "proc_file.h"
#include "python_file.h"
#include "python_process.h"
#include "unwind_files.h"
#include "watched_process.h"
#include "watched_table.h"

#define NS_PER_S           1000000000ull
#define EVENTS_AT_ONCE     8192u /* between two looks at the publisher's room */
#define DRAINS_MAX         64u   /* of one pass: the kernel may write as fast as we read */
#define ACCOUNT_NS         500000000ull
#define LOOK_NS            100000000ull /* between two looks for processes that ended and were never sampled */
#define PARENT_STAT_MAX    4096u
#define PYTHON_NOTICES_MAX 8u

struct bpf_source {
	struct bpf_source_options options;
	struct bpf_source_scope scope;
	struct watched_scope watched_scope;
	struct bpf_ring *ring; /* owns, and all below */
	struct bpf_programs *programs;
	struct call_probes *calls; /* NULL: not asked for, or not possible */
	struct kernel_symbols *kernel;
	struct unwind_files *files;
	struct python_files *python_files;
	struct python_scope python;
	struct watched_table *table;
	struct event_source urgent;
	uint32_t nr_python_notices;
	uint64_t next_account_ns, next_look_ns, samples;
	uint64_t unwatched, unnoted; /* as last said */
	bool is_urgent, listens, stopped;
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

/* ---- processes ----------------------------------------------------------------------------------- */

/* The entry of a pid, new if need be. 0 or -ENOMEM. */
static int get_process(struct bpf_source *source, pid_t pid, struct watched_process **process)
{
	struct watched watched;

	*process = watched_table_find(source->table, pid);
	if (*process)
		return 0;
	if (!bpf_ring_lookup(source->ring, pid, &watched))
		watched = (struct watched){0};
	*process = watched_process_create(&source->watched_scope, pid, &watched);
	int r = *process ? watched_table_add(source->table, *process) : -ENOMEM;
	if (r) {
		watched_process_destroy(*process);
		*process = NULL;
	}
	return r;
}

/* The one that started it, if it is looked at itself. 0 or -ENOMEM. */
static int find_parent(struct bpf_source *source, pid_t pid, struct watched_process **parent)
{
	struct watched watched, own;

	*parent = NULL;
	if (!bpf_ring_lookup(source->ring, pid, &own) || own.parent == 0 ||
	    !bpf_ring_lookup(source->ring, (pid_t)own.parent, &watched) ||
	    (watched.flags & WATCHED_CHILDREN_ONLY))
		return 0;
	return get_process(source, (pid_t)own.parent, parent);
}

static void forget(struct bpf_source *source, struct watched_process *process)
{
	source->samples += watched_process_samples(process);
	watched_table_remove(source->table, watched_table_index(source->table, process));
}

/* Another program runs in the process, or another process has the pid: what was counted until now is the old one's. */
static int replace(struct bpf_source *source, struct watched_process **process)
{
	pid_t pid = watched_process_pid(*process);
	struct sample_counts counts;

	bpf_ring_counts(source->ring, pid, &counts);
	watched_process_account(*process, &counts);
	watched_process_taken(*process, &counts);
	watched_process_account(*process, &counts);
	int r = watched_process_finish(*process, NULL);
	forget(source, *process);
	*process = NULL;
	if (r == 0)
		r = get_process(source, pid, process);
	if (r == 0)
		watched_process_set_base(*process, &counts);
	return r;
}

static int find_process(struct bpf_source *source, const struct sample_event *event,
			struct watched_process **process)
{
	int r = get_process(source, (pid_t)event->pid, process);

	if (r == 0 && watched_process_is_other(*process, event))
		r = replace(source, process);
	return r;
}

static int on_event(void *context, const struct sample_event *event)
{
	struct bpf_source *source = context;
	struct watched_process *process;
	struct watched watched;

	/* Of a process that is no longer watched, on its way out: its account is closed, and was without it. */
	if (event->duration_ns == 0 ||
	    (!watched_table_find(source->table, (pid_t)event->pid) &&
	     !bpf_ring_lookup(source->ring, (pid_t)event->pid, &watched)))
		return 0;
	int r = find_process(source, event, &process);
	return r ? r : watched_process_add(process, event);
}

/* It ends with the capture, and the kernel has not counted it. */
static int on_open_wait(void *context, const struct sample_event *event)
{
	struct bpf_source *source = context;
	struct watched_process *process;
	int r = find_process(source, event, &process);

	if (r)
		return r;
	if (event->duration_ns < source->options.off_cpu_min_ns) {
		watched_process_count_short(process, event->duration_ns);
		return 0;
	}
	return watched_process_add_open(process, event);
}

/* ---- start -------------------------------------------------------------------------------------- */

static pid_t parent_of(pid_t pid)
{
	char *text;
	size_t size;
	int parent = 0;

	if (proc_file_read(pid, "stat", PARENT_STAT_MAX, &text, &size))
		return 0;
	const char *bracket = strrchr(text, ')');
	if (bracket && sscanf(bracket, ") %*c %d", &parent) != 1)
		parent = 0;
	free(text);
	return parent;
}

static int watch(struct bpf_source *source, pid_t pid, uint32_t flags)
{
	return bpf_ring_watch(source->ring, pid, 0, flags);
}

/* What a process has started before. A process that is started while this goes on is caught by its parent, which is watched before its
 * children are looked for; rounds end when nothing new was found. */
static void watch_descendants(struct bpf_source *source)
{
	struct watched watched;
	bool found = true;

	while (found) {
		DIR *processes = opendir("/proc");
		const struct dirent *entry;

		found = false;
		while (processes && (entry = readdir(processes))) {
			pid_t pid = (pid_t)atoi(entry->d_name);

			if (pid > 0 && !bpf_ring_lookup(source->ring, pid, &watched) &&
			    bpf_ring_lookup(source->ring, parent_of(pid), &watched) &&
			    !(watched.flags & WATCHED_CHILDREN_ONLY))
				found |= watch(source, pid, 0) == 0;
		}
		if (processes)
			closedir(processes);
	}
}

static void watch_job(struct bpf_source *source)
{
	pid_t pid = source->options.watch_pid;
	int r = 0;

	if (pid == 0)
		return;
	r = watch(source, pid, pid == getpid() ? WATCHED_CHILDREN_ONLY : 0);
	if (r == 0 && pid != getpid())
		watch_descendants(source);
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

static void on_notice(void *context, const char *line)
{
	notice(context, "%s", line);
}

static int start_calls(struct bpf_source *source, const char **what)
{
	return call_probes_create(source->ring, source->options.call_way,
				  source->options.watch_pid != 0, on_notice, source, &source->calls,
				  what);
}

static const char *lost_by(const struct bpf_source_options *options)
{
	if (options->host_calls)
		return "no calls of CUDA";
	if (options->cpu_hz && options->off_cpu_min_ns)
		return "no CPU samples and no waits of host threads";
	return options->cpu_hz ? "no CPU samples" : "no waits of host threads";
}

/* It says on its own what fails; an error is passed on once, in our words. */
static int be_quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

/* -ECANCELED: that nothing came of it was said. */
static int start_ring(struct bpf_source *source)
{
	char line[BPF_RIGHTS_LINE_MAX];
	struct bpf_rights rights;
	const char *what;

	bpf_rights_read(&rights, "");
	if (bpf_rights_missing(&rights, lost_by(&source->options), line)) {
		notice(source, "%s", line);
		return -ECANCELED;
	}
	libbpf_set_print(be_quiet);
	bpf_rights_raise_memory();
	int r = bpf_ring_create(source->options.ring_bytes, on_event, source, &source->ring, &what);
	if (r == 0)
		return 0;
	bpf_rights_explain(what, r, lost_by(&source->options), line);
	notice(source, "%s", line);
	return -ECANCELED;
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

static bool wants_python(const struct bpf_source *source)
{
	return source->options.stack_mode != STACK_MODE_NATIVE &&
	       source->options.stack_mode != STACK_MODE_NONE;
}

static void set_python(void *context, pid_t pid, const struct sample_python *where)
{
	struct bpf_source *source = context;

	bpf_ring_set_python(source->ring, pid, where);
}

/* Of many processes, the first few. */
static void notice_python(void *context, const char *line)
{
	struct bpf_source *source = context;

	if (source->nr_python_notices++ < PYTHON_NOTICES_MAX)
		notice(source, "%s", line);
}

static void prepare_python(struct bpf_source *source)
{
	bpf_programs_set_python(source->programs, wants_python(source));
	if (!wants_python(source))
		return;
	source->python = (struct python_scope){
		.files = source->python_files, .notice = notice_python, .context = source};
	source->watched_scope.python = &source->python;
	source->watched_scope.stack_mode = source->options.stack_mode;
	source->watched_scope.set_python = set_python;
	source->watched_scope.python_context = source;
}

static void say_python(struct bpf_source *source)
{
	int error = bpf_programs_python(source->programs);

	if (error)
		notice(source, "BPF: this kernel does not read Python frames: %s: none in samples",
		       strerror(-error));
}

static int start(struct bpf_source *source)
{
	const struct bpf_source_scope *scope = &source->scope;
	bool started = false;
	int r = start_ring(source);

	if (r)
		return r;
	source->table = watched_table_create();
	source->files = unwind_files_create();
	source->python_files = python_files_create();
	source->programs = bpf_programs_create(source->ring);
	if (!source->table || !source->files || !source->python_files || !source->programs)
		return -ENOMEM;
	if (kernel_symbols_read(&source->kernel) || !kernel_symbols_count(source->kernel))
		notice(source, "/proc/kallsyms: no addresses (kernel.kptr_restrict, CAP_SYSLOG): "
			       "the kernel's functions have no names, waits no reasons");
	source->watched_scope = (struct watched_scope){
		.outputs = {.strings = scope->strings,
			    .stacks = scope->stacks,
			    .module = scope->module,
			    .context = scope->context},
		.builder = scope->builder,
		.send = scope->send,
		.context = scope->context,
		.devices = scope->devices,
		.kernel = source->kernel,
		.files = source->files,
		.loop = scope->loop,
		.nr_processes = scope->nr_processes,
		.trusts_all = source->options.watch_pid != 0,
	};
	prepare_python(source);
	watch_job(source);
	start_program(source, source->options.cpu_hz, "no CPU samples", &started, start_cpu);
	start_program(source, source->options.off_cpu_min_ns, "no waits of host threads", &started,
		      start_off_cpu);
	say_python(source);
	start_program(source, source->options.host_calls, "no calls of CUDA", &started,
		      start_calls);
	/* What runs already is probed before anybody says so. */
	if (source->calls && (r = call_probes_scan(source->calls, event_loop_now_ns())) != 0)
		return r;
	return started ? listen(source) : -ECANCELED;
}

int bpf_source_create(const struct bpf_source_options *options,
		      const struct bpf_source_scope *scope, struct bpf_source **source)
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
	watched_table_destroy(source->table);
	bpf_ring_destroy(source->ring);
	unwind_files_destroy(source->files);
	python_files_destroy(source->python_files);
	kernel_symbols_destroy(source->kernel);
	free(source);
}

/* ---- passes ------------------------------------------------------------------------------------- */

static int flush_all(struct bpf_source *source)
{
	int r = 0;

	for (uint32_t i = 0; i < watched_table_count(source->table) && r == 0; i++)
		r = watched_process_flush(watched_table_at(source->table, i));
	return r;
}

/* bounded: as far as there is room for messages. 1: it was not all. */
static int drain(struct bpf_source *source, bool bounded)
{
	int r = 1;

	for (uint32_t i = 0; i < watched_table_count(source->table); i++)
		watched_process_begin_pass(watched_table_at(source->table, i));
	for (uint32_t i = 0; r == 1 && i < DRAINS_MAX; i++) {
		if (bounded && !source->scope.has_room(source->scope.context))
			return 1;
		r = bpf_ring_drain(source->ring, EVENTS_AT_ONCE);
		int flushed = r < 0 ? r : flush_all(source);
		if (flushed)
			return flushed;
	}
	return r;
}

static void account(struct bpf_source *source, struct watched_process *process)
{
	struct sample_counts counts;

	bpf_ring_counts(source->ring, watched_process_pid(process), &counts);
	watched_process_account(process, &counts);
}

/* All events of a process that ended are in the ring before its end can be seen. */
static int finish(struct bpf_source *source, struct watched_process *process)
{
	struct watched_process *parent;
	pid_t pid = watched_process_pid(process);
	int r = find_parent(source, pid, &parent);

	account(source, process);
	if (r == 0)
		r = watched_process_finish(process, parent);
	forget(source, process);
	bpf_ring_unwatch(source->ring, pid);
	return r;
}

/* After the capture nothing comes any more. */
static bool may_finish(struct bpf_source *source, const struct watched_process *process)
{
	struct sample_counts counts;

	if (!watched_process_has_ended(process) || watched_process_guest(process))
		return false;
	bpf_ring_counts(source->ring, watched_process_pid(process), &counts);
	return source->stopped || watched_process_is_settled(process, &counts);
}

/* Those that were never sampled go first: they may leave something to others. */
static int finish_ended(struct bpf_source *source)
{
	for (int sampled = 0; sampled < 2; sampled++) {
		uint32_t i = 0;

		while (i < watched_table_count(source->table)) {
			struct watched_process *process = watched_table_at(source->table, i);

			if ((!sampled && watched_process_samples(process)) ||
			    !may_finish(source, process)) {
				i++;
				continue;
			}
			int r = finish(source, process);
			if (r)
				return r;
			i = 0;
		}
	}
	return 0;
}

/* Of processes that ended without a sample, the kernel may yet have counted something. all: of those that live, too. */
static int look_for_counts(struct bpf_source *source, bool all)
{
	struct watched watched;
	struct sample_counts counts;
	pid_t pid = 0, next;

	for (next = bpf_ring_next(source->ring, 0, &watched); next; next = pid) {
		struct watched found = watched;
		uint64_t ticks = found.start / (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));

		pid = bpf_ring_next(source->ring, next, &watched);
		if ((found.flags & WATCHED_CHILDREN_ONLY) ||
		    watched_table_find(source->table, next))
			continue;
		bool alive = proc_file_is_alive(next, ticks);
		if (alive && !all)
			continue;
		bpf_ring_counts(source->ring, next, &counts);
		if (counts.samples || counts.short_waits || counts.probes_lost) {
			struct watched_process *process;
			int r = get_process(source, next, &process);

			if (r)
				return r;
		} else if (!alive) {
			bpf_ring_unwatch(source->ring, next);
		}
	}
	return 0;
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

static int account_all(struct bpf_source *source)
{
	int r = 0;

	for (uint32_t i = 0; i < watched_table_count(source->table) && r == 0; i++) {
		struct watched_process *process = watched_table_at(source->table, i);

		account(source, process);
		r = source->stopped ? watched_process_leave(process)
				    : watched_process_send_ledger(process);
	}
	say_failures(source);
	return r;
}

int bpf_source_pass(struct bpf_source *source, uint64_t now_ns)
{
	if (!source)
		return 0;
	source->is_urgent = false;
	int r = source->calls ? call_probes_scan(source->calls, now_ns) : 0;
	if (r == 0)
		r = drain(source, true);
	if (r)
		return r < 0 ? r : 1;
	if (source->stopped || now_ns >= source->next_look_ns) {
		source->next_look_ns = now_ns + LOOK_NS;
		r = look_for_counts(source, source->stopped);
	}
	if (r == 0)
		r = finish_ended(source);
	if (r == 0 && (source->stopped || now_ns >= source->next_account_ns)) {
		source->next_account_ns = now_ns + ACCOUNT_NS;
		r = account_all(source);
	}
	return r;
}

int bpf_source_stop(struct bpf_source *source, uint64_t now_ns)
{
	if (!source || source->stopped)
		return 0;
	source->stopped = true;
	bpf_programs_stop(source->programs);
	call_probes_destroy(source->calls);
	source->calls = NULL;
	/* What came to its end by now goes before what did not. */
	int r = drain(source, false);
	if (r >= 0)
		r = bpf_programs_open_waits(source->programs, now_ns, on_open_wait, source);
	return r;
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
	uint64_t samples = source ? source->samples : 0;

	for (uint32_t i = 0; source && i < watched_table_count(source->table); i++)
		samples += watched_process_samples(watched_table_at(source->table, i));
	return samples;
}

/* ---- guests ------------------------------------------------------------------------------------- */

int bpf_source_claim(struct bpf_source *source, pid_t pid, uint32_t *process_id)
{
	struct watched_process *process;
	int r = 0;

	*process_id = 0;
	if (!source || pid <= 0)
		return 0;
	/* What is in the ring was before the guest. */
	r = drain(source, false);
	if (r < 0)
		return r;
	process = watched_table_find(source->table, pid);
	if (!process)
		return 0;
	*process_id = watched_process_claim(process);
	/* Known by another name, or with a guest of its own: that was another program. */
	if (*process_id == 0 &&
	    (watched_process_samples(process) || watched_process_guest(process)))
		r = replace(source, &process);
	return r;
}

int bpf_source_attach(struct bpf_source *source, pid_t pid, struct guest_process *guest)
{
	struct watched_process *process;
	struct watched watched;

	if (!source || pid <= 0)
		return 0;
	if (!bpf_ring_lookup(source->ring, pid, &watched)) {
		int failed = watch(source, pid, 0);

		if (failed) {
			notice(source, "process %d cannot be watched: %s", (int)pid,
			       strerror(-failed));
			return 0;
		}
	}
	int r = get_process(source, pid, &process);
	if (r == 0)
		watched_process_set_guest(process, guest);
	bpf_ring_set_flag(source->ring, pid, WATCHED_HAS_GUEST);
	return r;
}

static struct watched_process *process_of(const struct bpf_source *source,
					  const struct guest_process *guest)
{
	struct watched_process *process =
		source ? watched_table_find(source->table, guest_process_pid(guest)) : NULL;

	return process && watched_process_guest(process) == guest ? process : NULL;
}

void bpf_source_account(struct bpf_source *source, const struct guest_process *guest)
{
	struct watched_process *process = process_of(source, guest);

	if (process)
		account(source, process);
}

void bpf_source_detach(struct bpf_source *source, const struct guest_process *guest)
{
	struct watched_process *process = process_of(source, guest);

	if (!process)
		return;
	bool ended = watched_process_has_ended(process);
	pid_t pid = guest_process_pid(guest);

	forget(source, process);
	if (ended)
		bpf_ring_unwatch(source->ring, pid);
}
