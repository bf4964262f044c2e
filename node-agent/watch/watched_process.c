#include "watched_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event_samples.h"
#include "event_stack.h"
#include "watched_account.h"
#include "watched_collectives.h"

#include "base/array.h"
#include "bpf/collective_event.h"
#include "node-agent/base/event_loop.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/guests/guest_process.h"
#include "node-agent/guests/process_description.h"
#include "node-agent/guests/process_ledger.h"
#include "node-agent/kernel/address_stack.h"
#include "node-agent/kernel/python_codes.h"
#include "node-agent/kernel/python_process.h"
#include "node-agent/kernel/stack_budget.h"
#include "node-agent/kernel/wait_reasons.h"
#include "node-agent/publish/batch_builder.h"

#define NS_PER_S    1000000000ull
#define NOTICE_MAX  256
#define NO_GUEST    "no guest came into this process, or it was sent away: "
#define UNTIL_GUEST "until its guest came, the kernel timed its calls of CUDA (--host-calls auto)"
#define REPLACED    "the kernel times its calls of CUDA (--host-calls auto), GPU times are missing"

struct watched_process {
	const struct watched_scope *scope;
	pid_t pid;
	uint64_t start;
	uint32_t exec_id, fork_exec_id; /* of the last event; at the fork */
	bool has_exec_id, has_stack, ended, reads_maps, replaces_guest; /* has_stack: since exec */
	uint32_t process_id;                     /* 0: nothing was sent about it yet */
	struct guest_process *guest;             /* borrowed; NULL: none */
	struct process_description *description; /* owns; NULL: nothing was sent about it yet */
	struct process_ledger *ledger;           /* owns */
	struct address_stack *stacks;            /* owns; NULL: no stack has come yet */
	struct python_codes *parent_codes;       /* shares; NULL: none */
	struct event_source source;              /* pidfd; -1: none */
	bool has_command; /* false: command was read during an exec, and may be incomplete */
	char *command;    /* owns; NULL: not known */
	char thread_command[SAMPLE_COMMAND_SIZE + 1];
	uint32_t command_id;                     /* of thread_command; STRING_NONE: no id yet */
	struct watched_collectives *collectives; /* owns */
	struct host_sample *samples;             /* owns */
	uint32_t nr_samples, max_samples;
	uint64_t event_start;        /* process_start of the last event */
	struct sample_python python; /* as the kernel's half has it; zeros: it has none */
	struct watched_account account;
	struct stack_budget budget;
	uint64_t end_mark; /* position in the kernel's buffer, bytes + 1; 0: none */
};

static void on_end(void *context)
{
	struct watched_process *process = context;

	event_loop_remove(process->scope->loop, &process->source);
	close(process->source.fd);
	process->source.fd = -1;
	process->ended = true;
}

static uint64_t start_ticks(const struct watched_process *process)
{
	return (process->start + (uint64_t)process->scope->clock.boottime_ns) /
	       (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The pid may belong to another process by now. */
static void watch(struct watched_process *process)
{
	process->source.fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->source.fd >= 0 &&
	    event_loop_add(process->scope->loop, &process->source) != 0) {
		close(process->source.fd);
		process->source.fd = -1;
	}
	if (!proc_file_is_alive(process->pid, process->start ? start_ticks(process) : 0)) {
		if (process->source.fd >= 0)
			on_end(process);
		process->ended = true;
	}
}

/* For a moment within exec, a process has no arguments. */
static bool read_command(struct watched_process *process)
{
	char *arguments = NULL,
	     *command = process->ended ? NULL : proc_file_command(process->pid, NULL);
	size_t size = 0;

	if (!command)
		return false;
	process->has_command =
		proc_file_read(process->pid, "cmdline", 1, &arguments, &size) == 0 && size > 0;
	free(arguments);
	bool changed = !process->command || strcmp(process->command, command) != 0;
	free(process->command);
	process->command = command;
	return changed;
}

struct watched_process *watched_process_create(const struct watched_scope *scope, pid_t pid,
					       const struct watched *watched)
{
	struct watched_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	*process = (struct watched_process){
		.scope = scope,
		.pid = pid,
		.start = watched->start,
		.fork_exec_id = watched->start ? watched->fork_exec_id : UINT32_MAX,
		.source = {.fd = -1, .ready = on_end, .context = process},
	};
	process->ledger = process_ledger_create();
	process->collectives = watched_collectives_create();
	if (!process->ledger || !process->collectives) {
		watched_process_destroy(process);
		return NULL;
	}
	watch(process);
	process->reads_maps = !process->ended && (scope->trusts_all || proc_file_is_ours(pid));
	read_command(process);
	return process;
}

void watched_process_destroy(struct watched_process *process)
{
	if (!process)
		return;
	if (process->source.fd >= 0) {
		event_loop_remove(process->scope->loop, &process->source);
		close(process->source.fd);
	}
	process_description_destroy(process->description);
	process_ledger_destroy(process->ledger);
	address_stack_destroy(process->stacks);
	python_codes_destroy(process->parent_codes);
	watched_collectives_destroy(process->collectives);
	free(process->command);
	free(process->samples);
	free(process);
}

pid_t watched_process_pid(const struct watched_process *process)
{
	return process->pid;
}

bool watched_process_has_ended(const struct watched_process *process)
{
	return process->ended;
}

bool watched_process_is_other(const struct watched_process *process,
			      const struct sample_event *event)
{
	if (process->start && process->start != event->process_start)
		return true;
	return process->has_exec_id && process->exec_id != event->exec_id &&
	       process->exec_id != process->fork_exec_id;
}

void watched_process_set_guest(struct watched_process *process, struct guest_process *guest)
{
	process->guest = guest;
	if (guest && process->replaces_guest)
		guest_process_add_notice(guest, UNTIL_GUEST);
}

struct guest_process *watched_process_guest(const struct watched_process *process)
{
	return process->guest;
}

uint32_t watched_process_claim(const struct watched_process *process)
{
	char *command = proc_file_command(process->pid, NULL);
	bool same = (command && process->command && strcmp(command, process->command) == 0) ||
		    (process->has_exec_id && process->exec_id == process->fork_exec_id) ||
		    !process->has_command;

	free(command);
	return same && !process->guest ? process->process_id : 0;
}

/* ---- who it is ---------------------------------------------------------------------------------- */

static int describe(struct watched_process *process)
{
	struct guest_hello hello = {
		.pid = (uint32_t)process->pid,
		.start_ticks = start_ticks(process),
		.pid_namespace = proc_file_pid_namespace(process->ended ? getpid() : process->pid),
	};

	if (getrandom(hello.instance, sizeof(hello.instance), 0) != sizeof(hello.instance))
		return -EIO;
	process->description = process_description_create(0, process->ended ? 0 : process->pid,
							  &hello, process->scope->outputs.strings,
							  process->scope->devices);
	if (!process->description)
		return -ENOMEM;
	const char *command =
		process->command && *process->command ? process->command : process->thread_command;
	return *command ? process_description_set_command(process->description, command) : 0;
}

void watched_process_replace_guest(struct watched_process *process,
				   void (*notice)(void *context, const char *line), void *context)
{
	char line[NOTICE_MAX];

	if (process->replaces_guest)
		return;
	process->replaces_guest = true;
	if (process->guest)
		guest_process_add_notice(process->guest, REPLACED);
	snprintf(line, sizeof(line), "process %d: %s%s", (int)process->pid,
		 process->guest ? "" : NO_GUEST, REPLACED);
	notice(context, line);
}

/* Sends the process's description before anything else of the process. */
static int introduce(struct watched_process *process)
{
	struct message message;

	if (process->guest)
		return guest_process_introduce(process->guest, &process->process_id);
	int r = process->description ? 0 : describe(process);
	if (r == 0 && process->replaces_guest)
		r = process_description_add_notice(process->description, NO_GUEST REPLACED,
						   strlen(NO_GUEST REPLACED));
	if (r == -ENOMEM)
		return r;
	process_description_read_late(process->description);
	r = batch_builder_flush_dictionaries(process->scope->builder);
	if (r || !process_description_changed(process->description))
		return r;
	if (process->process_id == 0)
		process->process_id = ++*process->scope->nr_processes;
	process_description_message(process->description, &message);
	message.process.process_id = process->process_id;
	return process->scope->send(process->scope->context, &message);
}

/* ---- samples ------------------------------------------------------------------------------------ */

void watched_process_begin_pass(struct watched_process *process)
{
	if (process->stacks)
		address_stack_begin_pass(process->stacks);
}

static void publish_python(void *context, struct sample_python *where)
{
	struct watched_process *process = context;

	where->start = process->event_start;
	where->exec_id = process->exec_id;
	process->python = *where;
	process->scope->set_python(process->scope->python_context, process->pid,
				   where->interpreters ? where : NULL);
}

static int create_stacks(struct watched_process *process)
{
	const struct watched_scope *scope = process->scope;

	process->stacks = address_stack_create(&scope->outputs, scope->kernel, scope->files,
					       process->pid, process->reads_maps);
	if (!process->stacks)
		return -ENOMEM;
	if (!scope->python || !process->reads_maps)
		return 0;
	const struct address_stack_python python = {
		.process = python_process_create(scope->python, &scope->outputs, process->pid),
		.mode = scope->stack_mode,
		.publish = publish_python,
		.context = process,
	};
	address_stack_set_python(process->stacks, &python);
	if (python.process && process->has_exec_id && process->exec_id == process->fork_exec_id)
		python_process_inherit(python.process, process->parent_codes);
	return python.process ? 0 : -ENOMEM;
}

void watched_process_inherit(struct watched_process *process, const struct watched_process *parent)
{
	if (!process->parent_codes && parent->stacks && parent->has_exec_id &&
	    parent->exec_id == process->fork_exec_id)
		process->parent_codes = python_codes_share(address_stack_codes(parent->stacks));
}

static int prepare(struct watched_process *process)
{
	int r = process->stacks ? 0 : create_stacks(process);

	if (r == 0)
		address_stack_prepare(process->stacks);
	return r;
}

int watched_process_prepare(struct watched_process *process)
{
	return process->has_stack ? 0 : prepare(process);
}

/* The interpreter was found before the first sample. It belongs to this sample's program if its files are still mapped;
 * they have just been read again. */
static void confirm_python(struct watched_process *process)
{
	if (process->python.interpreters && process->python.start == 0)
		publish_python(process, &process->python);
}

static int find_stack(struct watched_process *process, const struct sample_event *event,
		      bool in_haste, uint32_t *node_id)
{
	struct event_stack shown;
	uint32_t lacks;

	event_stack_init(&shown, event);
	shown.list.in_haste = in_haste;
	if (event->kind == HOST_SAMPLE_OFF_CPU)
		wait_reasons_strip(process->scope->wait_reasons, &shown.list);
	if (event->user_size == 0)
		watched_account_count_no_stack(&process->account);
	process->event_start = event->process_start;
	process->has_stack = true;
	int r = process->stacks ? 0 : create_stacks(process);
	if (r == 0)
		r = address_stack_find(process->stacks, &shown.list, node_id, &lacks);
	if (r)
		return r;
	watched_account_count_lacks(&process->account, lacks);
	confirm_python(process);
	return 0;
}

static int call_anew(struct watched_process *process)
{
	if (process->description && !process->ended)
		process_description_read_job(process->description, process->pid);
	return read_command(process) && process->description
		       ? process_description_set_command(process->description, process->command)
		       : 0;
}

/* Notes the command that the kernel reports. 0 or -ENOMEM. */
static int name_command(struct watched_process *process, const struct sample_event *event)
{
	if (process->command_id != STRING_NONE &&
	    memcmp(process->thread_command, event->command, SAMPLE_COMMAND_SIZE) == 0)
		return 0;
	process->command_id = STRING_NONE;
	memcpy(process->thread_command, event->command, SAMPLE_COMMAND_SIZE);
	int r = string_dictionary_intern(process->scope->outputs.strings, process->thread_command,
					 strlen(process->thread_command), &process->command_id);
	return r == -ENOMEM ? r : 0;
}

/* After exec the process has another command, and none of its old files is mapped. */
static int become(struct watched_process *process)
{
	address_stack_destroy(process->stacks);
	process->stacks = NULL;
	process->has_stack = false;
	watched_collectives_forget(process->collectives);
	return call_anew(process);
}

static int reserve(struct watched_process *process)
{
	if (process->nr_samples + EVENT_SAMPLES_MAX > WATCHED_SAMPLES_MAX)
		return watched_process_flush(process);
	return array_reserve(&process->samples, &process->max_samples,
			     process->nr_samples + EVENT_SAMPLES_MAX, sizeof(*process->samples));
}

static int meet(struct watched_process *process, const struct sample_event *event)
{
	int r = 0;

	if (process->has_exec_id && process->exec_id != event->exec_id)
		r = become(process);
	else if (!process->has_exec_id && process->stacks)
		r = call_anew(process); /* the process may have called exec since it was prepared */
	process->exec_id = event->exec_id;
	process->has_exec_id = true;
	if (process->start == 0)
		process->start = event->process_start;
	return r ? r : name_command(process, event);
}

int watched_process_exec(struct watched_process *process, const struct sample_event *event)
{
	int r = meet(process, event);

	process->event_start = event->process_start;
	return r ? r : prepare(process);
}

static int add(struct watched_process *process, const struct sample_event *event, bool in_haste,
	       void (*receive)(struct watched_account *account, uint64_t duration_ns))
{
	const struct watched_scope *scope = process->scope;
	struct host_sample samples[EVENT_SAMPLES_MAX];
	uint32_t stack_id, nr;
	int r = meet(process, event);

	if (r == 0)
		r = reserve(process);
	if (r == 0)
		r = find_stack(process, event, in_haste, &stack_id);
	if (r == 0)
		r = event_samples_make(scope->wait_reasons, scope->outputs.strings, event,
				       scope->clock.monotonic_ns, samples, &nr);
	for (uint32_t i = 0; r == 0 && i < nr; i++) {
		samples[i].stack_id = stack_id;
		samples[i].command_id = process->command_id;
		process->samples[process->nr_samples++] = samples[i];
		receive(&process->account, samples[i].duration_ns);
	}
	return r;
}

static int add_collective(struct watched_process *process, const struct sample_event *event,
			  bool in_haste)
{
	uint32_t stack_id = STACK_NODE_NONE;
	int r = meet(process, event);

	if (r == 0 && watched_collectives_count(process->collectives) >= WATCHED_COLLECTIVES_MAX)
		r = watched_process_flush(process);
	if (r == 0 && event->kind == SAMPLE_EVENT_COLLECTIVE)
		r = find_stack(process, event, in_haste, &stack_id);
	if (r == 0)
		r = watched_collectives_add(process->collectives, event, &process->scope->clock,
					    stack_id);
	watched_account_set_collectives(&process->account,
					watched_collectives_received(process->collectives));
	return r;
}

int watched_process_add(struct watched_process *process, const struct sample_event *event,
			bool in_haste)
{
	if (watched_collectives_has(event))
		return add_collective(process, event, in_haste);
	return add(process, event, in_haste, watched_account_receive);
}

struct stack_budget *watched_process_budget(struct watched_process *process)
{
	return &process->budget;
}

bool watched_process_is_read(struct watched_process *process, uint64_t written, uint64_t read)
{
	if (process->end_mark == 0)
		process->end_mark = written + 1;
	return read + 1 >= process->end_mark;
}

int watched_process_add_open(struct watched_process *process, const struct sample_event *event)
{
	return add(process, event, false, watched_account_receive_open);
}

void watched_process_count_short(struct watched_process *process, uint64_t duration_ns)
{
	watched_account_count_short(&process->account, duration_ns);
}

static int send_collectives(struct watched_process *process)
{
	struct message message;

	if (watched_collectives_count(process->collectives) == 0)
		return 0;
	watched_collectives_take(process->collectives, &message);
	message.collectives.process_id = process->process_id;
	return process->scope->send(process->scope->context, &message);
}

int watched_process_flush(struct watched_process *process)
{
	struct message message = {
		.type = MESSAGE_SAMPLES,
		.samples = {.nr_samples = process->nr_samples,
			    .samples = process->samples,
			    .realtime_offset_ns = process->scope->realtime_offset_ns}};

	if (process->nr_samples == 0 && watched_collectives_count(process->collectives) == 0)
		return 0;
	process->nr_samples = 0;
	int r = process->has_command ? 0 : call_anew(process);
	if (r == 0)
		r = introduce(process);
	if (r == 0) /* sends entries that the guest's introduction leaves to the guest's batches */
		r = batch_builder_flush_dictionaries(process->scope->builder);
	message.samples.process_id = process->process_id;
	if (r == 0 && message.samples.nr_samples)
		r = process->scope->send(process->scope->context, &message);
	return r ? r : send_collectives(process);
}

uint64_t watched_process_samples(const struct watched_process *process)
{
	return watched_account_samples(&process->account);
}

/* ---- the account -------------------------------------------------------------------------------- */

void watched_process_set_base(struct watched_process *process, const struct sample_counts *base)
{
	watched_account_set_base(&process->account, base);
}

void watched_process_account(struct watched_process *process, const struct sample_counts *counts)
{
	watched_account_set(&process->account, counts);
	watched_account_enter(&process->account, process->guest
							 ? guest_process_ledger(process->guest)
							 : process->ledger);
}

bool watched_process_settles(struct watched_process *process, struct sample_counts *counts,
			     bool last)
{
	return watched_account_settles(&process->account, counts, last);
}

void watched_process_taken(const struct watched_process *process, struct sample_counts *counts)
{
	watched_account_taken(&process->account, counts);
}

int watched_process_send_ledger(struct watched_process *process)
{
	struct message message = {.type = MESSAGE_LEDGER};

	if (process->guest || process->process_id == 0)
		return 0;
	int r = process_ledger_update(process->ledger, NULL, 0);
	if (r != 1)
		return r;
	message.ledger.process_id = process->process_id;
	message.ledger.entries =
		process_ledger_entries(process->ledger, &message.ledger.nr_entries);
	return process->scope->send(process->scope->context, &message);
}

int watched_process_leave(struct watched_process *process)
{
	int r = watched_process_flush(process);

	if (r == 0 && !process->guest && process->process_id == 0 &&
	    watched_account_has_counts(&process->account))
		r = introduce(process);
	return r ? r : watched_process_send_ledger(process);
}

int watched_process_finish(struct watched_process *process, struct watched_process *parent)
{
	int r = watched_process_flush(process);

	if (r || process->guest)
		return r;
	if (process->process_id == 0 && parent) {
		watched_account_inherit(&parent->account, &process->account);
		return 0;
	}
	r = watched_process_leave(process);
	if (r || process->process_id == 0)
		return r;
	process_description_set_state(process->description, PROCESS_ENDED);
	return introduce(process);
}
