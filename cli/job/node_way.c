#include "node_way.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/run/profiling.h"

#define LOOK_MS   20  /* from one look at an open way to the next */
#define RARELY_MS 500 /* the same after NODE_WAY_OPEN_NS, for a site's aggregator that is away */
#define SETTLE_NS 1000000000u /* the most that an agent takes to say its way */
#define NS_PER_MS 1000000u

static void start_zmq(struct node_way *way, const struct capability_set *rights)
{
	way->zmq_context = zmq_ctx_new();
	const int r = way->zmq_context ? profiling_start_zmq(way->zmq_context, rights) : -ENOMEM;

	if (r == 0)
		return;
	log_warning("no ZeroMQ for a profile of this node: %s", strerror(-r));
	if (way->zmq_context)
		zmq_ctx_term(way->zmq_context);
	way->zmq_context = NULL;
}

static struct node_profile *make_profile(const struct node_way *way)
{
	struct node_profile *profile = NULL;

	if (!way->zmq_context || node_profile_create(way->options, way->zmq_context, &profile))
		log_warning("this node keeps no profile, and sends its events");
	return profile;
}

void node_way_init(struct node_way *way, const struct node_profile_options *options, bool asks,
		   bool is_sites, const struct capability_set *rights, struct agent_options *agent)
{
	*way = (struct node_way){
		.options = options, .is_sites = is_sites, .begin_ns = clock_now_ns()};
	pthread_mutex_init(&way->lock, NULL);
	if (!options)
		return;
	start_zmq(way, rights);
	agent->zmq_context = way->zmq_context;
	way->is_open = agent->offers = asks && way->zmq_context;
	if (asks)
		return;
	way->profile = make_profile(way);
	agent->endpoint = way->profile ? NODE_PROFILE_ENDPOINT : NULL;
}

int node_way_begin(struct node_way *way, struct agent *agent)
{
	way->agent = agent;
	return way->profile ? node_profile_start(way->profile, agent) : 0;
}

/* With the lock. */
static int give(struct node_way *way)
{
	const struct key_set *keys = way->has_keys ? &way->keys : NULL;

	way->is_owed = false;
	return way->profile ? node_profile_connect(way->profile, way->endpoint, keys)
			    : agent_connect(way->agent, way->endpoint, keys);
}

int node_way_connect(struct node_way *way, const char *endpoint, const struct key_set *keys)
{
	char *copy = strdup(endpoint);
	int r = 0;

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&way->lock);
	free(way->endpoint);
	way->endpoint = copy;
	way->has_keys = keys != NULL;
	if (keys)
		way->keys = *keys;
	way->is_owed = way->is_deciding;
	if (!way->is_owed)
		r = give(way);
	pthread_mutex_unlock(&way->lock);
	return r;
}

void node_way_fold(struct node_way *way)
{
	if (!way->is_open || way->is_sites)
		return;
	pthread_mutex_lock(&way->lock);
	way->is_deciding = true;
	pthread_mutex_unlock(&way->lock);
	agent_fold(way->agent);
}

/* With the lock. Without a profile the agent sends its events in the end. */
static void begin_profile(struct node_way *way)
{
	const struct end_budget none = {0};
	struct node_profile *profile = make_profile(way);

	if (profile && (node_profile_start(profile, way->agent) ||
			agent_connect(way->agent, NODE_PROFILE_ENDPOINT, NULL))) {
		node_profile_finish(profile, NULL, false, &none);
		profile = NULL;
	}
	way->profile = profile;
	way->is_owed = way->endpoint != NULL;
}

static bool is_late(const struct node_way *way)
{
	return clock_now_ns() >= way->begin_ns + NODE_WAY_OPEN_NS;
}

void node_way_look(struct node_way *way)
{
	struct agent_status status;

	if (!way->is_open)
		return;
	if (is_late(way))
		node_way_fold(way);
	agent_status(way->agent, &status);
	if (status.way == EVENT_WAY_ASKS)
		return;
	pthread_mutex_lock(&way->lock);
	way->is_open = way->is_deciding = false;
	if (status.way == EVENT_WAY_FOLDS)
		begin_profile(way);
	if (way->is_owed && give(way))
		log_warning("the aggregator's endpoint: %s", strerror(ENOMEM));
	pthread_mutex_unlock(&way->lock);
}

int node_way_wait_ms(const struct node_way *way)
{
	if (!way->is_open)
		return -1;
	return is_late(way) ? RARELY_MS : LOOK_MS;
}

void node_way_settle(struct node_way *way, uint64_t since_ns)
{
	const uint64_t end_ns = since_ns + (uint64_t)NODE_WAY_END_MS * NS_PER_MS;
	struct agent_status status;

	for (node_way_look(way); way->is_open; node_way_look(way)) {
		const uint64_t now_ns = clock_now_ns();

		agent_status(way->agent, &status);
		if (now_ns >= end_ns + SETTLE_NS || status.key_refusals)
			return;
		if (now_ns >= end_ns)
			node_way_fold(way);
		poll(NULL, 0, LOOK_MS);
	}
}

void node_way_agent_ended(struct node_way *way)
{
	node_profile_agent_ended(way->profile);
}

void node_way_finish(struct node_way *way, const char *job_directory, bool is_marked,
		     const struct end_budget *budget)
{
	node_profile_finish(way->profile, job_directory, is_marked, budget);
	way->profile = NULL;
	if (way->zmq_context)
		zmq_ctx_term(way->zmq_context);
	pthread_mutex_destroy(&way->lock);
	free(way->endpoint);
}
