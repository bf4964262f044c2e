#include "node.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "node-agent/publish/publisher.h"
#include "proto/batch/batch_encode.h"
#include "rank.h"
#include "rank_words.h"

#define NS_PER_MS    1000000ull
#define WINDOW_BYTES (64ull << 20) /* as of an agent */
#define CLOCK_MS     30000u

/* When a message was said, to learn how long its acknowledgement takes. */
struct mark {
	uint64_t seq, at_ns;
};

struct node {
	const struct workload *workload;
	struct node_sums *sums;
	uint32_t index;
	enum node_state state;
	bool remembers;              /* it may end before all that it said is acknowledged */
	struct publisher *publisher; /* NULL: dead, with what follows acknowledged */
	uint64_t acked_seq;
	struct batch_builder *builder;
	struct batch_encoder *encoder; /* measures frames */
	struct rank *ranks;
	uint64_t death_ns; /* virtual, as the next three */
	uint64_t done_ns, next_ns, flush_ns;
	struct mark *marks; /* a queue from first_mark on */
	uint32_t nr_marks, max_marks, first_mark;
};

/* ---- life ------------------------------------------------------------------------------------ */

static int say(void *context, struct message *message)
{
	struct node *node = context;
	const uint8_t *frame;
	size_t size;
	int r = publisher_send(node->publisher, message);

	if (r == 0)
		r = batch_encode(node->encoder, message, &frame, &size);
	if (r)
		return r;
	node->sums->frames++;
	node->sums->bytes += size;
	return 0;
}

static int introduce(struct node *node)
{
	int r = workload_define(node->workload, node->builder);

	for (uint32_t i = 0; r == 0 && i < node->workload->options->nr_processes; i++) {
		struct message message;

		rank_words_process(&node->ranks[i], PROCESS_RUNNING, &message);
		r = say(node, &message);
		if (r == 0 && node->workload->nr_steps > 0) {
			rank_words_communicator(&node->ranks[i], &message);
			r = say(node, &message);
		}
		if (r == 0)
			r = rank_remember(&node->ranks[i], 0);
	}
	return r;
}

static int connect_to(struct node *node, void *zmq_context, const struct key_set *keys)
{
	const struct workload *workload = node->workload;
	char name[32], boot_id[40], *error = NULL;
	int name_size = snprintf(name, sizeof(name), "node%04u", node->index);
	int boot_size = snprintf(boot_id, sizeof(boot_id), "%08x-0000-4000-8000-%012x",
				 node->index + 1, node->index + 1);
	struct publisher_options options = {
		.endpoint = swarm_options_endpoint(workload->options, node->index),
		.zmq_context = zmq_context,
		.keys = keys,
		.hello = {.version_min = WIRE_VERSION,
			  .version_max = WIRE_VERSION,
			  .software = {"swarm", 5},
			  .node = {name, (uint32_t)name_size},
			  .boot_id = {boot_id, (uint32_t)boot_size}},
		.window_bytes = WINDOW_BYTES,
		.clock_ms = CLOCK_MS,
	};
	const char *job = workload->options->job;
	if (job)
		options.hello.job = (struct message_job){
			.key = {job, (uint32_t)strlen(job)},
			.user = {"swarm", 5},
			.nr_nodes = (int32_t)workload->options->nr_nodes,
			.world_size = -1,
		};
	uint64_t epoch[2] = {workload_random(workload, node->index, UINT64_MAX - 1), node->index};

	memcpy(options.hello.epoch, epoch, sizeof(options.hello.epoch));
	int r = publisher_create(&options, &node->publisher, &error);
	if (r)
		fprintf(stderr, "swarm: %s\n", error ? error : strerror(-r));
	free(error);
	return r;
}

int node_create(const struct workload *workload, uint32_t index, void *zmq_context,
		const struct key_set *keys, struct node_sums *sums, struct node **node)
{
	struct node *new_node = calloc(1, sizeof(*new_node));
	uint32_t nr_processes = workload->options->nr_processes;
	int r = -ENOMEM;

	*node = NULL;
	if (!new_node)
		return -ENOMEM;
	new_node->workload = workload;
	new_node->sums = sums;
	new_node->index = index;
	new_node->death_ns = swarm_options_death_ns(workload->options, index);
	new_node->remembers =
		new_node->death_ns != UINT64_MAX ||
		swarm_options_endpoint(workload->options, index) != workload->options->endpoint;
	new_node->ranks = calloc(nr_processes, sizeof(*new_node->ranks));
	new_node->encoder = batch_encoder_create();
	new_node->builder =
		batch_builder_create(workload->strings, workload->stacks, say, new_node);
	if (new_node->ranks && new_node->encoder && new_node->builder)
		r = connect_to(new_node, zmq_context, keys);
	for (uint32_t i = 0; r == 0 && i < nr_processes; i++)
		new_node->ranks[i] = (struct rank){.workload = workload,
						   .number = index * nr_processes + i,
						   .process_id = i + 1};
	if (r == 0)
		r = introduce(new_node);
	if (r) {
		node_destroy(new_node);
		return r;
	}
	*node = new_node;
	return 0;
}

void node_destroy(struct node *node)
{
	if (!node)
		return;
	for (uint32_t i = 0; node->ranks && i < node->workload->options->nr_processes; i++)
		free(node->ranks[i].moments);
	publisher_destroy(node->publisher);
	batch_builder_destroy(node->builder);
	batch_encoder_destroy(node->encoder);
	free(node->ranks);
	free(node->marks);
	free(node);
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

static int set_mark(struct node *node, uint64_t now_ns)
{
	if (node->first_mark == node->nr_marks)
		node->first_mark = node->nr_marks = 0;
	if (array_reserve(&node->marks, &node->max_marks, node->nr_marks + 1, sizeof(struct mark)))
		return -ENOMEM;
	node->marks[node->nr_marks++] = (struct mark){publisher_last_seq(node->publisher), now_ns};
	return 0;
}

static void take_acknowledgements(struct node *node, uint64_t now_ns)
{
	uint64_t acked = publisher_acked_seq(node->publisher);

	while (node->first_mark < node->nr_marks && node->marks[node->first_mark].seq <= acked)
		latency_add(&node->sums->acks, now_ns - node->marks[node->first_mark++].at_ns);
}

static uint64_t unacknowledged(const struct node *node)
{
	return publisher_last_seq(node->publisher) - publisher_acked_seq(node->publisher);
}

static bool is_over(const struct node *node)
{
	return node->state == NODE_DEAD || node->state == NODE_FAILED || node->state == NODE_LEFT;
}

bool node_is_heard(const struct node *node)
{
	return is_over(node) || (publisher_connected(node->publisher) && unacknowledged(node) == 0);
}

/* ---- events ---------------------------------------------------------------------------------- */

static int say_beside(struct node *node, struct rank *rank, uint64_t until_ns, bool delivers)
{
	struct message message;
	int r = 0;

	while (r == 0 && rank_words_collectives(rank, &message)) {
		node->sums->collectives += message.collectives.nr_collectives;
		r = say(node, &message);
	}
	while (r == 0 && rank_words_samples(rank, until_ns, &message)) {
		node->sums->samples += message.samples.nr_samples;
		r = say(node, &message);
	}
	if (r || !delivers)
		return r;
	rank_words_ledger(rank, &message);
	return say(node, &message);
}

static int say_events(struct node *node, struct rank *rank, uint64_t until_ns, bool delivers)
{
	uint64_t launches = rank->nr_launches + rank->nr_steps;
	uint64_t records = rank->nr_records + rank->nr_step_records;
	bool more = true;
	int r = 0;

	while (r == 0 && more) {
		more = rank_launch(rank, node->builder, until_ns, delivers);
		r = batch_builder_flush(node->builder, rank->process_id,
					workload_clock_offset_ns(node->workload), 1);
		if (r == 0 && delivers && node->remembers)
			r = rank_remember(rank, publisher_last_seq(node->publisher));
	}
	node->sums->launches += rank->nr_launches + rank->nr_steps - launches;
	node->sums->records += rank->nr_records + rank->nr_step_records - records;
	return r ? r : say_beside(node, rank, until_ns, delivers);
}

/* All events up to a virtual time. */
static int say_all(struct node *node, uint64_t until_ns, uint64_t now_ns)
{
	const struct swarm_options *options = node->workload->options;
	uint64_t end_ns = (uint64_t)(options->seconds * 1e9);
	bool ends = until_ns >= end_ns;
	bool delivers = ends || until_ns >= node->flush_ns;
	int r = 0;

	if (ends)
		until_ns = end_ns;
	for (uint32_t i = 0; r == 0 && i < options->nr_processes; i++)
		r = say_events(node, &node->ranks[i], until_ns, delivers);
	if (delivers)
		node->flush_ns = until_ns + options->flush_ms * NS_PER_MS;
	node->done_ns = until_ns;
	if (ends)
		node->state = NODE_SPOKEN;
	return r ? r : set_mark(node, now_ns);
}

static bool window_is_full(const struct node *node)
{
	const struct swarm_options *options = node->workload->options;

	return !publisher_has_room(node->publisher) ||
	       (options->unpaced &&
		unacknowledged(node) + 4 * options->nr_processes > options->window_frames);
}

/* What is not sent by now never is. */
static void die(struct node *node)
{
	node->acked_seq = publisher_acked_seq(node->publisher);
	publisher_destroy(node->publisher);
	node->publisher = NULL;
	node->state = NODE_DEAD;
}

/* A paced node does what real time allows; another one a tick whenever it may. */
static int go_on(struct node *node, uint64_t now_ns)
{
	const struct swarm_options *options = node->workload->options;
	uint64_t tick_ns = options->tick_ms * NS_PER_MS;
	uint64_t until_ns =
		options->unpaced ? node->done_ns + tick_ns : now_ns - node->workload->monotonic_ns;

	if (until_ns < node->next_ns)
		return 0;
	if (window_is_full(node)) {
		if (!options->unpaced) {
			node->sums->waits++;
			node->next_ns = until_ns + tick_ns / 2;
		}
		return 0;
	}
	if (!options->unpaced && until_ns - node->next_ns > node->sums->lag_ns)
		node->sums->lag_ns = until_ns - node->next_ns;
	node->next_ns = node->next_ns + tick_ns > until_ns ? node->next_ns + tick_ns
							   : until_ns + tick_ns / 2;
	if (until_ns >= node->death_ns) {
		die(node);
		return 0;
	}
	return say_all(node, until_ns, now_ns);
}

static int step(struct node *node, uint64_t now_ns)
{
	int r = publisher_step(node->publisher, now_ns);

	take_acknowledgements(node, now_ns);
	if (r || node->state != NODE_RUNNING || now_ns < node->workload->monotonic_ns)
		return r;
	uint64_t last_seq = publisher_last_seq(node->publisher);
	r = go_on(node, now_ns);
	return r || !node->publisher || publisher_last_seq(node->publisher) == last_seq
		       ? r
		       : publisher_step(node->publisher, now_ns);
}

int node_step(struct node *node, uint64_t now_ns)
{
	if (is_over(node))
		return 0;
	int r = step(node, now_ns);
	if (r == -EPROTO) {
		fprintf(stderr, "swarm: node %u: %s\n", node->index,
			publisher_error(node->publisher));
		die(node);
		node->state = NODE_FAILED;
		r = 0;
	}
	if (node->state == NODE_LEAVING && unacknowledged(node) == 0)
		node->state = NODE_LEFT;
	return r;
}

void node_begin(struct node *node)
{
	const struct swarm_options *options = node->workload->options;

	if (node->state != NODE_CONNECTING)
		return;
	/* Not all nodes speak at one moment. */
	node->next_ns = options->tick_ms * NS_PER_MS * node->index / options->nr_nodes + 1;
	node->flush_ns = options->flush_ms * NS_PER_MS * node->index / options->nr_nodes + 1;
	node->state = NODE_RUNNING;
}

int node_leave(struct node *node, uint64_t now_ns)
{
	struct message message = {.type = MESSAGE_BYE};
	int r = 0;

	if (node->state != NODE_SPOKEN)
		return 0;
	for (uint32_t i = 0; r == 0 && i < node->workload->options->nr_processes; i++) {
		struct message word;

		rank_words_ledger(&node->ranks[i], &word);
		r = say(node, &word);
		if (r)
			break;
		rank_words_process(&node->ranks[i], PROCESS_ENDED, &word);
		r = say(node, &word);
	}
	if (r == 0)
		r = say(node, &message);
	node->state = NODE_LEAVING;
	return r ? r : node_step(node, now_ns);
}

/* ---- the rest -------------------------------------------------------------------------------- */

enum node_state node_state(const struct node *node)
{
	return node->state;
}

int node_fd(const struct node *node)
{
	return publisher_fd(node->publisher);
}

uint64_t node_deadline_ns(const struct node *node)
{
	if (is_over(node))
		return UINT64_MAX;
	uint64_t deadline_ns = publisher_deadline_ns(node->publisher);
	if (node->state != NODE_RUNNING)
		return deadline_ns;
	uint64_t due_ns = node->workload->monotonic_ns;
	if (!node->workload->options->unpaced)
		due_ns += node->next_ns;
	else if (window_is_full(node))
		due_ns = UINT64_MAX; /* an acknowledgement comes first */
	return due_ns < deadline_ns ? due_ns : deadline_ns;
}

static void print_moments(const struct rank *rank, uint64_t acked_seq, uint32_t gpu, FILE *file)
{
	uint32_t nr_moments;
	const struct rank_moment *moments = rank_moments_since(rank, acked_seq, &nr_moments);

	fputs(", \"moments\": [", file);
	for (uint32_t i = 0; i < nr_moments; i++)
		fprintf(file, "%s[%" PRIu64 ", %" PRIu64 "]", i ? ", " : "",
			moments[i].gpus[gpu].count, moments[i].gpus[gpu].ns);
	fputs("]", file);
}

void node_print_truth(const struct node *node, FILE *file)
{
	const struct swarm_options *options = node->workload->options;

	for (uint32_t i = 0; i < options->nr_processes; i++)
		for (uint32_t gpu = 0; gpu < options->nr_gpus; gpu++) {
			const struct rank *rank = &node->ranks[i];

			fprintf(file,
				"{\"node\": \"node%04u\", \"rank\": %u, \"gpu\": %u, "
				"\"count\": %" PRIu64 ", \"ns\": %" PRIu64,
				node->index, rank->number, i * options->nr_gpus + gpu,
				rank->truth[gpu].count, rank->truth[gpu].ns);
			if (!node->publisher)
				print_moments(rank, node->acked_seq, gpu, file);
			fputs("}\n", file);
		}
}
