#include "node_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile_part.h"

#include "aggregator/service/aggregator.h"
#include "aggregator/store/database.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/base/output_dir.h"
#include "node-agent/agent_hello.h"
#include "node-agent/job_order.h"
#include "proto/trust/trusted_dir.h"
#include "timeline/log/event_place.h"

struct node_profile {
	char directory[PATH_MAX];                         /* "": none */
	char store_path[PATH_MAX + sizeof(OUTPUT_STORE)]; /* in it */
	struct agent_hello hello;
	void *zmq_context; /* borrowed */
	struct aggregator *aggregator;
	struct profile_link *link;
	pthread_mutex_t lock;
	struct agent *agent; /* borrowed; NULL: it has ended; guarded by the lock */
	pthread_t aggregator_thread, link_thread;
	bool aggregator_runs, link_runs;
	bool keeps_timeline; /* it is not beside the job's yet */
	bool has_said_why;
	int aggregator_result, link_result;
};

/* ---- the directory */

static int make_directory(struct node_profile *profile, const char *parent)
{
	int r = trusted_dir_check_parent(parent);

	if (r)
		return r;
	if (snprintf(profile->directory, sizeof(profile->directory),
		     "%s/" NODE_PROFILE_PREFIX "XXXXXX", parent) >= (int)sizeof(profile->directory))
		r = -ENAMETOOLONG;
	else if (!mkdtemp(profile->directory)) /* with mode 0700 and a new name */
		r = -errno;
	if (r)
		profile->directory[0] = '\0';
	else
		snprintf(profile->store_path, sizeof(profile->store_path), "%s/" OUTPUT_STORE,
			 profile->directory);
	return r;
}

static int find_directory(struct node_profile *profile, const char *spool)
{
	const char *const parents[] = {spool ? spool : getenv("TMPDIR"), spool ? NULL : "/tmp"};
	const char *last = "/tmp";
	int r = -ENOENT;

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents) && r; i++) {
		if (!parents[i] || !*parents[i])
			continue;
		last = parents[i];
		r = make_directory(profile, last);
	}
	if (r)
		log_warning("%s: no place for a profile of this node: %s", last, strerror(-r));
	return r;
}

static void remove_directory(struct node_profile *profile)
{
	static const char *const ends[] = {"", "-wal", "-shm"};

	if (!*profile->directory)
		return;
	/* SQLite leaves its own files if the link reads while the store is closed. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		char path[sizeof(profile->store_path) + 8];

		snprintf(path, sizeof(path), "%s%s", profile->store_path, ends[i]);
		unlink(path);
	}
	char folder[PATH_MAX];
	if (event_place_beside(profile->store_path, folder) == 0)
		event_place_remove(AT_FDCWD, folder);
	if (rmdir(profile->directory))
		log_warning("%s: %s", profile->directory, strerror(errno));
}

/* ---- the parts */

static void obey(void *context, const struct message_control *order,
		 const struct clock_exchange_estimate *estimate, struct message_control *taken)
{
	struct node_profile *profile = context;
	struct record_ring_command command;
	struct agent_status status = {.processes_running = 0};

	job_order_take(order, estimate, clock_realtime_offset_ns(), clock_now_ns(), &command,
		       taken);
	pthread_mutex_lock(&profile->lock);
	if (profile->agent) {
		agent_status(profile->agent, &status);
		agent_command(profile->agent, &command);
	}
	pthread_mutex_unlock(&profile->lock);
	taken->nr_processes = (uint32_t)status.processes_running;
}

static void note_behind(void *context, uint64_t count, uint64_t most_ns)
{
	struct node_profile *profile = context;

	pthread_mutex_lock(&profile->lock);
	if (profile->agent)
		agent_link_behind(profile->agent, count, most_ns);
	pthread_mutex_unlock(&profile->lock);
}

static int create_aggregator(struct node_profile *profile,
			     const struct node_profile_options *options)
{
	static const char *const endpoint = NODE_PROFILE_ENDPOINT;
	const struct aggregator_options aggregator = {
		.endpoints = &endpoint,
		.nr_endpoints = 1,
		.zmq_context = profile->zmq_context,
		.store_path = profile->store_path,
		.title = options->title,
		.raw_samples = options->raw_samples,
		.bytes_max = options->bytes_max,
		.timeline = options->timeline,
		.nr_nodes = options->nr_nodes > 0 ? -options->nr_nodes : 0,
		.totals_as_blocks = true, /* all nodes' are merged */
	};
	char *error = NULL;
	int r = aggregator_create(&aggregator, &profile->aggregator, &error);

	if (r)
		log_warning("%s", error ? error : strerror(-r));
	free(error);
	return r;
}

static int create_link(struct node_profile *profile, const struct node_profile_options *options)
{
	int r = agent_hello_init(&profile->hello, options->node_name);

	if (options->job)
		profile->hello.hello.job = *options->job;
	const struct profile_link_options link = {
		.store_path = profile->store_path,
		.hello = profile->hello.hello,
		.obey = obey,
		.behind = note_behind,
		.context = profile,
	};

	if (r == 0)
		r = profile_link_create(&link, &profile->link);
	if (r)
		log_warning("the link of this node's profile: %s", strerror(-r));
	return r;
}

int node_profile_create(const struct node_profile_options *options, void *zmq_context,
			struct node_profile **profile)
{
	struct node_profile *made = calloc(1, sizeof(*made));

	*profile = NULL;
	if (!made)
		return -ENOMEM;
	made->keeps_timeline = options->timeline.keeps;
	pthread_mutex_init(&made->lock, NULL);
	made->zmq_context = zmq_context;
	int r = find_directory(made, options->spool);
	if (r == 0)
		r = create_aggregator(made, options);
	if (r == 0)
		r = create_link(made, options);
	if (r)
		node_profile_finish(made, NULL, false, &(struct end_budget){0});
	else
		*profile = made;
	return r;
}

static void *run_aggregator(void *argument)
{
	struct node_profile *profile = argument;

	pthread_setname_np(pthread_self(), "aggregator");
	profile->aggregator_result = aggregator_run(profile->aggregator);
	return NULL;
}

static void *run_link(void *argument)
{
	struct node_profile *profile = argument;

	pthread_setname_np(pthread_self(), "link");
	profile->link_result = profile_link_run(profile->link);
	return NULL;
}

int node_profile_start(struct node_profile *profile, struct agent *agent)
{
	profile->agent = agent;
	int r = -pthread_create(&profile->aggregator_thread, NULL, run_aggregator, profile);
	profile->aggregator_runs = r == 0;
	if (r == 0) {
		r = -pthread_create(&profile->link_thread, NULL, run_link, profile);
		profile->link_runs = r == 0;
	}
	if (r)
		log_warning("the threads of this node's profile: %s", strerror(-r));
	return r;
}

void node_profile_agent_ended(struct node_profile *profile)
{
	if (!profile)
		return;
	pthread_mutex_lock(&profile->lock);
	profile->agent = NULL;
	pthread_mutex_unlock(&profile->lock);
}

int node_profile_connect(struct node_profile *profile, const char *endpoint,
			 const struct key_set *keys)
{
	return profile_link_connect(profile->link, endpoint, keys);
}

void node_profile_ranks_ended(struct node_profile *profile, uint64_t ended_ns)
{
	profile_link_ranks_ended(profile->link, ended_ns);
}

bool node_profile_place(struct node_profile *profile, char place[static PROFILE_LINK_PLACE_MAX])
{
	return profile_link_place(profile->link, place);
}

uint64_t node_profile_lost_ns(const struct node_profile *profile)
{
	return profile_link_lost_ns(profile->link);
}

static uint64_t rest_of(uint64_t all, uint64_t stored)
{
	return all > stored ? all - stored : 0;
}

bool node_profile_say_unstored(const struct node_profile *profile,
			       const struct agent_status *status)
{
	const struct message_text *node = &profile->hello.hello.node;
	struct aggregator_status own;

	aggregator_status(profile->aggregator, &own);
	if (!own.commit_error)
		return false;
	log_warning(
		"the profile of node %.*s could not be written to the end (%s%s): at least %" PRIu64
		" launches and %" PRIu64 " GPU records of this node are not in it, unless "
		"there is room within moments. What came before is in %s, and goes to the job's",
		(int)node->size, node->data, strerror(-own.commit_error),
		own.commit_error == -ENOSPC ? ": a full disk, or --max-size" : "",
		rest_of(status->launches, own.stored_launches),
		rest_of(status->records, own.stored_records), profile->directory);
	return true;
}

/* ---- the end */

static void end_aggregator(struct node_profile *profile)
{
	if (profile->aggregator_runs) {
		aggregator_stop(profile->aggregator);
		pthread_join(profile->aggregator_thread, NULL);
		if (profile->aggregator_result)
			log_warning("%s: the profile of this node is incomplete: %s",
				    profile->store_path, strerror(-profile->aggregator_result));
	}
	aggregator_destroy(profile->aggregator);
	profile->aggregator = NULL;
	profile->aggregator_runs = false;
}

void node_profile_rest(struct node_profile *profile, uint32_t seconds)
{
	const struct message_text *node = &profile->hello.hello.node;

	end_aggregator(profile);
	log_warning(
		"no aggregator of the job has been seen, as if rank 0 had not started: the "
		"profile of node %.*s is in %s. It goes to the job's if that comes within %u s; "
		"else flamegrid merge adds it",
		(int)node->size, node->data, profile->directory, seconds);
}

static int end_link(struct node_profile *profile, bool is_complete, uint32_t give_up_ms)
{
	if (profile->link_runs) {
		profile_link_finish(profile->link, is_complete, give_up_ms);
		pthread_join(profile->link_thread, NULL);
	}
	profile_link_destroy(profile->link);
	return profile->link_result;
}

/* Brings what a log still has into the store: its writer could not, if the link read just then. 0 or -errno. */
static int end_log(const char *store_path)
{
	struct database *database;
	int r = database_open(store_path, false, &database, NULL);

	if (r == 0)
		r = database_execute(database, "PRAGMA journal_mode = DELETE");
	database_close(database);
	return r;
}

/* why: an errno of profile_link_run(). */
static const char *reason(int why)
{
	return why == ENOTCONN ? "none has been seen" : strerror(why);
}

/* Puts the profile into the job's, because the aggregator did not take all of it: `why` is an errno. Returns whether it
 * is there. */
static bool add_to_job(const struct node_profile *profile, const char *job_directory, int why)
{
	const struct message_text *node = &profile->hello.hello.node;
	char part[PATH_MAX];

	if (access(profile->store_path, F_OK) && errno == ENOENT) {
		log_warning("the profile of node %.*s was deleted while it was written (%s): the "
			    "job's has what had come to it before",
			    (int)node->size, node->data, profile->directory);
		return false;
	}
	int r = job_directory ? end_log(profile->store_path) : -ENOTCONN;

	if (r == 0 || r == -ENOSPC)
		r = profile_part_add(profile->store_path, job_directory, part);

	if (r == 0)
		log_notice("the job's aggregator did not take all of the profile of node %.*s "
			   "(%s): it is %s now. flamegrid report has it, but reports that were "
			   "written before may not",
			   (int)node->size, node->data, reason(why), part);
	else
		log_warning("the job's aggregator does not have all of the profile of node %.*s "
			    "(%s): it stays there in %s, and flamegrid merge adds it%s%s",
			    (int)node->size, node->data, reason(why), profile->directory,
			    job_directory ? "; beside the job's it could not be written: " : "",
			    job_directory ? strerror(-r) : "");
	return r == 0;
}

/* Returns the directory, or NULL: it may be another job's. */
static const char *if_ours(const struct node_profile *profile, const char *job_directory,
			   bool is_marked)
{
	return job_directory && (is_marked ||
				 profile_part_is_known(profile->store_path, job_directory))
		       ? job_directory
		       : NULL;
}

void node_profile_add_timeline(struct node_profile *profile, const char *job_directory,
			       bool is_marked)
{
	const struct message_text *node = &profile->hello.hello.node;
	uint64_t nr_events;

	end_aggregator(profile);
	if (access(profile->store_path, F_OK))
		profile->keeps_timeline = false; /* it was deleted, as is said later */
	job_directory = if_ours(profile, job_directory, is_marked);
	if (!profile->keeps_timeline || !job_directory)
		return;
	int r = profile_part_add_timeline(profile->store_path, job_directory, &nr_events);
	if (r)
		log_warning("the timeline of node %.*s, %" PRIu64 " events, could not be written "
			    "beside the job's (%s): it stays there in %s, and flamegrid merge adds "
			    "it",
			    (int)node->size, node->data, nr_events, strerror(-r),
			    profile->directory);
	profile->keeps_timeline = profile->has_said_why = r != 0;
}

void node_profile_finish(struct node_profile *profile, const char *job_directory, bool is_marked,
			 const struct end_budget *budget)
{
	if (!profile)
		return;
	const bool has_run = profile->link_runs;

	end_aggregator(profile);
	const uint32_t left_ms = end_budget_left_ms(budget, clock_now_ns());
	const bool is_complete = profile->aggregator_result == 0;
	int r = end_link(profile, is_complete, left_ms);

	if (r == 0 && !is_complete)
		r = profile->aggregator_result; /* so the directory is not removed */
	pthread_mutex_destroy(&profile->lock);
	if (r)
		job_directory = if_ours(profile, job_directory, is_marked);
	const bool has_sent = r == 0 || !has_run || add_to_job(profile, job_directory, -r);
	if (has_sent && (!has_run || !profile->keeps_timeline))
		remove_directory(profile);
	else if (has_sent && !profile->has_said_why)
		log_warning("the timeline of this node stays in %s, because the directory of the "
			    "job's profile was not found: flamegrid merge adds it",
			    profile->directory);
	free(profile);
}
