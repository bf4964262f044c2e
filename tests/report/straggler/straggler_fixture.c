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
#include "aggregator/profile/collection.h"
#include "report/profile/profile_collectives.h"
#include "aggregator/profile/raw_log.h"
#include "report/straggler/report_straggler.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "proto/host_sample.h"
#include "proto/batch/message_seq.h"

#define TEXTS_MAX 512u

static char folder[64], path[96];
static struct store *store;
static struct collection *collection;
static struct agent_session *session;
static bool keep_samples;
static int32_t world_size;

/* What the agent has defined: an id is the place. */
static char *strings[TEXTS_MAX], *paths[TEXTS_MAX];
static uint32_t nr_strings, nr_nodes, nr_frames, nr_processes;

static void open_store(void)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	char *error = NULL;

	assert_int_equal(store_open(path, NULL, &store, &error), 0);
	collection = collection_create();
	assert_non_null(collection);
	assert_int_equal(store_load(store, collection), 0);
	session = collection_session(collection, epoch);
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

	message_seq_set(&message, session->received_seq + 1);
	assert_int_equal(session_apply(session, collection, &message, &reason), 0);
}

int job_set_up(void **state)
{
	const struct message_hello hello = {
		.software = {"test", 4}, .node = {"node01", 6}, .boot_id = {"b00t", 4}};

	(void)state;
	nr_strings = nr_nodes = nr_frames = nr_processes = 0;
	keep_samples = false;
	world_size = -1;
	snprintf(folder, sizeof(folder), "/tmp/flamegrid-straggler.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/profile.db", folder);
	open_store();
	return agent_session_hello(session, collection->catalog, collection->roster, &hello);
}

int job_tear_down(void **state)
{
	(void)state;
	close_store();
	for (uint32_t i = 0; i < nr_strings; i++)
		free(strings[i]);
	for (uint32_t i = 0; i < nr_nodes; i++)
		free(paths[i]);
	unlink(path);
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
	for (uint32_t i = 0; i < nr_strings; i++)
		if (strcmp(strings[i], text) == 0)
			return i + 1;
	assert_true(nr_strings < TEXTS_MAX);
	strings[nr_strings++] = strdup(text);
	const struct message_text string = {text, (uint32_t)strlen(text)};
	apply((struct message){.type = MESSAGE_STRINGS,
			       .strings = {.base = nr_strings, .count = 1, .strings = &string}});
	return nr_strings;
}

/* A frame, its code and its node have one number. */
static uint32_t add_node(const char *text, uint32_t parent, const char *frame)
{
	const char *colon = strchr(frame, ':');
	char file[128] = "";

	if (colon)
		snprintf(file, sizeof(file), "%.*s", (int)(colon - frame), frame);
	const struct message_code code = {string_of(file), string_of(colon ? colon + 1 : frame)};
	const struct message_frame place = {.code = nr_nodes + 1, .offset = 0};
	const struct message_node node = {parent, nr_nodes + 1};
	assert_true(nr_nodes < TEXTS_MAX);
	paths[nr_nodes++] = strdup(text);
	apply((struct message){.type = MESSAGE_STACKS,
			       .stacks = {.frame_base = nr_nodes,
					  .nr_frames = 1,
					  .frames = &place,
					  .node_base = nr_nodes,
					  .nr_nodes = 1,
					  .nodes = &node,
					  .code_base = nr_nodes,
					  .nr_codes = 1,
					  .codes = &code}});
	return nr_nodes;
}

uint32_t job_stack(const char *text)
{
	char outer[512];

	if (!text || !*text)
		return 0;
	for (uint32_t i = 0; i < nr_nodes; i++)
		if (strcmp(paths[i], text) == 0)
			return i + 1;
	const char *last = strrchr(text, ';');
	snprintf(outer, sizeof(outer), "%.*s", last ? (int)(last - text) : 0, text);
	return add_node(text, job_stack(outer), last ? last + 1 : text);
}

static void put_process(uint32_t process, int32_t rank, uint32_t state)
{
	const struct message_device device = {
		.index = (int32_t)process, .uuid = {(uint8_t)process, (uint8_t)(process >> 8), 1}};

	apply((struct message){.type = MESSAGE_PROCESS,
			       .process = {.process_id = process,
					   .pid = 1000 + process,
					   .instance = {(uint8_t)process, (uint8_t)(process >> 8)},
					   .state = state,
					   .rank = rank,
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

uint32_t job_process(int32_t rank)
{
	put_process(++nr_processes, rank, PROCESS_RUNNING);
	return nr_processes;
}

void job_end(uint32_t process)
{
	put_process(process, -1, PROCESS_ENDED);
}

void job_communicator(uint32_t process, uint32_t id, uint64_t key, uint32_t rank, uint32_t nr_ranks)
{
	const struct communicator communicator = {.key = key,
						  .communicator_id = id,
						  .rank = rank,
						  .nr_ranks = nr_ranks,
						  .origin = COMMUNICATOR_PROFILER};

	apply((struct message){.type = MESSAGE_COLLECTIVES,
			       .collectives = {.process_id = process,
					       .nr_communicators = 1,
					       .communicators = &communicator}});
}

void job_call(uint32_t process, const struct collective *call)
{
	apply((struct message){
		.type = MESSAGE_COLLECTIVES,
		.collectives = {.process_id = process, .nr_collectives = 1, .collectives = call}});
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
	const struct launch_record launch = {
		.time_ns = kernel->start_ns + (uint64_t)kernel->clock_offset_ns,
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
		.events = {.process_id = process,
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
	const struct host_sample sample = {
		.time_ns = end_ns,
		.duration_ns = duration_ns,
		.tid = tid,
		.stack_id = job_stack(stack),
		.name_id = string_of(reason),
		.kind = (uint8_t)kind,
	};

	apply((struct message){
		.type = MESSAGE_SAMPLES,
		.samples = {.process_id = process, .nr_samples = 1, .samples = &sample}});
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

	assert_int_equal(report_straggler_create(profile, job_path(), NULL, job_collectives(), &found),
			 0);
	profile_destroy(profile);
	return found;
}
