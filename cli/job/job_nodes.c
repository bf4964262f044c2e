#include "job_nodes.h"

#include <poll.h>

#include "leftovers.h"
#include "node_block.h"

#include "aggregator/service/aggregator.h"
#include "base/clock.h"

#define JOIN_MS   5000  /* limit for nodes that are missing at rank 0's end */
#define LEFT_MS   2500  /* the same where nodes keep profiles of their own */
#define SILENT_MS 20000 /* limit for nodes that were cut off, and may take over: job_standby.h */
#define LOOK_MS   100   /* from one look at the files of other blocks to the next */
#define BLOCKS_NS 60000000000u

bool job_nodes_have_blocks(const struct job_nodes *nodes)
{
	return nodes->folds_on_nodes && node_block_is_one_of_several(nodes->step, nodes->fan_in);
}

static int32_t nr_expected(const struct job_nodes *nodes)
{
	return job_nodes_have_blocks(nodes) ? node_block_size(nodes->step, nodes->fan_in)
					    : nodes->step->nr_nodes;
}

static int count_block(void *context, const char *path, const struct rendezvous *rendezvous)
{
	uint32_t *count = context;

	(void)path;
	(void)rendezvous;
	++*count;
	return 0;
}

void job_nodes_look(const struct job_nodes *nodes)
{
	uint32_t count = 0;

	if (!job_nodes_have_blocks(nodes))
		return;
	node_block_visit(nodes->output_path, nodes->step->key, nodes->first, count_block, &count);
	if (count > *nodes->seen)
		*nodes->seen = count;
}

/* Returns whether no node of another block can be on its way to the job's aggregator. */
static bool have_all_blocks(const struct job_nodes *nodes, uint64_t nr_agents)
{
	const uint32_t nr_nodes = (uint32_t)nodes->step->nr_nodes;

	return nodes->step->block || !job_nodes_have_blocks(nodes) ||
	       nodes->step->nr_nodes == JOB_STEP_UNKNOWN || nr_agents >= nr_nodes ||
	       *nodes->seen >= (nr_nodes - 1) / nodes->fan_in;
}

static int look_at_block(void *context, const char *path, const struct rendezvous *rendezvous)
{
	(void)context;
	(void)rendezvous;
	return leftovers_rendezvous_lives(path);
}

void job_nodes_await_blocks(const struct job_nodes *nodes)
{
	const uint64_t until_ns = clock_now_ns() + BLOCKS_NS;

	while (job_nodes_have_blocks(nodes) && clock_now_ns() < until_ns &&
	       node_block_visit(nodes->output_path, nodes->step->key, nodes->first, look_at_block,
				NULL))
		poll(NULL, 0, LOOK_MS);
}

/* Returns whether a node that is silent may go on with this aggregator's store. A node that was cut off notices that
 * after six seconds, and its turn may come some seconds later. */
static bool may_take_over(const struct job_nodes *nodes)
{
	return !nodes->folds_on_nodes && *nodes->step->key && nodes->step->nr_nodes != 1;
}

bool job_nodes_are_complete(const struct job_nodes *nodes, uint64_t since_ms)
{
	/* A node that keeps a profile gives up after two seconds, and leaves it here as a file. */
	const uint64_t join_ms = nodes->folds_on_nodes ? LEFT_MS : JOIN_MS;
	const int32_t nr_nodes = nr_expected(nodes);
	struct aggregator_status status;

	aggregator_status(nodes->aggregator, &status);
	if (status.agents_connected)
		return false;
	if (status.agents_silent && may_take_over(nodes) && since_ms < SILENT_MS)
		return false;
	if (nr_nodes == JOB_STEP_UNKNOWN ? status.agents == 0 : status.agents < (uint64_t)nr_nodes)
		return since_ms >= join_ms;
	return have_all_blocks(nodes, status.agents) || since_ms >= join_ms;
}

void job_nodes_count(const struct job_nodes *nodes, struct keeper_lives *lives)
{
	const int32_t nr_nodes = nodes->step->nr_nodes;
	struct aggregator_status status;

	aggregator_status(nodes->aggregator, &status);
	*lives = (struct keeper_lives){.word = KEEPER_WORD_LIVES,
				       .took_over = nodes->has_taken_over,
				       .nr_agents = status.agents,
				       .nr_silent = status.agents_connected + status.agents_silent,
				       .ran_ns = status.ranks_ns};
	/* With several aggregators the reports of the whole profile alone know who is missing. */
	if (nr_nodes == JOB_STEP_UNKNOWN || job_nodes_have_blocks(nodes))
		return;
	lives->nr_nodes = (uint32_t)nr_nodes;
	if (status.agents < lives->nr_nodes)
		lives->nr_absent = lives->nr_nodes - (uint32_t)status.agents;
}
