#include "aggregator.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ack_sender.h"
#include "clock_service.h"
#include "control_service.h"
#include "descriptor_limit.h"
#include "fetch_service.h"
#include "hello_service.h"
#include "job_table.h"
#include "listening.h"
#include "node_profiles.h"
#include "peer_rights.h"
#include "profile_set.h"
#include "proof_service.h"
#include "receiver.h"

#include "aggregator/profile/collection.h"
#include "aggregator/store/store.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "fleet/exporter.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/message_seq.h"
#include "proto/trust/user_keys.h"

#define IDLE_WAIT_MS 1000u
/* A turn is over after so many frames, or so long. Then agents are answered, which take a long silence for an end. */
#define FRAMES_A_TURN 256u
#define TURN_NS       50000000u
#define NS_PER_MS     1000000ull
/* An agent that says nothing for so long is silent. A node that keeps its profile loses nothing if it is taken for
 * silent too early. Its link speaks each second. */
#define SILENT_NS      5000000000u
#define LINK_SILENT_NS 1500000000u

struct aggregator {
	struct profile_set profiles;
	struct hello_service hellos;
	struct receiver *receiver;
	struct user_keys *users; /* owns; NULL: none */
	struct listening listening;
	struct worker_pool *workers;   /* owns */
	struct batch_decoder *decoder; /* owns; for frames that waited */
	int wake_fd;                   /* an eventfd: something other than a message has come */
	atomic_bool stop;
	struct fetch_service fetches;
	struct proof_service proofs;
	struct exporter *exporter; /* NULL: nothing is exported */
	uint64_t jobs_at_ns;       /* time of the next look at jobs */
	uint64_t began_ns;         /* time when aggregator_run() began; before, of its creation */

	pthread_mutex_t lock; /* guards status, which other threads read */
	struct aggregator_status status;
};

/* ---- status */

/* Agents of a continued store count as if they had just spoken, so that they have time to come again. */
static uint64_t spoke_since(const struct aggregator *aggregator, uint64_t silent_ns)
{
	uint64_t since_ns = clock_now_ns() - silent_ns;

	return since_ns > aggregator->began_ns ? since_ns : 0;
}

/* A profile that a worker has is seen as it was before. */
static const struct profile_seen *see(const struct aggregator *aggregator,
				      struct open_profile *profile)
{
	const uint64_t since_ns = spoke_since(aggregator, SILENT_NS);
	const uint64_t links_since_ns = spoke_since(aggregator, LINK_SILENT_NS);
	struct profile_seen *seen = &profile->seen;

	if (profile->away)
		return seen;
	seen->heard = profile_agents_heard(open_profile_agents(profile), since_ns, links_since_ns,
					   &seen->open);
	seen->ranks_ns = profile_agents_ranks_ns(open_profile_agents(profile));
	seen->links = profile->nodes ? node_profiles_links(profile->nodes) : 0;
	return seen;
}

static void publish_status(struct aggregator *aggregator)
{
	const struct receiver_counts *counts = receiver_counts(aggregator->receiver);
	struct profile_set *profiles = &aggregator->profiles;
	struct aggregator_status status = {
		.agents = aggregator->hellos.agents,
		.commits = profiles->commits,
		.commit_error = profiles->commit_error,
		.stored_launches = profiles->stored_launches,
		.stored_records = profiles->stored_records,
		.bad_frames = counts->bad_frames,
		.refused = counts->refused,
		.strangers = counts->strangers,
		.dropped = profiles->budget.dropped,
		.launches = profiles->launches,
		.records = profiles->records,
	};

	for (uint32_t i = 0; i < profile_set_count(profiles); i++) {
		const struct profile_seen *seen = see(aggregator, profile_set_at(profiles, i));

		status.agents += seen->links;
		status.agents_connected += seen->heard;
		status.agents_silent += seen->open - seen->heard;
		if (seen->ranks_ns > status.ranks_ns)
			status.ranks_ns = seen->ranks_ns;
	}
	pthread_mutex_lock(&aggregator->lock);
	aggregator->status = status;
	pthread_mutex_unlock(&aggregator->lock);
}

/* ---- life */

static int open_own(struct aggregator *aggregator, const struct aggregator_options *options,
		    char **error)
{
	const struct open_profile_options profile = {
		.store_path = options->store_path,
		.pages_path = options->jobs_path ? NULL : options->pages_path,
		.title = options->title,
		.nr_nodes = options->nr_nodes,
		.raw_samples = options->raw_samples,
		.totals_as_blocks = options->totals_as_blocks,
		.bytes_max = options->bytes_max,
		.timeline = options->timeline,
		.board = options->board,
		.compact = !options->totals_as_blocks, /* the job's profile gets what is in it */
		.receiver = aggregator->receiver,
	};
	struct open_profile *own = &aggregator->profiles.own;
	int status = open_profile_open(own, &profile, error);

	if (status)
		return error_text_set(error, status, "%s: %s", options->store_path,
				      strerror(-status));
	aggregator->hellos.agents = own->collection->nr_sessions;
	if (store_is_exclusive(own->store))
		log_info("%s is on a file system of several hosts: reports can read it when we "
			 "are done",
			 options->store_path);
	return 0;
}

static int open_jobs(struct aggregator *aggregator, const struct aggregator_options *options,
		     char **error)
{
	const struct job_table_options jobs = {
		.directory = options->jobs_path,
		.reports = options->reports_program,
		.wait_nodes_ms = options->wait_nodes_ms,
		.wait_silent_ms = options->wait_silent_ms,
		.stores_max = descriptor_limit_stores(descriptor_limit()),
		.keep = options->keep_jobs,
		.bytes_max = options->bytes_max,
		.board = options->board,
		.receiver = aggregator->receiver,
		.workers = aggregator->workers,
		.budget = &aggregator->profiles.budget,
	};
	char *why = NULL;
	int status = options->jobs_path ? job_table_create(&jobs, clock_now_ns(),
							   &aggregator->profiles.jobs, &why)
					: 0;

	if (status)
		error_text_set(error, status, "%s", why ? why : strerror(-status));
	free(why);
	if (!status)
		status = fetch_service_start(
			&aggregator->fetches, aggregator->receiver, options->jobs_path,
			aggregator->users != NULL || options->users_by_munge, aggregator->wake_fd);
	return status;
}

static int protect(struct aggregator *aggregator, const struct aggregator_options *options,
		   char **error)
{
	char *why = NULL;
	int status = 0;

	if (options->user_keys_path)
		status = user_keys_open(options->user_keys_path, &aggregator->users, &why);
	if (!status && options->keys)
		status = receiver_protect(aggregator->receiver, options->keys, aggregator->users,
					  options->users_by_munge);
	if (!status && options->keys && options->users_by_munge)
		status = proof_service_start(&aggregator->proofs, aggregator->receiver,
					     options->keys->server_public, aggregator->wake_fd,
					     &why);
	if (status)
		error_text_set(error, status, "the keys cannot be used: %s",
			       why ? why : strerror(-status));
	free(why);
	return status;
}

/* One profile gains nothing by threads: agents wait for its commits anyway. */
static int start_workers(struct aggregator *aggregator, const struct aggregator_options *options)
{
	struct profile_set *profiles = &aggregator->profiles;
	const uint32_t nr_workers =
		options->nr_workers ? options->nr_workers : worker_pool_threads();
	int status = worker_pool_start(options->jobs_path ? nr_workers : 0, aggregator->wake_fd,
				       &aggregator->workers);

	aggregator->decoder = batch_decoder_create();
	profiles->receiver = aggregator->receiver;
	profiles->workers = aggregator->workers;
	profiles->commit_interval_ms = options->commit_interval_ms;
	profiles->budget.max_bytes =
		options->frames_max ? options->frames_max : frame_budget_share();
	return status || aggregator->decoder ? status : -ENOMEM;
}

static int prepare(struct aggregator *aggregator, const struct aggregator_options *options,
		   char **error)
{
	const struct listening_options listening = {
		.endpoints = options->endpoints,
		.nr_endpoints = options->nr_endpoints,
		.has_keys = options->keys != NULL,
		.insecure = options->insecure,
	};
	int status = 0;

	aggregator->exporter = options->exporter;
	aggregator->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (aggregator->wake_fd < 0)
		status = -errno;
	if (!status)
		status = receiver_create(options->zmq_context, &aggregator->receiver);
	if (!status)
		status = start_workers(aggregator, options);
	if (status)
		return error_text_set(error, status, "cannot start the aggregator: %s",
				      strerror(-status));
	status = protect(aggregator, options, error);
	if (status)
		return status;
	aggregator->hellos.profiles = &aggregator->profiles;
	status = open_own(aggregator, options, error);
	if (!status)
		status = open_jobs(aggregator, options, error);
	if (!status)
		status = listening_bind(&aggregator->listening, aggregator->receiver, &listening,
					error);
	/* Agents of a store that was left open are awaited even before the loop's first turn. */
	aggregator->began_ns = clock_now_ns();
	if (!status)
		publish_status(aggregator);
	return status;
}

int aggregator_create(const struct aggregator_options *options, struct aggregator **aggregator,
		      char **error)
{
	if (error)
		*error = NULL;
	*aggregator = calloc(1, sizeof(**aggregator));
	if (!*aggregator)
		return -ENOMEM;

	(*aggregator)->wake_fd = -1;
	pthread_mutex_init(&(*aggregator)->lock, NULL);
	int status = prepare(*aggregator, options, error);
	if (status) {
		aggregator_destroy(*aggregator);
		*aggregator = NULL;
	}
	return status;
}

void aggregator_destroy(struct aggregator *aggregator)
{
	if (!aggregator)
		return;
	fetch_service_stop(&aggregator->fetches);
	proof_service_stop(&aggregator->proofs);
	worker_pool_stop(aggregator->workers);
	profile_set_fini(&aggregator->profiles);
	receiver_destroy(aggregator->receiver);
	batch_decoder_destroy(aggregator->decoder);
	user_keys_close(aggregator->users);
	listening_fini(&aggregator->listening);
	if (aggregator->wake_fd >= 0)
		close(aggregator->wake_fd);
	pthread_mutex_destroy(&aggregator->lock);
	free(aggregator);
}

const char *aggregator_endpoint(const struct aggregator *aggregator, uint32_t index)
{
	return index < aggregator->listening.nr_endpoints ? aggregator->listening.endpoints[index]
							  : NULL;
}

/* ---- messages */

/* *profile: the sender's own, or that of the job that it names. NULL: it was refused. */
static void find_controlled(struct aggregator *aggregator, const struct peer *peer,
			    const struct message_control *control, struct open_profile **profile)
{
	const char *reason = "this aggregator keeps no profiles of jobs";
	int status = 0;

	if (control->kind == CONTROL_ASK && control->job_key.size)
		status = aggregator->profiles.jobs
				 ? job_table_find(aggregator->profiles.jobs, &control->job_user,
						  &control->job_key, profile, &reason)
				 : REFUSE_UNDEFINED;
	if (!status)
		return;
	receiver_refuse(aggregator->receiver, peer, (enum refuse_code)status, reason);
	*profile = NULL;
}

static void deny(struct aggregator *aggregator, const struct peer *peer)
{
	char reason[PEER_USER_MAX + 64];

	snprintf(reason, sizeof(reason),
		 peer->proven ? "munge says that this is user %s, for that user's jobs alone"
			      : "these keys are user %s's, for that user's jobs alone",
		 peer->user);
	receiver_refuse(aggregator->receiver, peer, REFUSE_DENIED, reason);
}

/* Handles a message that is no data, for a profile that is here, and after all that came before. frame: as it waited;
 * NULL: it has just come. */
static int handle_here(struct aggregator *aggregator, struct open_profile *profile,
		       struct peer *peer, const struct message *message, struct held_frame *frame)
{
	int status = 0;

	if (message->type == MESSAGE_HELLO)
		status = hello_service_answer(&aggregator->hellos, peer, profile, &message->hello,
					      frame && frame->was_tried);
	else if (message->type == MESSAGE_CLOCK)
		status = clock_service_handle(&profile->clocks, peer, &message->clock,
					      peer->heard_ns, &profile->schedule.changed);
	else
		control_service_handle(&profile->control, peer, &message->control);
	commit_schedule_date(&profile->schedule, peer->heard_ns,
			     aggregator->profiles.commit_interval_ms);
	if (status != HELLO_SERVICE_COMMIT) {
		held_frame_release(frame);
		return status;
	}
	if (!frame)
		frame = receiver_hold(aggregator->receiver, peer);
	if (!frame)
		return -ENOMEM;
	profile_set_commit_first(&aggregator->profiles, profile, frame);
	return 0;
}

/* Returns whether the message is still the profile's. Its sender may have gone to another profile since; commands and
 * questions for an epoch do not depend on where their sender is. */
static bool is_still_for(struct aggregator *aggregator, const struct open_profile *profile,
			 const struct peer *peer, const struct message *message)
{
	return profile_set_of(&aggregator->profiles, peer) == profile ||
	       (message->type == MESSAGE_HELLO && message->hello.asks) ||
	       (message->type == MESSAGE_CONTROL && message->control.kind == CONTROL_ASK);
}

/* Handles a frame that is no data and has waited. */
static int handle_held(struct aggregator *aggregator, struct open_profile *profile,
		       struct held_frame *frame)
{
	struct peer *peer =
		peer_table_of(receiver_peers(aggregator->receiver), frame->sender, frame->serial);
	struct message message;
	int error = peer && !peer->refused
			    ? batch_decode(aggregator->decoder, frame->bytes, frame->size, &message)
			    : -ENOENT;

	if (!error && is_still_for(aggregator, profile, peer, &message))
		return handle_here(aggregator, profile, peer, &message, frame);
	held_frame_release(frame);
	return error == -ENOMEM ? error : 0;
}

/* Handles what waits for the profile, as far as it is here. */
static int go_on(struct aggregator *aggregator, struct open_profile *profile)
{
	struct profile_set *profiles = &aggregator->profiles;
	int status = 0;

	while (!status && !profile->away && profile->frames.first &&
	       !profile->frames.first->has_data)
		status = handle_held(aggregator, profile,
				     frame_queue_pop(&profile->frames, &profiles->budget));
	profile_set_give_frames(profiles, profile);
	return status;
}

static int go_on_all(struct aggregator *aggregator)
{
	struct profile_set *profiles = &aggregator->profiles;
	int status = 0;

	do {
		profile_set_step(profiles);
		for (uint32_t i = 0; i < profile_set_count(profiles) && !status; i++)
			status = go_on(aggregator, profile_set_at(profiles, i));
	} while (!status && worker_pool_has_done(aggregator->workers));
	return status ? status : profiles->error;
}

/* *profile: where a message that is no data belongs; NULL: it was handled. */
static int find_profile(struct aggregator *aggregator, struct peer *peer,
			const struct message *message, struct open_profile **profile)
{
	*profile = profile_set_of(&aggregator->profiles, peer);
	switch (message->type) {
	case MESSAGE_HELLO:
		return hello_service_find(&aggregator->hellos, peer, &message->hello, profile);
	case MESSAGE_CONTROL:
		find_controlled(aggregator, peer, &message->control, profile);
		return 0;
	case MESSAGE_CLOCK:
		if (message->clock.kind != CLOCK_ASK)
			return 0;
		clock_service_answer(aggregator->receiver, peer, &message->clock, peer->heard_ns);
		break;
	case MESSAGE_PING:
		ack_sender_pong(aggregator->receiver, peer, &message->ping);
		break;
	case MESSAGE_FETCH:
		fetch_service_handle(&aggregator->fetches, peer, &message->fetch);
		break;
	case MESSAGE_PROOF:
		proof_service_handle(&aggregator->proofs, peer, &message->proof);
		break;
	default:
		receiver_count_bad(aggregator->receiver, peer, "a message that agents do not send");
	}
	*profile = NULL;
	return 0;
}

static int handle(struct aggregator *aggregator, struct peer *peer, const struct message *message)
{
	struct open_profile *profile = profile_set_of(&aggregator->profiles, peer);
	enum peer_right right = peer_rights_look(peer, message);
	int status = 0;

	peer->heard_ns = clock_now_ns();
	if (right == PEER_RIGHT_DENIED)
		deny(aggregator, peer);
	if (right != PEER_RIGHT_SAY)
		return 0;
	if (message_seq_has(message->type) && peer->profile)
		return profile_set_take(&aggregator->profiles, profile, peer);
	if (message_seq_has(message->type)) {
		receiver_refuse(aggregator->receiver, peer, REFUSE_NO_HELLO, "say HELLO first");
		return 0;
	}
	status = find_profile(aggregator, peer, message, &profile);
	if (status || !profile)
		return status;
	if (profile->away || profile->frames.first)
		return profile_set_take(&aggregator->profiles, profile, peer);
	status = handle_here(aggregator, profile, peer, message, NULL);
	return !status && profile->frames.first ? go_on_all(aggregator) : status;
}

/* ---- the loop */

static int wait_ms(struct aggregator *aggregator, uint64_t time_ns)
{
	uint64_t until_ns = time_ns + IDLE_WAIT_MS * NS_PER_MS;

	if (aggregator->profiles.jobs && aggregator->jobs_at_ns < until_ns)
		until_ns = aggregator->jobs_at_ns;
	until_ns = profile_set_until(&aggregator->profiles, until_ns);
	return until_ns <= time_ns ? 0 : (int)((until_ns - time_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* Takes a limited number of messages, and does the work on connections that follows. 0 or -errno. */
static int take_messages(struct aggregator *aggregator)
{
	const struct message *message;
	struct peer *peer;
	uint64_t now_ns = clock_now_ns();
	const uint64_t until_ns = now_ns + TURN_NS;
	bool is_drained = false;
	int status = 0;

	for (uint32_t i = 0; i < FRAMES_A_TURN && now_ns < until_ns; i++) {
		status = receiver_next(aggregator->receiver, &peer, &message);
		is_drained = status == 0;
		if (status <= 0)
			break;
		if ((status = handle(aggregator, peer, message)) != 0)
			break;
		now_ns = peer->heard_ns;
	}
	receiver_tidy(aggregator->receiver, clock_now_ns(), is_drained);
	return status < 0 ? status : 0;
}

static bool stopping(struct aggregator *aggregator)
{
	uint64_t count;

	if (read(aggregator->wake_fd, &count, sizeof(count)) < 0)
		assert(errno == EAGAIN);
	return atomic_exchange(&aggregator->stop, false);
}

/* Handles what has come, and stores everything at the end of the loop, which ended with this error. Returns it, or that
 * of storing. Lack of memory within a message leaves inexact data, which must not be stored. */
static int store_all(struct aggregator *aggregator, int error)
{
	while (!error && (error = go_on_all(aggregator)) == 0 &&
	       worker_pool_wait(aggregator->workers))
		;
	while (worker_pool_wait(aggregator->workers))
		;
	int last = profile_set_end(&aggregator->profiles, !error || error == -ESTALE);
	if (!error && !last)
		last = profile_set_look(&aggregator->profiles, clock_now_ns(), true);
	/* A goodbye that was saved after the last turn of the loop still waits for its answer. */
	ack_sender_all(aggregator->receiver);
	return error ? error : last;
}

int aggregator_run(struct aggregator *aggregator)
{
	struct profile_set *profiles = &aggregator->profiles;
	int error = 0;

	aggregator->began_ns = clock_now_ns();
	profile_set_publish(profiles, aggregator->began_ns);
	store_sync(profiles->own.store); /* while nothing waits; a commit tries again */
	while (!error && !stopping(aggregator)) {
		exporter_step(aggregator->exporter, clock_now_ns());
		raw_budget_look(&aggregator->hellos.budget, clock_now_ns(), clock_thread_ns());
		error = receiver_wait(aggregator->receiver, aggregator->wake_fd,
				      wait_ms(aggregator, clock_now_ns()));
		if (!error)
			error = take_messages(aggregator);
		if (!error)
			error = go_on_all(aggregator);
		profile_set_give_due(profiles, clock_now_ns());
		profile_set_open_jobs(profiles);
		if (!error)
			error = go_on_all(aggregator);
		if (!error)
			error = profile_set_look(profiles, clock_now_ns(), false);
		if (!error)
			ack_sender_all(aggregator->receiver);
		fetch_service_step(&aggregator->fetches);
		proof_service_step(&aggregator->proofs, clock_now_ns());
		if (!error && profiles->jobs)
			aggregator->jobs_at_ns = job_table_step(profiles->jobs, clock_now_ns());
		connection_notices_step(&aggregator->hellos.notices,
					receiver_counts(aggregator->receiver), clock_now_ns());
		publish_status(aggregator);
		profile_set_publish(profiles, clock_now_ns());
	}
	error = store_all(aggregator, error);
	publish_status(aggregator);
	return error;
}

/* A signal handler may call this function, so it takes no lock. */
void aggregator_stop(struct aggregator *aggregator)
{
	uint64_t one = 1;

	atomic_store(&aggregator->stop, true);
	if (write(aggregator->wake_fd, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN); /* the counter is full, so the loop is awake already */
}

void aggregator_status(struct aggregator *aggregator, struct aggregator_status *status)
{
	pthread_mutex_lock(&aggregator->lock);
	*status = aggregator->status;
	pthread_mutex_unlock(&aggregator->lock);
}
