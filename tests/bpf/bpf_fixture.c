#include "tests/support/cmocka_test.h"

#include "bpf_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/base/device_list.h"
#include "node-agent/base/event_loop.h"
#include "node-agent/frame_names.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/symbols/symbolizer.h"

#define FILES_PASSES_MAX 2000
#define MS               1000000ull

static const char *victim_path, *script_path;
static const struct device_list no_devices;
static int start_pipe[2] = {-1, -1}, report_pipe[2] = {-1, -1};

/* ---- what is sent -------------------------------------------------------------------------------- */

const char *bpf_fixture_text(const struct bpf_fixture *fixture, uint32_t string_id)
{
	assert_true(string_id <= fixture->nr_texts);
	return string_id ? fixture->texts[string_id] : "";
}

static void take_strings(struct bpf_fixture *fixture, const struct message_strings *part)
{
	assert_int_equal(part->base, fixture->nr_texts + 1);
	fixture->texts =
		realloc(fixture->texts, (fixture->nr_texts + part->count + 1) * sizeof(char *));
	assert_non_null(fixture->texts);
	for (uint32_t i = 0; i < part->count; i++)
		fixture->texts[++fixture->nr_texts] =
			strndup(part->strings[i].data, part->strings[i].size);
}

static void take_symbols(struct bpf_fixture *fixture, const struct message_stacks *part)
{
	for (uint32_t i = 0; i < part->nr_symbols; i++) {
		uint32_t frame = part->symbols[i].frame;

		if (frame >= fixture->max_symbols) {
			uint32_t max = frame * 2 + 64;

			fixture->symbols = realloc(fixture->symbols, max * sizeof(uint32_t));
			memset(fixture->symbols + fixture->max_symbols, 0,
			       (max - fixture->max_symbols) * sizeof(uint32_t));
			fixture->max_symbols = max;
		}
		fixture->symbols[frame] = part->symbols[i].name;
	}
}

static struct bpf_fixture_process *known_process(struct bpf_fixture *fixture, uint32_t process_id)
{
	assert_in_range(process_id, 1, fixture->nr_processes);
	assert_int_equal(fixture->processes[process_id].state, PROCESS_RUNNING);
	return &fixture->processes[process_id];
}

static void take_process(struct bpf_fixture *fixture, const struct message_process *message)
{
	assert_in_range(message->process_id, 1, fixture->nr_processes + 1);
	assert_true(message->process_id < BPF_FIXTURE_PROCESSES);
	if (message->process_id > fixture->nr_processes)
		fixture->nr_processes = message->process_id;
	struct bpf_fixture_process *process = known_process(fixture, message->process_id);
	process->pid = message->pid;
	process->state = message->state;
	snprintf(process->command, sizeof(process->command), "%s",
		 bpf_fixture_text(fixture, message->command));
}

static void take_samples(struct bpf_fixture *fixture, const struct message_samples *message)
{
	struct bpf_fixture_process *process = known_process(fixture, message->process_id);

	assert_in_range(message->nr_samples, 1, WIRE_EVENTS_MAX);
	for (uint32_t i = 0; i < message->nr_samples; i++) {
		const struct host_sample *sample = &message->samples[i];

		assert_true(sample->kind < HOST_SAMPLE_KINDS);
		assert_true(sample->duration_ns > 0);
		assert_true(sample->stack_id <= stack_dictionary_nr_nodes(fixture->stacks));
		assert_true(sample->name_id <= fixture->nr_texts);
		process->nr_samples[sample->kind]++;
		process->ns[sample->kind] += sample->duration_ns;
		if (fixture->nr_samples == fixture->max_samples) {
			fixture->max_samples = fixture->max_samples * 2 + 1024;
			fixture->samples = realloc(
				fixture->samples, fixture->max_samples * sizeof(*fixture->samples));
			assert_non_null(fixture->samples);
		}
		fixture->samples[fixture->nr_samples++] =
			(struct bpf_fixture_sample){message->process_id, *sample};
	}
}

static void take_collectives(struct bpf_fixture *fixture, const struct message_collectives *message)
{
	struct bpf_fixture_process *process = known_process(fixture, message->process_id);

	assert_in_range(message->nr_communicators + message->nr_collectives, 1, WIRE_EVENTS_MAX);
	fixture->communicators = realloc(fixture->communicators,
					 (fixture->nr_communicators + message->nr_communicators +
					  1) * sizeof(*fixture->communicators));
	fixture->collectives = realloc(fixture->collectives,
				       (fixture->nr_collectives + message->nr_collectives + 1) *
					       sizeof(*fixture->collectives));
	for (uint32_t i = 0; i < message->nr_communicators; i++) {
		assert_int_equal(message->communicators[i].communicator_id,
				 ++process->nr_communicators);
		fixture->communicators[fixture->nr_communicators++] =
			(struct bpf_fixture_communicator){message->process_id,
							  message->communicators[i]};
	}
	for (uint32_t i = 0; i < message->nr_collectives; i++) {
		const struct collective *collective = &message->collectives[i];

		assert_true(collective->function < COLLECTIVE_FUNCTIONS);
		assert_true(collective->duration_ns > 0);
		assert_true(collective->stack_id <= stack_dictionary_nr_nodes(fixture->stacks));
		assert_true(collective->communicator_id <= process->nr_communicators);
		process->nr_collectives++;
		fixture->collectives[fixture->nr_collectives++] =
			(struct bpf_fixture_collective){message->process_id, *collective};
	}
}

static void take_ledger(struct bpf_fixture *fixture, const struct message_ledger *message)
{
	struct bpf_fixture_process *process = known_process(fixture, message->process_id);

	for (uint32_t i = 0; i < message->nr_entries; i++) {
		assert_int_equal(message->entries[i].device_id, LEDGER_DEVICE_NONE);
		assert_true(message->entries[i].reason < LEDGER_REASONS);
		process->ledger[message->entries[i].reason] = message->entries[i];
	}
}

static int take(void *context, struct message *message)
{
	struct bpf_fixture *fixture = context;

	switch (message->type) {
	case MESSAGE_STRINGS:
		take_strings(fixture, &message->strings);
		break;
	case MESSAGE_STACKS:
		take_symbols(fixture, &message->stacks);
		break;
	case MESSAGE_PROCESS:
		take_process(fixture, &message->process);
		break;
	case MESSAGE_SAMPLES:
		take_samples(fixture, &message->samples);
		break;
	case MESSAGE_COLLECTIVES:
		take_collectives(fixture, &message->collectives);
		break;
	case MESSAGE_LEDGER:
		take_ledger(fixture, &message->ledger);
		break;
	default:
		fail_msg("message %d", message->type);
	}
	return 0;
}

static bool has_room(void *context)
{
	return !((struct bpf_fixture *)context)->no_room;
}

static int on_module(void *context, const struct symbolizer_module *module)
{
	return symbolizer_add_module(((struct bpf_fixture *)context)->symbolizer, module);
}

static void on_notice(void *context, const char *line)
{
	struct bpf_fixture *fixture = context;
	size_t used = strlen(fixture->notices);

	assert_null(strchr(line, '\n'));
	snprintf(fixture->notices + used, sizeof(fixture->notices) - used, "%s\n", line);
}

/* ---- life ---------------------------------------------------------------------------------------- */

static uint64_t clock_step_ns;

static uint64_t now_ns(void)
{
	static uint64_t stepped_ns;

	if (clock_step_ns == 0)
		return clock_now_ns();
	return stepped_ns += clock_step_ns;
}

void bpf_fixture_step_clock(uint64_t step_ns)
{
	clock_step_ns = step_ns;
}

struct bpf_fixture *bpf_fixture_create(const struct bpf_options *options)
{
	const struct symbolizer_options symbols = {0};
	struct bpf_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_int_equal(event_loop_create(&fixture->loop), 0);
	fixture->strings = string_dictionary_create();
	fixture->stacks = stack_dictionary_create();
	fixture->builder = batch_builder_create(fixture->strings, fixture->stacks, take, fixture);
	assert_int_equal(symbolizer_start(&symbols, &fixture->symbolizer), 0);
	fixture->names = calloc(1, sizeof(*fixture->names));
	*fixture->names = (struct frame_names){.stacks = fixture->stacks,
					       .strings = fixture->strings,
					       .symbolizer = fixture->symbolizer,
					       .builder = fixture->builder};
	const struct bpf_source_scope scope = {
		.strings = fixture->strings,
		.stacks = fixture->stacks,
		.builder = fixture->builder,
		.devices = &no_devices,
		.loop = fixture->loop,
		.nr_processes = &fixture->nr_ids,
		.send = take,
		.has_room = has_room,
		.now_ns = now_ns,
		.module = on_module,
		.notice = on_notice,
		.context = fixture,
	};
	assert_int_equal(bpf_source_create(options, &scope, &fixture->source), 0);
	return fixture;
}

void bpf_fixture_destroy(struct bpf_fixture *fixture)
{
	bpf_source_destroy(fixture->source);
	symbolizer_stop(fixture->symbolizer, 20000);
	batch_builder_destroy(fixture->builder);
	stack_dictionary_destroy(fixture->stacks);
	string_dictionary_destroy(fixture->strings);
	event_loop_destroy(fixture->loop);
	for (uint32_t i = 1; i <= fixture->nr_texts; i++)
		free(fixture->texts[i]);
	free(fixture->texts);
	free(fixture->names);
	free(fixture->samples);
	free(fixture->communicators);
	free(fixture->collectives);
	free(fixture->symbols);
	free(fixture);
}

void bpf_fixture_victim(const char *path)
{
	victim_path = path;
}

void bpf_fixture_script(const char *path)
{
	script_path = path;
}

static void set_descriptor(const char *name, int fd)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", fd);
	setenv(name, text, 1);
}

pid_t bpf_fixture_start(struct bpf_fixture *fixture, const char *what, uint64_t amount)
{
	char text[32];

	(void)fixture;
	assert_int_equal(pipe2(start_pipe, O_CLOEXEC), 0);
	assert_int_equal(pipe2(report_pipe, O_CLOEXEC), 0);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)amount);
	pid_t pid = fork();
	if (pid == 0) {
		int start = dup(start_pipe[0]), report = dup(report_pipe[1]);

		set_descriptor("VICTIM_START", start);
		set_descriptor("VICTIM_REPORT", report);
		if (script_path)
			execl(victim_path, victim_path, script_path, what, text, NULL);
		else
			execl(victim_path, "bpf_victim", what, text, NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	close(start_pipe[0]);
	close(report_pipe[1]);
	return pid;
}

void bpf_fixture_release(struct bpf_fixture *fixture)
{
	(void)fixture;
	assert_int_equal(write(start_pipe[1], "x", 1), 1);
	close(start_pipe[1]);
}

void bpf_fixture_pass(struct bpf_fixture *fixture, uint32_t wait_ms)
{
	assert_int_equal(event_loop_wait(fixture->loop, clock_now_ns() + wait_ms * MS), 0);
	int r = bpf_source_pass(fixture->source, clock_now_ns());
	assert_in_range(r, BPF_SOURCE_ALL, BPF_SOURCE_MORE);
	assert_int_equal(frame_names_request(fixture->names), 0);
	assert_int_equal(frame_names_collect(fixture->names), 0);
	assert_int_equal(batch_builder_flush_dictionaries(fixture->builder), 0);
}

struct victim_report bpf_fixture_await(struct bpf_fixture *fixture, pid_t pid)
{
	struct victim_report report = {0};
	pid_t ended;
	int status;

	while ((ended = waitpid(pid, &status, WNOHANG)) == 0)
		bpf_fixture_pass(fixture, 10);
	assert_int_equal(ended, pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(read(report_pipe[0], &report, sizeof(report)), sizeof(report));
	close(report_pipe[0]);
	/* Its end is noticed in one pass, or the next. */
	for (int i = 0; i < 3; i++)
		bpf_fixture_pass(fixture, 1);
	return report;
}

void bpf_fixture_await_files(struct bpf_fixture *fixture, uint32_t count)
{
	for (int i = 0; i < FILES_PASSES_MAX; i++) {
		if (bpf_source_probed_files(fixture->source) == count)
			return;
		bpf_fixture_pass(fixture, 10);
	}
	fail_msg("%u files are probed, not %u; %s", bpf_source_probed_files(fixture->source), count,
		 fixture->notices);
}

void bpf_fixture_await_names(struct bpf_fixture *fixture)
{
	while (!symbolizer_idle(fixture->symbolizer))
		bpf_fixture_pass(fixture, 1);
	bpf_fixture_pass(fixture, 0);
}

void bpf_fixture_stop(struct bpf_fixture *fixture)
{
	assert_int_equal(bpf_source_stop(fixture->source, clock_now_ns()), 0);
	while (bpf_source_pass(fixture->source, clock_now_ns()) != BPF_SOURCE_ALL)
		;
	bpf_fixture_pass(fixture, 0);
	bpf_fixture_await_names(fixture);
}

/* ---- what came ----------------------------------------------------------------------------------- */

struct bpf_fixture_process *bpf_fixture_process(struct bpf_fixture *fixture, pid_t pid,
						const char *command)
{
	for (uint32_t id = fixture->nr_processes; id > 0; id--) {
		struct bpf_fixture_process *process = &fixture->processes[id];

		if ((pid == 0 || process->pid == (uint32_t)pid) &&
		    (!command || strstr(process->command, command)))
			return process;
	}
	return NULL;
}

uint32_t bpf_fixture_id(const struct bpf_fixture *fixture,
			const struct bpf_fixture_process *process)
{
	return (uint32_t)(process - fixture->processes);
}

static const char *frame_name(const struct bpf_fixture *fixture, uint32_t frame_id)
{
	const struct message_frame *frame = stack_dictionary_frames(fixture->stacks, frame_id);

	if (frame->code)
		return bpf_fixture_text(fixture,
					stack_dictionary_codes(fixture->stacks, frame->code)->name);
	return frame_id < fixture->max_symbols
		       ? bpf_fixture_text(fixture, fixture->symbols[frame_id])
		       : "";
}

int bpf_fixture_depth_of(const struct bpf_fixture *fixture, const struct host_sample *sample,
			 const char *function)
{
	int depth = 0;

	for (uint32_t node = sample->stack_id; node; depth++) {
		const struct message_node *at = stack_dictionary_nodes(fixture->stacks, node);

		if (strcmp(frame_name(fixture, at->frame), function) == 0)
			return depth;
		node = at->parent;
	}
	return -1;
}

const char *bpf_fixture_python(const struct bpf_fixture *fixture, const struct host_sample *sample,
			       int depth)
{
	static char text[1024];
	uint32_t node = sample->stack_id;

	while (node && depth-- > 0)
		node = stack_dictionary_nodes(fixture->stacks, node)->parent;
	if (!node)
		return NULL;
	const struct message_frame *frame = stack_dictionary_frames(
		fixture->stacks, stack_dictionary_nodes(fixture->stacks, node)->frame);
	const struct message_code *code = stack_dictionary_codes(fixture->stacks, frame->code);
	if (!frame->code || !code->file)
		return "";
	const char *file = bpf_fixture_text(fixture, code->file);
	const char *slash = strrchr(file, '/');
	snprintf(text, sizeof(text), "%s:%s:%llu", slash ? slash + 1 : file,
		 bpf_fixture_text(fixture, code->name), (unsigned long long)frame->offset);
	return text;
}

void bpf_fixture_print(const struct bpf_fixture *fixture, const struct host_sample *sample)
{
	fprintf(stderr, "kind %d, %llu ns, \"%s\":", sample->kind,
		(unsigned long long)sample->duration_ns,
		bpf_fixture_text(fixture, sample->name_id));
	for (uint32_t node = sample->stack_id; node;) {
		const struct message_node *at = stack_dictionary_nodes(fixture->stacks, node);

		fprintf(stderr, " %s", frame_name(fixture, at->frame));
		node = at->parent;
	}
	fputc('\n', stderr);
}

/* ---- whole captures ------------------------------------------------------------------------------- */

struct bpf_fixture *bpf_fixture_create_loaded(const struct bpf_options *options)
{
	struct bpf_fixture *fixture = bpf_fixture_create(options);

	if (!fixture->source)
		fail_msg("BPF is needed here: %s", fixture->notices);
	return fixture;
}

struct bpf_fixture *bpf_fixture_capture(const struct bpf_options *options, const char *what,
					uint64_t amount, struct victim_report *report)
{
	struct bpf_options mine = *options;

	mine.watch_pid = getpid();
	struct bpf_fixture *fixture = bpf_fixture_create_loaded(&mine);
	pid_t pid = bpf_fixture_start(fixture, what, amount);
	bpf_fixture_release(fixture);
	*report = bpf_fixture_await(fixture, pid);
	bpf_fixture_stop(fixture);
	assert_string_equal(fixture->notices, "");
	return fixture;
}

void bpf_fixture_check_accounts(const struct bpf_fixture *fixture)
{
	for (uint32_t id = 1; id <= fixture->nr_processes; id++) {
		const struct bpf_fixture_process *process = &fixture->processes[id];
		uint64_t samples = 0, ns = 0;

		for (int kind = 0; kind < HOST_SAMPLE_KINDS; kind++) {
			samples += process->nr_samples[kind];
			ns += process->ns[kind];
		}
		assert_int_equal(process->ledger[LEDGER_SAMPLES].count,
				 samples + process->ledger[LEDGER_SAMPLE_RING_FULL].count);
		assert_int_equal(process->ledger[LEDGER_SAMPLES].ns,
				 ns + process->ledger[LEDGER_SAMPLE_RING_FULL].ns);
	}
}
