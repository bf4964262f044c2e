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
#include "open_profile.h"
#include "peer_rights.h"
#include "profile_set.h"
#include "proof_service.h"
#include "receiver.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/message_log.h"
#include "aggregator/profile/roster.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/store/store.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "proto/batch/message_seq.h"
#include "proto/trust/user_keys.h"

#define IDLE_WAIT_MS 1000u
/* A turn is over after so many frames, or so long. Then agents are answered, which take a long silence for an end. */
#define FRAMES_A_TURN 256u
#define TURN_NS       50000000u
#define REFUSALS_SAID 10u /* limit of lines on stderr; all refusals are counted */
#define NS_PER_MS     1000000ull
/* An agent that says nothing for so long is silent. A node that keeps its profile loses nothing if it is taken for
 * silent too early. Its link speaks each second. */
#define SILENT_NS      5000000000u
#define LINK_SILENT_NS 2000000000u

struct aggregator {
	struct profile_set profiles;
	struct hello_service hellos;
	struct receiver *receiver;
	struct user_keys *users; /* owns; NULL: none */
	struct listening listening;
	uint32_t commit_interval_ms;
	int wake_fd; /* an eventfd: something other than a message has come */
	atomic_bool stop;
	struct fetch_service fetches;
	struct proof_service proofs;
	uint64_t jobs_at_ns; /* time of the next look at jobs */
	uint64_t launches, records;
	uint64_t refused_messages;
	uint64_t began_ns; /* time when aggregator_run() began; before, of its creation */

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

static void publish_status(struct aggregator *aggregator)
{
	const struct receiver_counts *counts = receiver_counts(aggregator->receiver);
	uint64_t agents = aggregator->hellos.agents, connected = 0, silent = 0;
	const uint64_t since_ns = spoke_since(aggregator, SILENT_NS);
	const uint64_t links_since_ns = spoke_since(aggregator, LINK_SILENT_NS);

	for (uint32_t i = 0; i < profile_set_count(&aggregator->profiles); i++) {
		const struct open_profile *profile = profile_set_at(&aggregator->profiles, i);
		uint64_t open, heard = profile_agents_heard(open_profile_agents(profile), since_ns,
							    links_since_ns, &open);

		agents += profile->nodes ? node_profiles_links(profile->nodes) : 0;
		connected += heard;
		silent += open - heard;
	}
	pthread_mutex_lock(&aggregator->lock);
	aggregator->status.agents = agents;
	aggregator->status.agents_connected = connected;
	aggregator->status.agents_silent = silent;
	aggregator->status.commits = aggregator->profiles.commits;
	aggregator->status.bad_frames = counts->bad_frames;
	aggregator->status.refused = counts->refused;
	aggregator->status.strangers = counts->strangers;
	aggregator->status.launches = aggregator->launches;
	aggregator->status.records = aggregator->records;
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
		.receiver = aggregator->receiver,
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

	aggregator->commit_interval_ms = options->commit_interval_ms;
	aggregator->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (aggregator->wake_fd < 0)
		status = -errno;
	if (!status)
		status = receiver_create(options->zmq_context, &aggregator->receiver);
	if (status)
		return error_text_set(error, status, "cannot start the aggregator: %s",
				      strerror(-status));
	status = protect(aggregator, options, error);
	if (status)
		return status;
	aggregator->profiles.receiver = aggregator->receiver;
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
	receiver_destroy(aggregator->receiver);
	user_keys_close(aggregator->users);
	profile_set_fini(&aggregator->profiles);
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

static void handle_gap(struct aggregator *aggregator, struct peer *peer, uint64_t seq)
{
	char reason[96];

	if (peer->gap_reported)
		return;
	snprintf(reason, sizeof(reason), "%llu came, %llu is next", (unsigned long long)seq,
		 (unsigned long long)peer->session->received_seq + 1);
	log_debug("messages of an agent are missing: %s", reason);
	ack_sender_one(aggregator->receiver, peer);
	if (receiver_refuse(aggregator->receiver, peer, REFUSE_SEQUENCE, reason) == 0)
		peer->gap_reported = true;
}

static void refuse_message(struct aggregator *aggregator, const struct peer *peer, uint64_t seq,
			   enum refuse_code code, const char *reason)
{
	if (aggregator->refused_messages++ < REFUSALS_SAID)
		log_warning("an agent's message %llu was refused: %s", (unsigned long long)seq,
			    reason);
	receiver_refuse(aggregator->receiver, peer, code, reason);
}

/* 0; -ENOMEM; an enum refuse_code, after the refusal. */
static int apply_link(struct aggregator *aggregator, struct peer *peer,
		      const struct message *message, const char **reason)
{
	const struct agent_session *superseded;
	const struct open_profile *profile = profile_set_of(&aggregator->profiles, peer);

	if (message->type == MESSAGE_PAGES && profile != &aggregator->profiles.own &&
	    !job_table_has_room(aggregator->profiles.jobs, profile, message->pages.nr_bytes)) {
		*reason = "no memory is left for profiles that nodes fold";
		return REFUSE_LIMIT;
	}
	int status = node_profiles_apply(profile->nodes, peer->session, message, peer->heard_ns,
					 reason, &superseded);

	if (superseded)
		hello_service_end_epoch(aggregator->receiver, superseded);
	return status;
}

/* As apply_link(), for an agent's message. */
static int apply_agent(struct aggregator *aggregator, struct peer *peer,
		       const struct message *message, const char **reason)
{
	struct agent_session *session = peer->session;
	struct open_profile *profile = profile_set_of(&aggregator->profiles, peer);
	int status = session_apply(session, profile->collection, message, reason);

	if (status)
		return status;
	size_t size;
	const void *frame = receiver_frame(aggregator->receiver, &size);
	/* Else a disk that is full for long would fill our memory: only a whole commit can follow. */
	if (commit_schedule_takes_messages(&profile->schedule) &&
	    message_log_add(profile->collection->messages, session, frame, size))
		return -ENOMEM;
	profile->schedule.changed = true;
	commit_schedule_note(&profile->schedule, session->received_seq - session->durable_seq);
	if (message->type == MESSAGE_BYE)
		profile->schedule.hurry = true;
	/* Once the end of a process is acknowledged, readers see all of it. */
	if (message->type == MESSAGE_PROCESS && message->process.state != PROCESS_RUNNING)
		profile->schedule.whole = true;
	if (message->type == MESSAGE_EVENTS) {
		aggregator->launches += message->events.nr_launches;
		aggregator->records += message->events.nr_gpu;
	}
	return 0;
}

static int handle_sequenced(struct aggregator *aggregator, struct peer *peer,
			    const struct message *message)
{
	struct agent_session *session = peer->session;
	uint64_t seq = message_seq_get(message);
	const char *reason;

	if (!session) {
		receiver_refuse(aggregator->receiver, peer, REFUSE_NO_HELLO, "say HELLO first");
		return 0;
	}
	if (seq <= session->received_seq) {
		peer->ack_due = true;
		return 0;
	}
	if (seq > session->received_seq + 1) {
		handle_gap(aggregator, peer, seq);
		return 0;
	}
	session->spoke_ns = clock_realtime_ns();
	int status = session->folds ? apply_link(aggregator, peer, message, &reason)
				    : apply_agent(aggregator, peer, message, &reason);
	if (status < 0)
		return status;
	if (status > 0)
		refuse_message(aggregator, peer, seq, (enum refuse_code)status, reason);
	else
		peer->gap_reported = false;
	return 0;
}

/* Answers a ping. Its sender may have missed messages, so they are sent again. */
static void handle_ping(struct aggregator *aggregator, struct peer *peer,
			const struct message_ping *ping)
{
	struct message pong = {.type = MESSAGE_PONG, .ping = *ping};

	receiver_send(aggregator->receiver, peer, &pong);
	peer->gap_reported = false;
	peer->ack_due = peer->session != NULL;
}

/* Its sender may name a job other than its own. */
static void handle_control(struct aggregator *aggregator, struct peer *peer,
			   const struct message_control *control)
{
	struct open_profile *profile = profile_set_of(&aggregator->profiles, peer);
	const char *reason = "this aggregator keeps no profiles of jobs";
	int status = 0;

	if (control->kind == CONTROL_ASK && control->job_key.size)
		status = aggregator->profiles.jobs
				 ? job_table_find(aggregator->profiles.jobs, &control->job_user,
						  &control->job_key, &profile, &reason)
				 : REFUSE_UNDEFINED;
	if (status)
		receiver_refuse(aggregator->receiver, peer, (enum refuse_code)status, reason);
	else
		control_service_handle(&profile->control, peer, control);
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

static int handle(struct aggregator *aggregator, struct peer *peer, const struct message *message)
{
	struct open_profile *profile = profile_set_of(&aggregator->profiles, peer);
	enum peer_right right = peer_rights_look(peer, message);

	peer->heard_ns = clock_now_ns();
	if (right == PEER_RIGHT_DENIED)
		deny(aggregator, peer);
	if (right != PEER_RIGHT_SAY)
		return 0;
	if (peer->session && !peer->session->ended)
		peer->session->heard_ns = peer->heard_ns;
	switch (message->type) {
	case MESSAGE_HELLO:
		return hello_service_handle(&aggregator->hellos, peer, &message->hello);
	case MESSAGE_PING:
		handle_ping(aggregator, peer, &message->ping);
		return 0;
	case MESSAGE_CLOCK:
		return clock_service_handle(&profile->clocks, peer, &message->clock, peer->heard_ns,
					    &profile->schedule.changed);
	case MESSAGE_CONTROL:
		handle_control(aggregator, peer, &message->control);
		return 0;
	case MESSAGE_FETCH:
		fetch_service_handle(&aggregator->fetches, peer, &message->fetch);
		return 0;
	case MESSAGE_PROOF:
		proof_service_handle(&aggregator->proofs, peer, &message->proof);
		return 0;
	case MESSAGE_STRINGS:
	case MESSAGE_STACKS:
	case MESSAGE_EVENTS:
	case MESSAGE_LEDGER:
	case MESSAGE_PROCESS:
	case MESSAGE_BYE:
	case MESSAGE_STATISTICS:
	case MESSAGE_STREAM:
	case MESSAGE_SAMPLES:
	case MESSAGE_COLLECTIVES:
	case MESSAGE_PLACEMENT:
	case MESSAGE_PAGES:
		return handle_sequenced(aggregator, peer, message);
	default:
		receiver_count_bad(aggregator->receiver, peer, "a message that agents do not send");
		return 0;
	}
}

/* ---- the loop */

static int wait_ms(struct aggregator *aggregator, uint64_t time_ns)
{
	uint64_t until_ns = time_ns + IDLE_WAIT_MS * NS_PER_MS;

	if (aggregator->profiles.jobs && aggregator->jobs_at_ns < until_ns)
		until_ns = aggregator->jobs_at_ns;
	for (uint32_t i = 0; i < profile_set_count(&aggregator->profiles); i++) {
		const struct open_profile *profile = profile_set_at(&aggregator->profiles, i);

		until_ns = commit_schedule_until(&profile->schedule, until_ns);
		if (profile->nodes)
			until_ns = node_profiles_until(profile->nodes, until_ns);
	}
	return until_ns <= time_ns ? 0 : (int)((until_ns - time_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* Takes a limited number of messages, and does the work on connections that follows. 0 or -errno. */
static int take_messages(struct aggregator *aggregator)
{
	const struct receiver_counts *counts = receiver_counts(aggregator->receiver);
	const struct message *message;
	struct peer *peer;
	uint64_t now_ns = clock_now_ns();
	const uint64_t until_ns = now_ns + TURN_NS;
	bool is_drained = false;
	int status = 0;

	for (uint32_t i = 0; i < FRAMES_A_TURN && now_ns < until_ns; i++) {
		uint64_t bytes = counts->bytes;

		status = receiver_next(aggregator->receiver, &peer, &message);
		is_drained = status == 0;
		if (status <= 0)
			break;
		status = handle(aggregator, peer, message);
		if (status)
			break;
		struct open_profile *profile = profile_set_of(&aggregator->profiles, peer);
		if (!peer->session || !peer->session->folds) /* else the store has none of it */
			profile->schedule.bytes += counts->bytes - bytes;
		commit_schedule_date(&profile->schedule, peer->heard_ns,
				     aggregator->commit_interval_ms);
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

/* Stores everything at the end of the loop, which ended with this error. Returns it, or that of storing. */
static int store_all(struct aggregator *aggregator, int error)
{
	struct profile_set *profiles = &aggregator->profiles;
	int last = 0;

	/* Lack of memory within a message leaves inexact data, which must not be stored. */
	if (!error || error == -ESTALE)
		last = profile_set_commit_all(profiles, clock_now_ns());
	if (!error && !last)
		last = profile_set_look(profiles, clock_now_ns(), true);
	int saved = profile_set_save_nodes(profiles);
	last = last ? last : saved;
	/* A goodbye that was saved after the last turn of the loop still waits for its answer. */
	ack_sender_all(aggregator->receiver);
	return error ? error : last;
}

int aggregator_run(struct aggregator *aggregator)
{
	struct profile_set *profiles = &aggregator->profiles;
	int error = 0;

	aggregator->began_ns = clock_now_ns();
	while (!error && !stopping(aggregator)) {
		error = receiver_wait(aggregator->receiver, aggregator->wake_fd,
				      wait_ms(aggregator, clock_now_ns()));
		if (!error)
			error = take_messages(aggregator);
		if (!error && profile_set_commit_due(profiles, clock_now_ns()) == -ENOMEM)
			error = -ENOMEM;
		if (!error)
			error = profile_set_look(profiles, clock_now_ns(), false);
		profile_set_save_nodes_due(profiles, clock_now_ns());
		if (!error)
			ack_sender_all(aggregator->receiver);
		fetch_service_step(&aggregator->fetches);
		proof_service_step(&aggregator->proofs, clock_now_ns());
		if (!error && profiles->jobs)
			aggregator->jobs_at_ns = job_table_step(profiles->jobs, clock_now_ns());
		connection_notices_step(&aggregator->hellos.notices,
					receiver_counts(aggregator->receiver), clock_now_ns());
		publish_status(aggregator);
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
