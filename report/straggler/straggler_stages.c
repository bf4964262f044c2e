#include "straggler_stages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_folds.h"
#include "aggregator/profile/roster.h"
#include "report/profile/profile.h"

#define NEIGHBOURS 2u /* of a rank in a pipeline, at most */

/* A rank of a communicator. */
struct end {
	uint64_t key;
	uint32_t rank, process;
};

/* A send or receive. */
struct exchange {
	uint64_t key;     /* of the communicator */
	uint64_t carrier; /* the kernel that does its work */
	uint32_t process, peer;
	bool is_receive;
};

/* A process in the graph of sends and receives. */
struct node {
	uint32_t near[NEIGHBOURS];
	uint32_t degree; /* NEIGHBOURS + 1: too many */
	uint32_t newest; /* the newest process of its rank */
	bool wrong;      /* it is of no pipeline */
	bool seen;
};

struct search {
	const struct roster *roster;
	const struct collective_folds *folds;
	struct end *ends; /* own, all */
	struct exchange *exchanges;
	struct node *nodes; /* by process */
	uint32_t *path;     /* processes, in their order */
	uint32_t nr_ends, nr_exchanges, nr_nodes;
	struct straggler_stages *stages;
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* ---- ends and ranks */

static int by_end(const void *a, const void *b)
{
	const struct end *x = a, *y = b;
	int order = compare(x->key, y->key);

	if (!order)
		order = compare(x->rank, y->rank);
	return order ? order : compare(x->process, y->process);
}

static int list_ends(struct search *search)
{
	uint32_t count;
	const struct collective_log_communicator *communicators =
		collective_log_communicators(search->folds->log, &count);

	search->ends = calloc(count + 1ul, sizeof(*search->ends));
	if (!search->ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct communicator *communicator = &communicators[i].communicator;

		if (communicator->key && communicator->rank != COLLECTIVE_NOT_KNOWN &&
		    communicators[i].process && communicators[i].process < search->nr_nodes)
			search->ends[search->nr_ends++] = (struct end){
				communicator->key, communicator->rank, communicators[i].process};
	}
	qsort(search->ends, search->nr_ends, sizeof(*search->ends), by_end);
	return 0;
}

struct rank {
	uint32_t job, process;
	int32_t rank;
};

static int by_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	int order = compare(x->job, y->job);

	if (!order)
		order = (x->rank > y->rank) - (x->rank < y->rank);
	return order ? order : compare(x->process, y->process);
}

/* A rank that was started again is in the graph by its newest process alone. */
static int find_newest(struct search *search)
{
	struct rank *ranks = calloc(search->nr_ends + 1ul, sizeof(*ranks));

	if (!ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < search->nr_ends; i++) {
		const uint32_t id = search->ends[i].process;
		const struct roster_process *process = roster_process(search->roster, id);

		ranks[i] = (struct rank){process->job, id, process->rank};
	}
	qsort(ranks, search->nr_ends, sizeof(*ranks), by_rank);
	for (uint32_t i = search->nr_ends; i-- > 0;) {
		const struct rank *next = &ranks[i + 1];
		const bool same = i + 1 < search->nr_ends && ranks[i].rank >= 0 &&
				  ranks[i].job == next->job && ranks[i].rank == next->rank;

		search->nodes[ranks[i].process].newest =
			same ? search->nodes[next->process].newest : ranks[i].process;
	}
	free(ranks);
	return 0;
}

static bool is_newest(const struct search *search, uint32_t process)
{
	return search->nodes[process].newest == process;
}

/* ---- sends and receives */

/* Returns the newest process of a rank; 0: none. */
static uint32_t find_peer(const struct search *search, uint64_t key, uint32_t rank)
{
	uint32_t low = 0, process = 0;

	for (uint32_t high = search->nr_ends; low < high;) {
		const uint32_t middle = low + (high - low) / 2;
		const struct end *end = &search->ends[middle];

		if (end->key < key || (end->key == key && end->rank < rank))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < search->nr_ends && search->ends[low].key == key &&
	       search->ends[low].rank == rank;
	     low++)
		if (is_newest(search, search->ends[low].process))
			process = search->ends[low].process;
	return process;
}

/* The calls of a kernel or of a group are one; others are alone. */
static uint64_t carrier_of(const struct collective *call, uint32_t index)
{
	if (call->correlation_id)
		return call->correlation_id;
	return call->group ? 1ull << 62 | call->group : 1ull << 63 | index;
}

static void add_exchange(struct search *search, const struct collective_log_call *from,
			 uint32_t index)
{
	const struct collective *call = &from->call;

	if ((call->function != COLLECTIVE_SEND && call->function != COLLECTIVE_RECV) ||
	    !call->sequence || from->process >= search->nr_nodes ||
	    !is_newest(search, from->process))
		return;
	const struct communicator *communicator =
		collective_folds_end(search->folds, from->process, call->communicator_id);
	uint32_t peer = communicator && communicator->key
				? find_peer(search, communicator->key, call->peer)
				: 0;
	if (!peer || peer == from->process)
		return;
	search->exchanges[search->nr_exchanges++] = (struct exchange){
		.key = communicator->key,
		.carrier = carrier_of(call, index),
		.process = from->process,
		.peer = peer,
		.is_receive = call->function == COLLECTIVE_RECV,
	};
}

static int by_carrier(const void *a, const void *b)
{
	const struct exchange *x = a, *y = b;
	int order = compare(x->key, y->key);

	if (!order)
		order = compare(x->process, y->process);
	return order ? order : compare(x->carrier, y->carrier);
}

static int list_exchanges(struct search *search)
{
	uint32_t count;
	const struct collective_log_call *calls = collective_log_calls(search->folds->log, &count);

	search->exchanges = calloc(count + 1ul, sizeof(*search->exchanges));
	if (!search->exchanges)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		add_exchange(search, &calls[i], i);
	qsort(search->exchanges, search->nr_exchanges, sizeof(*search->exchanges), by_carrier);
	return 0;
}

/* Returns whether some kernels of a communicator, which has these exchanges, only send, and some only receive. */
static bool is_pipeline(const struct exchange *exchanges, uint32_t count)
{
	bool sends = false, receives = false;

	for (uint32_t i = 0, end; i < count; i = end) {
		uint32_t nr_receives = 0;

		for (end = i; end < count && !by_carrier(&exchanges[i], &exchanges[end]); end++)
			nr_receives += exchanges[end].is_receive;
		sends |= nr_receives == 0;
		receives |= nr_receives == end - i;
	}
	return sends && receives;
}

/* ---- the graph */

static void add_neighbour(struct node *node, uint32_t process)
{
	for (uint32_t i = 0; i < node->degree && i < NEIGHBOURS; i++)
		if (node->near[i] == process)
			return;
	if (node->degree < NEIGHBOURS)
		node->near[node->degree] = process;
	if (node->degree <= NEIGHBOURS)
		node->degree++;
}

static void connect(struct search *search)
{
	const struct exchange *exchanges = search->exchanges;

	for (uint32_t i = 0, end; i < search->nr_exchanges; i = end) {
		for (end = i; end < search->nr_exchanges && exchanges[end].key == exchanges[i].key;
		     end++)
			;
		if (!is_pipeline(&exchanges[i], end - i))
			continue;
		for (uint32_t j = i; j < end; j++) {
			add_neighbour(&search->nodes[exchanges[j].process], exchanges[j].peer);
			add_neighbour(&search->nodes[exchanges[j].peer], exchanges[j].process);
		}
	}
}

/* Ranks of the job come before processes without one. */
static bool is_before(const struct search *search, uint32_t a, uint32_t b)
{
	int64_t x = roster_process(search->roster, a)->rank;
	int64_t y = roster_process(search->roster, b)->rank;

	x = x < 0 ? INT64_MAX : x;
	y = y < 0 ? INT64_MAX : y;
	return x != y ? x < y : a < b;
}

/* A process with too many neighbours makes all wrong that are connected with it. */
static void spread_wrong(struct search *search)
{
	bool changed = true;

	for (uint32_t i = 0; i < search->nr_nodes; i++)
		search->nodes[i].wrong = search->nodes[i].degree > NEIGHBOURS;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < search->nr_nodes; i++) {
			struct node *node = &search->nodes[i];

			for (uint32_t j = 0; j < node->degree && !node->wrong; j++)
				changed |= node->wrong = search->nodes[node->near[j]].wrong;
		}
	}
}

/* Follows the neighbours from a process on, which is an end or the first one of a circle. Returns the number of
 * processes in the path. */
static uint32_t follow(struct search *search, uint32_t first)
{
	struct node *nodes = search->nodes;
	uint32_t count = 0;

	for (uint32_t at = first; at;) {
		struct node *node = &nodes[at];
		uint32_t next = 0;

		node->seen = true;
		search->path[count++] = at;
		for (uint32_t i = 0; i < node->degree; i++)
			if (!nodes[node->near[i]].seen &&
			    (!next || is_before(search, node->near[i], next)))
				next = node->near[i];
		at = next;
	}
	return count;
}

/* Pipelines are numbered in the order in which they come. Those that are shorter than others are left out. */
static void add_pipeline(struct search *search, uint32_t count)
{
	struct straggler_stages *stages = search->stages;

	if (count < stages->nr_stages)
		return;
	if (count > stages->nr_stages)
		stages->nr_ranks = stages->nr_pipelines = 0;
	stages->nr_stages = count;
	for (uint32_t i = 0; i < count; i++)
		stages->ranks[stages->nr_ranks++] =
			(struct straggler_stage_rank){search->path[i], stages->nr_pipelines, i};
	stages->nr_pipelines++;
}

static int by_stage(const void *a, const void *b)
{
	const struct straggler_stage_rank *x = a, *y = b;
	int order = compare(x->stage, y->stage);

	return order ? order : compare(x->pipeline, y->pipeline);
}

/* Finds the first process that is not seen yet, among the ends of paths or, with circles, among all. 0: none. */
static uint32_t find_first(const struct search *search, bool circles)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < search->nr_nodes; i++) {
		const struct node *node = &search->nodes[i];

		if (!node->seen && !node->wrong && node->degree && (circles || node->degree == 1) &&
		    (!first || is_before(search, i, first)))
			first = i;
	}
	return first;
}

static int find_pipelines(struct search *search)
{
	uint32_t first;

	search->path = calloc(search->nr_nodes, sizeof(*search->path));
	search->stages->ranks = calloc(search->nr_nodes, sizeof(*search->stages->ranks));
	if (!search->path || !search->stages->ranks)
		return -ENOMEM;
	spread_wrong(search);
	while ((first = find_first(search, false)) || (first = find_first(search, true)))
		add_pipeline(search, follow(search, first));
	qsort(search->stages->ranks, search->stages->nr_ranks, sizeof(*search->stages->ranks),
	      by_stage);
	return 0;
}

int straggler_stages_find(const struct profile *profile, const struct collective_folds *folds,
			  struct straggler_stages *stages)
{
	struct search search = {
		.roster = profile->collection->roster, .folds = folds, .stages = stages};

	*stages = (struct straggler_stages){0};
	search.nr_nodes = roster_size(search.roster).processes + 1;
	search.nodes = calloc(search.nr_nodes, sizeof(*search.nodes));
	int error = search.nodes ? list_ends(&search) : -ENOMEM;
	if (!error)
		error = find_newest(&search);
	if (!error)
		error = list_exchanges(&search);
	if (!error && search.nr_exchanges) {
		connect(&search);
		error = find_pipelines(&search);
	}
	free(search.ends);
	free(search.exchanges);
	free(search.nodes);
	free(search.path);
	return error;
}

void straggler_stages_fini(struct straggler_stages *stages)
{
	free(stages->ranks);
	*stages = (struct straggler_stages){0};
}
