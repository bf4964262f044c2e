#include "node_aggregator.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_block.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/output_dir.h"

#define CONNECT_MS 300u        /* of the end's time, the most until another aggregator answers */
#define LOST_NS    1000000000u /* from the loss of the aggregator to the look for another */
#define BLOCK_NS   200000000u  /* from one look for the first aggregator of a block to the next */
#define NS_PER_MS  1000000u

int node_aggregator_init(struct node_aggregator *aggregator,
			 const struct job_keeper_options *options, bool has_profile)
{
	aggregator->output_path = options->output_path;
	aggregator->step = *options->step;
	aggregator->standby.keeper.fd = -1;
	int r = rendezvous_search_init(&aggregator->job, options->output_path, options->step);

	/* Only a step with a key has files of its own for its blocks. */
	if (r == 0 && has_profile && options->folds_on_nodes && *options->step->key)
		aggregator->step.block = node_block_of(options->step, options->fan_in);
	if (aggregator->step.block)
		r = rendezvous_search_init(&aggregator->block, options->output_path,
					   &aggregator->step);
	if (r)
		log_warning("the aggregator's place: %s", strerror(-r));
	return r;
}

void node_aggregator_stand_by(struct node_aggregator *aggregator,
			      const struct job_keeper_options *options)
{
	struct job_keeper_options own = *options;

	if (!*options->step->key || (options->step->nr_nodes == 1 && !options->folds_on_nodes))
		return;
	aggregator->agent_follows = !options->folds_on_nodes;
	own.step = &aggregator->step;
	int r = job_standby_start(&aggregator->standby, &own);
	if (r)
		log_warning("this node cannot start an aggregator if the job's is lost: %s",
			    strerror(-r));
}

void node_aggregator_begin(struct node_aggregator *aggregator, struct node_way *way)
{
	aggregator->way = way;
	if (!way->profile)
		aggregator->step.block = 0;
}

/* ---- what is known */

/* Returns the search that names this node's aggregator. */
static struct rendezvous_search *own_search(struct node_aggregator *aggregator)
{
	return aggregator->step.block ? &aggregator->block : &aggregator->job;
}

/* Returns since when this node has no aggregator although it has looked for one. 0: it has one. */
static uint64_t lost_ns(const struct node_aggregator *aggregator)
{
	if (aggregator->block_since_ns)
		return aggregator->block_since_ns;
	return aggregator->way->profile ? node_profile_lost_ns(aggregator->way->profile)
					: aggregator->agent_lost_ns;
}

/* Looks whether the agent has its connection. */
static void look_at_agent(struct node_aggregator *aggregator)
{
	struct agent_status status;

	if (!aggregator->agent_follows || aggregator->way->profile)
		return;
	agent_status(aggregator->way->agent, &status);
	if (status.connected)
		aggregator->agent_lost_ns = 0;
	else if (!aggregator->agent_lost_ns)
		aggregator->agent_lost_ns = clock_now_ns();
}

/* A killed aggregator is started again on its node within a second. since_ns: of lost_ns(). */
static bool is_lost(const struct node_aggregator *aggregator, uint64_t since_ns, uint64_t now_ns)
{
	return since_ns && (aggregator->block_since_ns || now_ns >= since_ns + LOST_NS);
}

const char *node_aggregator_directory(const struct node_aggregator *aggregator,
				      char path[static PATH_MAX], bool *is_marked)
{
	int r = aggregator->job.found
			? rendezvous_search_directory(aggregator->output_path,
						      &aggregator->job.rendezvous, path)
			: -ENAMETOOLONG;

	*is_marked = r == 0;
	return r == -ENAMETOOLONG ? NULL : path;
}

/* ---- taking one */

static void take(struct node_aggregator *aggregator, const char *endpoint,
		 const struct key_set *keys)
{
	aggregator->block_since_ns = 0;
	if (node_way_connect(aggregator->way, endpoint, keys))
		log_warning("the aggregator's endpoint: %s", strerror(ENOMEM));
}

static void take_job(struct node_aggregator *aggregator, uint32_t connect_ms)
{
	const struct rendezvous *job = &aggregator->job.rendezvous;
	const struct key_set *keys;
	const char *endpoint;

	aggregator->step.block = 0;
	if (!rendezvous_search_again(&aggregator->job, connect_ms, &endpoint, &keys)) {
		const int found = rendezvous_search_reachable(job, connect_ms);

		endpoint = job->endpoints[found < 0 ? 0 : found];
		keys = &job->keys;
	}
	take(aggregator, endpoint, keys);
}

/* Looks for the block's aggregator from now on. It names the same first one as the job's. */
static void begin_block(struct node_aggregator *aggregator)
{
	aggregator->block.rendezvous = aggregator->job.rendezvous;
	aggregator->block_since_ns = clock_now_ns();
}

/* Takes the job's aggregator if the block's file cannot be what nodes meet by. Returns whether it did. */
static bool avoid_obstacle(struct node_aggregator *aggregator, uint32_t connect_ms)
{
	char *obstacle =
		aggregator->step.block ? rendezvous_search_obstacle(&aggregator->block) : NULL;

	if (!obstacle)
		return false;
	log_warning(
		"%s: so the nodes of this block cannot meet there, and this node sends its "
		"profile to the job's aggregator: remove it, or choose another place (--output)",
		obstacle);
	free(obstacle);
	take_job(aggregator, connect_ms);
	return true;
}

/* Takes another aggregator in place of the lost one. If there is none, this node may start it. */
static void find_next(struct node_aggregator *aggregator)
{
	const uint64_t now_ns = clock_now_ns();
	struct rendezvous_search *search = own_search(aggregator);
	const bool is_block = search == &aggregator->block;
	/* Another thread may find the aggregator again meanwhile. */
	const uint64_t since_ns = lost_ns(aggregator);
	const struct key_set *keys;
	const char *endpoint;

	if (!is_lost(aggregator, since_ns, now_ns) || now_ns < aggregator->look_ns)
		return;
	aggregator->look_ns = now_ns + (aggregator->block_since_ns ? BLOCK_NS : LOST_NS);
	if (rendezvous_search_again(search, RENDEZVOUS_CONNECT_MS, &endpoint, &keys)) {
		take(aggregator, endpoint, keys);
	} else if (avoid_obstacle(aggregator, CONNECT_MS)) {
		return;
	} else if (is_block && now_ns - since_ns > NODE_AGGREGATOR_BLOCK_NS) {
		log_warning("no aggregator of this node's block can be reached: the node sends its "
			    "profile to the job's");
		take_job(aggregator, CONNECT_MS);
	} else if (is_block || !*aggregator->block.path) {
		job_standby_ask(&aggregator->standby, &search->rendezvous);
	}
}

void node_aggregator_look(struct node_aggregator *aggregator)
{
	const char *endpoint;
	const struct key_set *keys;

	if (aggregator->job.found) {
		look_at_agent(aggregator);
		find_next(aggregator);
	} else if (rendezvous_search_step(&aggregator->job, &endpoint, &keys) != 1)
		return;
	else if (aggregator->step.block)
		begin_block(aggregator);
	else
		take(aggregator, endpoint, keys);
}

int node_aggregator_wait_ms(const struct node_aggregator *aggregator)
{
	const int search_ms = rendezvous_search_wait_ms(&aggregator->job);

	if (search_ms >= 0 || (!aggregator->way->profile && !aggregator->agent_follows))
		return search_ms;
	return (int)((aggregator->block_since_ns ? BLOCK_NS : LOST_NS) / NS_PER_MS);
}

/* Looks for the job's aggregator once more: a step may be shorter than the search. */
static void await_job(struct node_aggregator *aggregator, uint64_t until_ns)
{
	while (!aggregator->job.found && clock_now_ns() < until_ns) {
		node_aggregator_look(aggregator);
		if (!aggregator->job.found)
			poll(NULL, 0, rendezvous_search_wait_ms(&aggregator->job));
	}
}

/* Steps without a key share their file, so that of another step may come. */
bool node_aggregator_may_come(const struct node_aggregator *aggregator)
{
	if (aggregator->job.found || !*aggregator->step.key)
		return false;
	char *obstacle = rendezvous_search_obstacle(&aggregator->job);
	free(obstacle);
	return !obstacle;
}

bool node_aggregator_await_first(struct node_aggregator *aggregator)
{
	await_job(aggregator, clock_now_ns() + NODE_AGGREGATOR_LATE_MS * (uint64_t)NS_PER_MS);
	return aggregator->job.found;
}

static bool has_unstored(const struct node_aggregator *aggregator)
{
	struct agent_status status;

	agent_status(aggregator->way->agent, &status);
	return !status.connected || status.acked_seq < status.sent_seq;
}

static bool may_follow(const struct node_aggregator *aggregator)
{
	return aggregator->agent_follows && !aggregator->way->profile && aggregator->job.found;
}

bool node_aggregator_take_successor(struct node_aggregator *aggregator)
{
	const struct key_set *keys;
	const char *endpoint;

	if (!may_follow(aggregator) ||
	    (!has_unstored(aggregator) && !node_aggregator_is_lost(aggregator)) ||
	    !rendezvous_search_again(&aggregator->job, CONNECT_MS, &endpoint, &keys))
		return false;
	take(aggregator, endpoint, keys);
	return true;
}

/* An aggregator that has ended has removed its mark. */
bool node_aggregator_is_lost(const struct node_aggregator *aggregator)
{
	const struct rendezvous *job = &aggregator->job.rendezvous;
	char directory[PATH_MAX], mark[PATH_MAX];

	if (!may_follow(aggregator) ||
	    rendezvous_search_directory(aggregator->output_path, job, directory) ||
	    snprintf(mark, sizeof(mark), "%s/" OUTPUT_MARK, directory) >= (int)sizeof(mark))
		return false;
	/* One that is about to end has removed its rendezvous already. */
	return rendezvous_search_is_lost(mark, job, CONNECT_MS);
}

void node_aggregator_await_next(struct node_aggregator *aggregator)
{
	const uint64_t until_ns = clock_now_ns() + NODE_AGGREGATOR_NEXT_MS * (uint64_t)NS_PER_MS;

	while ((has_unstored(aggregator) || node_aggregator_is_lost(aggregator)) &&
	       clock_now_ns() < until_ns) {
		node_aggregator_look(aggregator);
		poll(NULL, 0, BLOCK_NS / NS_PER_MS);
	}
}

uint32_t node_aggregator_follow(struct node_aggregator *aggregator, uint64_t since_ns)
{
	const struct end_budget budget = {since_ns, END_BUDGET_SEND_MS - CONNECT_MS};
	const char *endpoint;
	const struct key_set *keys;

	if (aggregator->way->profile)
		await_job(aggregator,
			  since_ns + (budget.limit_ms - END_BUDGET_ROUND_MS) * (uint64_t)NS_PER_MS);
	if (!aggregator->way->profile || !aggregator->job.found)
		return 0;
	const uint64_t now_ns = clock_now_ns();
	/* A third of the time to connect is for each of the three that may be asked. */
	const uint32_t connect_ms = aggregator->step.block ? CONNECT_MS / 3 : CONNECT_MS;
	const uint64_t lost_since_ns = lost_ns(aggregator);
	job_standby_await(&aggregator->standby,
			  end_budget_left_ms(&budget, now_ns) - END_BUDGET_ROUND_MS);
	if (rendezvous_search_again(own_search(aggregator), connect_ms, &endpoint, &keys))
		take(aggregator, endpoint, keys);
	else if (!is_lost(aggregator, lost_since_ns, now_ns))
		return END_BUDGET_SEND_MS;
	else if (avoid_obstacle(aggregator, connect_ms))
		return END_BUDGET_SEND_MS;
	else if (aggregator->step.block)
		take_job(aggregator, connect_ms);
	else
		return 0; /* there is none */
	return END_BUDGET_SEND_MS;
}

void node_aggregator_add_timeline(struct node_aggregator *aggregator, struct end_budget *budget)
{
	const uint64_t began_ns = clock_now_ns();
	char directory[PATH_MAX];
	bool is_marked;

	if (!aggregator->way->profile)
		return;
	const char *found = node_aggregator_directory(aggregator, directory, &is_marked);
	node_profile_add_timeline(aggregator->way->profile, found, is_marked);
	const uint64_t now_ns = clock_now_ns();
	if (now_ns < began_ns + END_BUDGET_MS * (uint64_t)NS_PER_MS)
		return;
	budget->since_ns = now_ns;
	budget->limit_ms = node_aggregator_follow(aggregator, now_ns);
}
