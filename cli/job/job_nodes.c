#include "job_nodes.h"

#include <poll.h>

#include "leftovers.h"
#include "node_block.h"

#include "aggregator/service/aggregator.h"
#include "base/clock.h"
#include "base/log.h"

#define JOIN_MS   5000 /* limit for nodes that are missing at rank 0's end */
#define LEFT_MS   2500 /* the same where nodes keep profiles of their own */
#define LOOK_MS   100  /* from one look at the files of other blocks to the next */
#define BLOCKS_NS 60000000000u

bool job_nodes_have_blocks(const struct job_nodes *nodes)
{
	return nodes->folds_on_nodes &&
	       node_block_size(nodes->step, nodes->fan_in) != nodes->step->nr_nodes;
}

static int32_t nr_expected(const struct job_nodes *nodes)
{
	return job_nodes_have_blocks(nodes) ? node_block_size(nodes->step, nodes->fan_in)
					    : nodes->step->nr_nodes;
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

bool job_nodes_are_complete(const struct job_nodes *nodes, uint64_t since_ms)
{
	/* A node that keeps a profile gives up after two seconds, and leaves it here as a file. */
	const uint64_t join_ms = nodes->folds_on_nodes ? LEFT_MS : JOIN_MS;
	const int32_t nr_nodes = nr_expected(nodes);
	struct aggregator_status status;

	aggregator_status(nodes->aggregator, &status);
	if (status.agents_connected)
		return false;
	if (nr_nodes == JOB_STEP_UNKNOWN ? status.agents == 0 : status.agents < (uint64_t)nr_nodes)
		return since_ms >= join_ms;
	return true;
}

static void say_missing_nodes(const struct job_nodes *nodes, uint64_t nr_agents, int32_t nr_nodes)
{
	if (nr_nodes != JOB_STEP_UNKNOWN && nr_agents < (uint64_t)nr_nodes && nodes->has_taken_over)
		log_warning("%llu of %d nodes did not come to this aggregator, which took over: "
			    "what they recorded is in the profile as far as they sent it before",
			    (unsigned long long)nr_nodes - nr_agents, (int)nr_nodes);
	else if (nr_nodes != JOB_STEP_UNKNOWN && nr_agents < (uint64_t)nr_nodes)
		log_warning("%llu of %d nodes did not join: their GPU work is not in the profile",
			    (unsigned long long)nr_nodes - nr_agents, (int)nr_nodes);
	else if (nr_agents == 0)
		log_warning("no node has joined");
}

void job_nodes_say_missing(const struct job_nodes *nodes)
{
	struct aggregator_status status;

	aggregator_status(nodes->aggregator, &status);
	/* With several aggregators the reports of the whole profile alone know who is missing. */
	if (!job_nodes_have_blocks(nodes))
		say_missing_nodes(nodes, status.agents, nodes->step->nr_nodes);
	const uint64_t silent = status.agents_connected + status.agents_silent;
	if (silent)
		log_warning("%llu node%s did not say goodbye: the end of their work may be missing",
			    (unsigned long long)silent, silent == 1 ? "" : "s");
	if (status.strangers)
		log_warning("%llu connections without this job's keys were turned away",
			    (unsigned long long)status.strangers);
}
