#include "straggler_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/clock_log.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/raw_log.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "proto/batch/message_seq.h"
#include "proto/host_sample.h"
#include "report/profile/profile_collectives.h"
#include "report/straggler/report_straggler.h"

#define TEXTS_MAX     512u
#define AGENTS_MAX    64u
#define PROCESSES_MAX 4096u

/* An agent, and what it has defined: an id is the place. */
struct agent {
	struct agent_session *session;
	char *strings[TEXTS_MAX], *paths[TEXTS_MAX];
	uint32_t nr_strings, nr_nodes, nr_processes;
};

static char folder[64], path[96];
static const char *kept_path; /* NULL: the store is removed */
static struct store *store;
static struct collection *collection;
static bool keep_samples;
static int32_t world_size;
static const char *of_job;

static struct agent agents[AGENTS_MAX], *agent; /* the one that speaks */
static uint32_t nr_agents, nr_processes;
static struct {
	uint32_t agent, id; /* the agent's */
	int32_t rank;
	const char *job;
} processes[PROCESSES_MAX];

static void open_session(uint32_t index)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {(uint8_t)(index + 1)};

	agents[index].session = collection_session(collection, epoch);
	assert_non_null(agents[index].session);
}

static void open_store(void)
{
	char *error = NULL;

	assert_int_equal(store_open(path, NULL, &store, &error), 0);
	collection = collection_create();
	assert_non_null(collection);
	assert_int_equal(store_load(store, collection), 0);
	for (uint32_t i = 0; i < nr_agents; i++)
		open_session(i);
	if (keep_samples)
		raw_log_start(collection->raw);
}

static void close_store(void)
{
	store_close(store);
	collection_destroy(collection);
}

static void apply(struct message message)
{
	const char *reason;

	message_seq_set(&message, agent->session->received_seq + 1);
	assert_int_equal(session_apply(agent->session, collection, &message, &reason), 0);
}

/* Lets the agent of a process speak. Returns the agent's number of the process. */
static uint32_t speak_of(uint32_t process)
{
	assert_in_range(process, 1, nr_processes);
	agent = &agents[processes[process].agent];
	return processes[process].id;
}

static int hello(const char *node)
{
	const struct message_hello message = {.software = {"test", 4},
					      .node = {node, (uint32_t)strlen(node)},
					      .boot_id = {node, (uint32_t)strlen(node)}};

	assert_true(nr_agents < AGENTS_MAX);
	agent = &agents[nr_agents];
	open_session(nr_agents++);
	return agent_session_hello(agent->session, collection->catalog, collection->roster,
				   &message);
}

int job_set_up(void **state)
{
	(void)state;
	nr_agents = nr_processes = 0;
	memset(agents, 0, sizeof(agents));
	keep_samples = false;
	world_size = -1;
	of_job = NULL;
	snprintf(folder, sizeof(folder), "/tmp/flamegrid-straggler.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/profile.db", folder);
	open_store();
	return hello("node01");
}

void job_node(const char *node)
{
	assert_int_equal(hello(node), 0);
}

void job_keep(const char *file_path)
{
	kept_path = file_path;
}

int job_tear_down(void **state)
{
	(void)state;
	close_store();
	for (uint32_t i = 0; i < nr_agents; i++) {
		for (uint32_t j = 0; j < agents[i].nr_strings; j++)
			free(agents[i].strings[j]);
		for (uint32_t j = 0; j < agents[i].nr_nodes; j++)
			free(agents[i].paths[j]);
	}
	if (kept_path)
		assert_int_equal(rename(path, kept_path), 0);
	else
		unlink(path);
	kept_path = NULL;
	return rmdir(folder);
}

const char *job_path(void)
{
	return path;
}

void job_commit(void)
{
	assert_int_equal(store_commit(store, collection), 0);
}

static void execute(const char *sql)
{
	struct database *database;

	assert_int_equal(database_open(path, false, &database, NULL), 0);
	assert_int_equal(database_execute(database, sql), 0);
	database_close(database);
}

void job_commit_fails(void)
{
	execute("CREATE TRIGGER fails BEFORE INSERT ON epochs BEGIN SELECT RAISE(ABORT, ''); END");
	assert_int_not_equal(store_commit(store, collection), 0);
	execute("DROP TRIGGER fails");
}

void job_restart(void)
{
	close_store();
	open_store();
}

void job_keep_samples(void)
{
	keep_samples = true;
	raw_log_start(collection->raw);
}

static uint32_t string_of(const char *text)
{
	if (!text || !*text)
		return 0;
	for (uint32_t i = 0; i < agent->nr_strings; i++)
		if (strcmp(agent->strings[i], text) == 0)
			return i + 1;
	assert_true(agent->nr_strings < TEXTS_MAX);
	agent->strings[agent->nr_strings++] = strdup(text);
	const struct message_text string = {text, (uint32_t)strlen(text)};
	apply((struct message){
		.type = MESSAGE_STRINGS,
		.strings = {.base = agent->nr_strings, .count = 1, .strings = &string}});
	return agent->nr_strings;
}

/* A frame, its code and its node have one number. */
static uint32_t add_node(const char *text, uint32_t parent, const char *frame)
{
	const char *colon = strchr(frame, ':');
	char file[128] = "";

	if (colon)
		snprintf(file, sizeof(file), "%.*s", (int)(colon - frame), frame);
	const struct message_code code = {string_of(file), string_of(colon ? colon + 1 : frame)};
	const struct message_frame place = {.code = agent->nr_nodes + 1, .offset = 0};
	const struct message_node node = {parent, agent->nr_nodes + 1};
	assert_true(agent->nr_nodes < TEXTS_MAX);
	agent->paths[agent->nr_nodes++] = strdup(text);
	apply((struct message){.type = MESSAGE_STACKS,
			       .stacks = {.frame_base = agent->nr_nodes,
					  .nr_frames = 1,
					  .frames = &place,
					  .node_base = agent->nr_nodes,
					  .nr_nodes = 1,
					  .nodes = &node,
					  .code_base = agent->nr_nodes,
					  .nr_codes = 1,
					  .codes = &code}});
	return agent->nr_nodes;
}

uint32_t job_stack(const char *text)
{
	char outer[512];

	if (!text || !*text)
		return 0;
	for (uint32_t i = 0; i < agent->nr_nodes; i++)
		if (strcmp(agent->paths[i], text) == 0)
			return i + 1;
	const char *last = strrchr(text, ';');
	snprintf(outer, sizeof(outer), "%.*s", last ? (int)(last - text) : 0, text);
	return add_node(text, job_stack(outer), last ? last + 1 : text);
}

static void put_process(uint32_t process, uint32_t state)
{
	const uint32_t id = speak_of(process);
	const struct message_device device = {
		.index = (int32_t)process, .uuid = {(uint8_t)process, (uint8_t)(process >> 8), 1}};

	apply((struct message){
		.type = MESSAGE_PROCESS,
		.process = {.process_id = id,
			    .pid = 1000 + process,
			    .instance = {(uint8_t)process, (uint8_t)(process >> 8)},
			    .state = state,
			    .rank = processes[process].rank,
			    .job = processes[process].job ? string_of(processes[process].job) : 0,
			    .local_rank = -1,
			    .world_size = world_size,
			    .command = string_of("train"),
			    .nr_devices = 1,
			    .devices = &device}});
}

void job_world(int32_t size)
{
	world_size = size;
}

void job_id(const char *id)
{
	of_job = id;
}

uint32_t job_process(int32_t rank)
{
	assert_true(nr_processes + 1 < PROCESSES_MAX);
	processes[++nr_processes].agent = (uint32_t)(agent - agents);
	processes[nr_processes].id = ++agent->nr_processes;
	processes[nr_processes].rank = rank;
	processes[nr_processes].job = of_job;
	put_process(nr_processes, PROCESS_RUNNING);
	return nr_processes;
}

void job_end(uint32_t process)
{
	put_process(process, PROCESS_ENDED);
}

static void count(uint32_t process, enum ledger_reason reason)
{
	const struct ledger_entry entry = {
		.device_id = LEDGER_DEVICE_NONE, .reason = reason, .count = 1};

	apply((struct message){
		.type = MESSAGE_LEDGER,
		.ledger = {.process_id = speak_of(process), .nr_entries = 1, .entries = &entry}});
}

void job_end_at(uint32_t process, enum job_ending ending, uint64_t time_ns)
{
	speak_of(process);
	agent->session->spoke_ns = time_ns;
	if (ending == JOB_TERMINATED)
		count(process, LEDGER_TERMINATED_END);
	put_process(process, ending == JOB_RUNS ? PROCESS_RUNNING : PROCESS_UNCLEAN);
}

void job_window(uint32_t process)
{
	count(process, LEDGER_CAPTURE_WINDOW);
}

void job_clock(uint32_t process, int64_t ahead_ns)
{
	/* the aggregator's CLOCK_MONOTONIC is its CLOCK_REALTIME less that */
	const int64_t realtime_ns = 1000000000000;
	struct clock_offset offset = {
		.offset_ns = ahead_ns + realtime_ns,
		.bound_ns = 1000,
		.round_trip_ns = 2000,
		.reference_realtime_offset_ns = realtime_ns,
	};

	speak_of(process);
	offset.host = agent->session->host;
	assert_int_equal(
		catalog_add_string(collection->catalog, "aggregator", 10, &offset.reference), 0);
	assert_int_equal(clock_log_add(collection->clocks, &offset), 0);
}

void job_communicator(uint32_t process, uint32_t id, uint64_t key, uint32_t rank, uint32_t nr_ranks)
{
	const struct communicator communicator = {.key = key,
						  .communicator_id = id,
						  .rank = rank,
						  .nr_ranks = nr_ranks,
						  .origin = COMMUNICATOR_PROFILER};

	apply((struct message){.type = MESSAGE_COLLECTIVES,
			       .collectives = {.process_id = speak_of(process),
					       .nr_communicators = 1,
					       .communicators = &communicator}});
}

void job_call(uint32_t process, const struct collective *call)
{
	apply((struct message){.type = MESSAGE_COLLECTIVES,
			       .collectives = {.process_id = speak_of(process),
					       .nr_collectives = 1,
					       .collectives = call}});
}

struct collective job_all_reduce(uint32_t communicator, uint64_t sequence, uint32_t correlation_id,
				 uint64_t start_ns, uint64_t duration_ns)
{
	return (struct collective){
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.sequence = sequence,
		.function_sequence = sequence,
		.count = 5,
		.bytes = 20,
		.communicator_id = communicator,
		.tid = 9,
		.peer = COLLECTIVE_NOT_KNOWN,
		.correlation_id = correlation_id,
		.function = COLLECTIVE_ALL_REDUCE,
		.data_type = COLLECTIVE_FLOAT32,
	};
}

void job_kernel(uint32_t process, const struct job_kernel *kernel)
{
	const uint32_t id = speak_of(process);
	const struct launch_record launch = {
		.time_ns = kernel->start_ns + (uint64_t)kernel->clock_offset_ns - kernel->delay_ns,
		.correlation_id = kernel->correlation_id,
		.stack_id = job_stack(kernel->stack),
		.tid = kernel->tid,
		.window = 1,
	};
	const struct gpu_record record = {
		.start_ns = kernel->start_ns,
		.end_ns = kernel->start_ns + kernel->ns,
		.correlation_id = kernel->correlation_id,
		.context_id = 1,
		.stream_id = 7,
		.name_id = string_of(kernel->name),
		.window = 1,
		.graph_id = kernel->of_graph,
		.graph_node_id = kernel->of_graph,
	};

	apply((struct message){
		.type = MESSAGE_EVENTS,
		.events = {.process_id = id,
			   .clock_offset_ns = kernel->clock_unknown ? 0 : kernel->clock_offset_ns,
			   .clock_valid = !kernel->clock_unknown,
			   .nr_launches = kernel->stack != NULL,
			   .launches = &launch,
			   .nr_gpu = 1,
			   .gpu = &record}});
}

void job_sample(uint32_t process, uint32_t kind, const char *stack, const char *reason,
		uint32_t tid, uint64_t end_ns, uint64_t duration_ns)
{
	const uint32_t id = speak_of(process);
	const struct host_sample sample = {
		.time_ns = end_ns,
		.duration_ns = duration_ns,
		.tid = tid,
		.stack_id = job_stack(stack),
		.name_id = string_of(reason),
		.kind = (uint8_t)kind,
	};

	apply((struct message){.type = MESSAGE_SAMPLES,
			       .samples = {.process_id = id, .nr_samples = 1, .samples = &sample}});
}

struct profile *job_profile(void)
{
	struct profile *profile;
	char *error = NULL;

	assert_int_equal(profile_load(path, &profile, &error), 0);
	return profile;
}

struct collective_folds *job_collectives(void)
{
	struct collective_folds *folds;
	char *error = NULL;

	assert_int_equal(profile_collectives_load(path, &folds, &error), 0);
	return folds;
}

/* Knuth's generator of 64 bits (MMIX), of which the upper bits are good. */
double job_uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

/* Twelve uniform numbers have a variance of one. */
double job_normal(uint64_t *seed)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += job_uniform(seed);
	return sum;
}

struct report_straggler *job_straggler(void)
{
	struct profile *profile = job_profile();
	struct report_straggler *found;

	assert_int_equal(
		report_straggler_create(profile, job_path(), NULL, job_collectives(), NULL, &found),
		0);
	profile_destroy(profile);
	return found;
}
