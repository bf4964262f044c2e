#include "aggregator.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ack_sender.h"
#include "clock_service.h"
#include "connection_notices.h"
#include "control_service.h"
#include "descriptor_limit.h"
#include "job_table.h"
#include "listening.h"
#include "open_profile.h"
#include "peer_rights.h"
#include "profile_set.h"
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

#define IDLE_WAIT_MS  1000u
#define FRAMES_A_TURN 256u /* before the clock is read again */
#define SESSIONS_MAX  65536u
#define REFUSALS_SAID 10u /* limit of lines on stderr; all refusals are counted */
#define NS_PER_MS     1000000ull
#define SILENT_NS     5000000000u
#define SUPERSEDED    "another agent of this node has taken over what this one read"

struct aggregator {
	struct profile_set profiles;
	struct receiver *receiver;
	struct user_keys *users; /* owns; NULL: none */
	struct listening listening;
	uint32_t commit_interval_ms;
	int wake_fd;
	uint64_t jobs_at_ns; /* time of the next look at jobs */
	uint64_t agents, launches, records;
	uint64_t refused_messages;
	uint64_t began_ns; /* time when aggregator_run() began */
	struct connection_notices notices;

	pthread_mutex_t lock; /* guards status, which other threads read */
	struct aggregator_status status;
};

static int open_own(struct aggregator *aggregator, const struct aggregator_options *options,
		    char **error)
{
	const struct open_profile_options profile = {
		.store_path = options->store_path,
		.title = options->title,
		.nr_nodes = options->nr_nodes,
		.raw_samples = options->raw_samples,
		.compact = true,
		.receiver = aggregator->receiver,
	};
	struct open_profile *own = &aggregator->profiles.own;
	int status = open_profile_open(own, &profile, error);
	uint64_t open;

	if (status)
		return error_text_set(error, status, "%s: %s", options->store_path,
				      strerror(-status));
	aggregator->status.agents = aggregator->agents = own->collection->nr_sessions;
	/* Agents of a store that was left open are awaited even before the loop's first turn. */
	aggregator->status.agents_connected = collection_heard(own->collection, 0, &open);
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
		.receiver = aggregator->receiver,
	};
	char *why = NULL;
	int status = options->jobs_path ? job_table_create(&jobs, clock_now_ns(),
							   &aggregator->profiles.jobs, &why)
					: 0;

	if (status)
		error_text_set(error, status, "%s", why ? why : strerror(-status));
	free(why);
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
		status = receiver_protect(aggregator->receiver, options->keys, aggregator->users);
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
	status = open_own(aggregator, options, error);
	if (!status)
		status = open_jobs(aggregator, options, error);
	return status ? status
		      : listening_bind(&aggregator->listening, aggregator->receiver, &listening,
				       error);
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

/* Tells the agent of a finished epoch that the epoch is over, in case it still runs. */
static void end_epoch(struct receiver *receiver, const struct agent_session *session)
{
	uint32_t nr_peers;
	const struct peer *peers = peer_table_peers(receiver_peers(receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++)
		if (peers[i].session == session)
			receiver_refuse(receiver, &peers[i], REFUSE_SUPERSEDED, SUPERSEDED);
	peer_table_detach(receiver_peers(receiver), session);
}

/* Answers an agent that was started in another's place. The answer names the last message of the other's epoch that
 * will ever count. So all received messages are stored first, and further ones are refused. An unknown epoch has no
 * messages here. A guest may have invented it in its ring, so no agent is entered for it. */
static int handle_question(struct aggregator *aggregator, const struct peer *peer,
			   struct open_profile *profile, const struct message_hello *hello,
			   struct message *welcome)
{
	struct agent_session *session = collection_find_session(profile->collection, hello->epoch);

	if (session && agent_session_supersede(session, profile->collection->catalog,
					       profile->collection->roster, hello))
		end_epoch(aggregator->receiver, session);
	if (session && session->changed) {
		profile->schedule.whole |= session->superseded;
		int error = profile_set_commit(&aggregator->profiles, profile, clock_now_ns());

		if (error == -ENOMEM)
			return error;
		if (error) {
			receiver_refuse(aggregator->receiver, peer, REFUSE_STORE, "ask again");
			return 0;
		}
	}
	welcome->welcome.durable_seq = session ? session->durable_seq : 0;
	receiver_send(aggregator->receiver, peer, welcome);
	return 0;
}

/* Finds the session of an agent that says HELLO. *session is NULL if the agent was refused. 0 or -ENOMEM. */
static int greet(struct aggregator *aggregator, struct peer *peer, struct open_profile *profile,
		 const struct message_hello *hello, struct agent_session **session)
{
	struct collection *collection = profile->collection;

	*session = collection_find_session(collection, hello->epoch);
	if (*session && (*session)->superseded) {
		*session = NULL;
		receiver_refuse(aggregator->receiver, peer, REFUSE_SUPERSEDED, SUPERSEDED);
		return 0;
	}
	if (!*session && collection->nr_sessions >= SESSIONS_MAX) {
		receiver_refuse(aggregator->receiver, peer, REFUSE_LIMIT, "too many agents");
		return 0;
	}
	if (!*session)
		*session = collection_session(collection, hello->epoch);
	if (!*session)
		return -ENOMEM;
	(*session)->heard_ns = peer->heard_ns;
	if ((*session)->host != 0)
		return 0;
	(*session)->spoke_ns = clock_realtime_ns();
	profile->schedule.changed = profile->schedule.whole = true;
	aggregator->agents++;
	return agent_session_hello(*session, collection->catalog, collection->roster, hello);
}

static int handle_hello(struct aggregator *aggregator, struct peer *peer,
			const struct message_hello *hello)
{
	struct message message = {
		.type = MESSAGE_WELCOME,
		.welcome = {.version = WIRE_VERSION,
			    .window_frames = ACK_SENDER_FRAMES,
			    .window_bytes = ACK_SENDER_BYTES},
	};
	struct open_profile *job = NULL, *profile;
	struct agent_session *session;
	int status = 0;

	if (hello->version_min > WIRE_VERSION || hello->version_max < WIRE_VERSION) {
		connection_notices_version(&aggregator->notices, aggregator->receiver, peer, hello);
		return 0;
	}
	if (aggregator->profiles.jobs && hello->job.key.size)
		status = job_table_admit(aggregator->profiles.jobs, peer, hello, &message.welcome,
					 &job);
	if (status)
		return status < 0 ? status : 0;
	profile = job ? job : &aggregator->profiles.own;
	if (!job)
		message.welcome.profile =
			(struct message_text){profile->place, (uint32_t)strlen(profile->place)};
	if (hello->asks)
		return handle_question(aggregator, peer, profile, hello, &message);
	status = greet(aggregator, peer, profile, hello, &session);
	if (status || !session)
		return status;
	peer_table_attach(receiver_peers(aggregator->receiver), peer, session);
	peer->profile = profile;
	/* The answer must be final. Earlier agents ask for the epoch before theirs without `asks`. */
	if (session->received_seq != session->durable_seq) {
		int error = profile_set_commit(&aggregator->profiles, profile, clock_now_ns());

		if (error)
			return error == -ENOMEM ? error : 0; /* after a refusal it asks again */
	}
	message.welcome.durable_seq = session->durable_seq;
	receiver_send(aggregator->receiver, peer, &message);
	log_debug("the agent of node %.*s is welcome: %llu of its messages are stored",
		  (int)hello->node.size, hello->node.data,
		  (unsigned long long)session->durable_seq);
	control_service_greet(&profile->control, peer);
	return 0;
}

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
	struct open_profile *profile = profile_set_of(&aggregator->profiles, peer);
	int status = session_apply(session, profile->collection, message, &reason);
	if (status < 0)
		return status;
	if (status > 0) {
		if (aggregator->refused_messages++ < REFUSALS_SAID)
			log_warning("an agent's message %llu was refused: %s",
				    (unsigned long long)seq, reason);
		receiver_refuse(aggregator->receiver, peer, (enum refuse_code)status, reason);
		return 0;
	}
	size_t size;
	const void *frame = receiver_frame(aggregator->receiver, &size);
	/* Else a disk that is full for long would fill our memory: only a whole commit can follow. */
	if (commit_schedule_takes_messages(&profile->schedule) &&
	    message_log_add(profile->collection->messages, session, frame, size))
		return -ENOMEM;
	peer->gap_reported = false;
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

	snprintf(reason, sizeof(reason), "these keys are user %s's, for that user's jobs alone",
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
		return handle_hello(aggregator, peer, &message->hello);
	case MESSAGE_PING:
		handle_ping(aggregator, peer, &message->ping);
		return 0;
	case MESSAGE_CLOCK:
		return clock_service_handle(&profile->clocks, peer, &message->clock, peer->heard_ns,
					    &profile->schedule.changed);
	case MESSAGE_CONTROL:
		handle_control(aggregator, peer, &message->control);
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
		return handle_sequenced(aggregator, peer, message);
	default:
		receiver_count_bad(aggregator->receiver, peer, "a message that agents do not send");
		return 0;
	}
}

/* ---- the loop */

static void publish_status(struct aggregator *aggregator)
{
	const struct receiver_counts *counts = receiver_counts(aggregator->receiver);
	uint64_t connected = 0, silent = 0, since_ns = clock_now_ns() - SILENT_NS;

	/* Agents in a continued store count as if they had just spoken, so that they have time to come again. */
	for (uint32_t i = 0; i < profile_set_count(&aggregator->profiles); i++) {
		uint64_t open = 0, heard = collection_heard(
					   profile_set_at(&aggregator->profiles, i)->collection,
					   since_ns <= aggregator->began_ns ? 0 : since_ns, &open);

		connected += heard;
		silent += open - heard;
	}
	pthread_mutex_lock(&aggregator->lock);
	aggregator->status.agents = aggregator->agents;
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

static int wait_ms(struct aggregator *aggregator, uint64_t time_ns)
{
	uint64_t until_ns = time_ns + IDLE_WAIT_MS * NS_PER_MS;

	if (aggregator->profiles.jobs && aggregator->jobs_at_ns < until_ns)
		until_ns = aggregator->jobs_at_ns;
	for (uint32_t i = 0; i < profile_set_count(&aggregator->profiles); i++) {
		const struct open_profile *profile = profile_set_at(&aggregator->profiles, i);

		until_ns = commit_schedule_until(&profile->schedule, until_ns);
	}
	return until_ns <= time_ns ? 0 : (int)((until_ns - time_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* Takes a limited number of messages, and does the work on connections that follows. 0 or -errno. */
static int take_messages(struct aggregator *aggregator)
{
	const struct receiver_counts *counts = receiver_counts(aggregator->receiver);
	const struct message *message;
	struct peer *peer;
	uint32_t nr_frames;
	int status = 0;

	for (nr_frames = 0; nr_frames < FRAMES_A_TURN; nr_frames++) {
		uint64_t bytes = counts->bytes;

		status = receiver_next(aggregator->receiver, &peer, &message);
		if (status <= 0)
			break;
		status = handle(aggregator, peer, message);
		if (status)
			break;
		struct open_profile *profile = profile_set_of(&aggregator->profiles, peer);
		profile->schedule.bytes += counts->bytes - bytes;
		commit_schedule_date(&profile->schedule, peer->heard_ns,
				     aggregator->commit_interval_ms);
	}
	receiver_tidy(aggregator->receiver, clock_now_ns(),
		      status == 0 && nr_frames < FRAMES_A_TURN);
	return status < 0 ? status : 0;
}

static bool stopping(const struct aggregator *aggregator)
{
	uint64_t count;

	return read(aggregator->wake_fd, &count, sizeof(count)) == sizeof(count);
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
		if (!error)
			ack_sender_all(aggregator->receiver);
		if (!error && profiles->jobs)
			aggregator->jobs_at_ns = job_table_step(profiles->jobs, clock_now_ns());
		connection_notices_step(&aggregator->notices, receiver_counts(aggregator->receiver),
					clock_now_ns());
		publish_status(aggregator);
	}
	/* Lack of memory within a message leaves inexact data, which must not be stored. */
	if (!error || error == -ESTALE) {
		int last = profile_set_commit_all(profiles, clock_now_ns());

		error = error ? error : last;
	}
	if (!error)
		error = profile_set_look(profiles, clock_now_ns(), true);
	publish_status(aggregator);
	return error;
}

/* A signal handler may call this function, so it only writes once. */
void aggregator_stop(struct aggregator *aggregator)
{
	uint64_t one = 1;

	if (write(aggregator->wake_fd, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN); /* the counter is full, so the loop is awake already */
}

void aggregator_status(struct aggregator *aggregator, struct aggregator_status *status)
{
	pthread_mutex_lock(&aggregator->lock);
	*status = aggregator->status;
	pthread_mutex_unlock(&aggregator->lock);
}
