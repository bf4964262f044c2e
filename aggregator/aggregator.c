#include "aggregator.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "ack_sender.h"
#include "agent_session.h"
#include "clock_service.h"
#include "collection.h"
#include "control_service.h"
#include "job_table.h"
#include "open_profile.h"
#include "proto/endpoint.h"
#include "proto/error_text.h"
#include "proto/message_seq.h"
#include "receiver.h"
#include "roster.h"
#include "store.h"

#define IDLE_WAIT_MS  1000u
#define FRAMES_A_TURN 256u /* before looking at the clock again */
#define SESSIONS_MAX  65536u
#define REFUSALS_SAID 10u /* on stderr; all are counted */
#define NS_PER_MS     1000000ull
#define SILENT_NS     5000000000u

struct aggregator {
	struct open_profile own; /* of agents that say of no job that they are of it */
	struct job_table *jobs;  /* owns; NULL: all are of the one profile */
	struct receiver *receiver;
	char **endpoints;
	uint32_t nr_endpoints;
	uint32_t commit_interval_ms;
	bool quiet;
	int wake_fd;
	uint64_t jobs_at_ns; /* when to look at jobs again */
	uint64_t agents, commits, launches, records;
	uint64_t refused_messages;
	bool stranger_said;

	pthread_mutex_t lock; /* of status, which other threads read */
	struct aggregator_status status;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	flockfile(stderr);
	fputs("flamegrid: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	funlockfile(stderr);
	va_end(arguments);
}

static int bind_endpoint(struct aggregator *aggregator, const char *endpoint,
			 const struct aggregator_options *options, char **error)
{
	if (!options->keys && !endpoint_is_local(endpoint)) {
		if (!options->insecure)
			return error_text_set(
				error, -EACCES,
				"%s: others than this machine could connect, and nothing is "
				"authenticated or encrypted: refused without --keys or "
				"--insecure",
				endpoint);
		say("warning: %s: anybody who can reach it can read and write this profile",
		    endpoint);
	}
	char **bound = &aggregator->endpoints[aggregator->nr_endpoints];
	int status = receiver_bind(aggregator->receiver, endpoint, bound);
	if (status) {
		free(*bound);
		*bound = NULL;
		return error_text_set(error, status, "cannot listen on %s: %s", endpoint,
				      strerror(-status));
	}
	aggregator->nr_endpoints++;
	return 0;
}

static int open_own(struct aggregator *aggregator, const struct aggregator_options *options,
		    char **error)
{
	const struct open_profile_options profile = {
		.store_path = options->store_path,
		.title = options->title,
		.nr_nodes = options->nr_nodes,
		.raw_samples = options->raw_samples,
		.receiver = aggregator->receiver,
	};
	int status = open_profile_open(&aggregator->own, &profile, error);

	if (status)
		return error_text_set(error, status, "%s: %s", options->store_path,
				      strerror(-status));
	aggregator->status.agents = aggregator->agents = aggregator->own.collection->nr_sessions;
	if (store_is_exclusive(aggregator->own.store) && !aggregator->quiet)
		say("%s is on a file system of several hosts: reports can read it when we are done",
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
		.receiver = aggregator->receiver,
		.quiet = options->quiet,
	};
	char *why = NULL;
	int status =
		options->jobs_path ? job_table_create(&jobs, now_ns(), &aggregator->jobs, &why) : 0;

	if (status)
		error_text_set(error, status, "%s", why ? why : strerror(-status));
	free(why);
	return status;
}

static int prepare(struct aggregator *aggregator, const struct aggregator_options *options,
		   char **error)
{
	int status = 0;

	aggregator->quiet = options->quiet;
	aggregator->commit_interval_ms = options->commit_interval_ms;
	aggregator->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	aggregator->endpoints =
		calloc(options->nr_endpoints ? options->nr_endpoints : 1, sizeof(char *));
	if (aggregator->wake_fd < 0)
		status = -errno;
	else if (!aggregator->endpoints)
		status = -ENOMEM;
	if (!status)
		status = receiver_create(options->zmq_context, &aggregator->receiver);
	if (status)
		return error_text_set(error, status, "cannot start the aggregator: %s",
				      strerror(-status));
	status = options->keys ? receiver_protect(aggregator->receiver, options->keys) : 0;
	if (status)
		return error_text_set(error, status, "the keys cannot be used: %s",
				      strerror(-status));
	status = open_own(aggregator, options, error);
	if (!status)
		status = open_jobs(aggregator, options, error);
	for (uint32_t i = 0; i < options->nr_endpoints && !status; i++)
		status = bind_endpoint(aggregator, options->endpoints[i], options, error);
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
	receiver_destroy(aggregator->receiver);
	job_table_destroy(aggregator->jobs);
	open_profile_close(&aggregator->own);
	for (uint32_t i = 0; i < aggregator->nr_endpoints; i++)
		free(aggregator->endpoints[i]);
	free(aggregator->endpoints);
	if (aggregator->wake_fd >= 0)
		close(aggregator->wake_fd);
	pthread_mutex_destroy(&aggregator->lock);
	free(aggregator);
}

const char *aggregator_endpoint(const struct aggregator *aggregator, uint32_t index)
{
	return index < aggregator->nr_endpoints ? aggregator->endpoints[index] : NULL;
}

/* ---- answers */

static struct open_profile *profile_of(struct aggregator *aggregator, const struct peer *peer)
{
	return peer->profile ? peer->profile : &aggregator->own;
}

/* Those of the profile whose frames are not stored. */
static void refuse_all(struct aggregator *aggregator, const struct open_profile *profile,
		       enum refuse_code code, const char *reason)
{
	uint32_t nr_peers;
	struct peer *peers = peer_table_peers(receiver_peers(aggregator->receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++)
		if (peers[i].session && profile_of(aggregator, &peers[i]) == profile &&
		    peers[i].session->received_seq != peers[i].session->durable_seq)
			receiver_refuse(aggregator->receiver, &peers[i], code, reason);
}

/* ---- messages */

static int commit(struct aggregator *aggregator, struct open_profile *profile);

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
	int status = 0;

	if (hello->version_min > WIRE_VERSION || hello->version_max < WIRE_VERSION) {
		receiver_refuse(aggregator->receiver, peer, REFUSE_VERSION,
				"this aggregator speaks version 1 of the protocol");
		return 0;
	}
	if (aggregator->jobs && hello->job.key.size)
		status = job_table_admit(aggregator->jobs, peer, hello, &message.welcome, &job);
	if (status)
		return status < 0 ? status : 0;
	profile = job ? job : &aggregator->own;
	if (!job)
		message.welcome.profile =
			(struct message_text){profile->place, (uint32_t)strlen(profile->place)};
	if (profile->collection->nr_sessions >= SESSIONS_MAX) {
		receiver_refuse(aggregator->receiver, peer, REFUSE_LIMIT, "too many agents");
		return 0;
	}
	struct agent_session *session = collection_session(profile->collection, hello->epoch);
	if (!session)
		return -ENOMEM;
	session->heard_ns = peer->heard_ns;
	if (session->host == 0) {
		session->spoke_ns = clock_ns(CLOCK_REALTIME);
		int error = agent_session_hello(session, profile->collection, hello);
		if (error)
			return error;
		profile->schedule.changed = true;
		aggregator->agents++;
	}
	peer_table_attach(receiver_peers(aggregator->receiver), peer, session);
	peer->profile = job;
	/* What the answer names is all that will ever have come of this epoch, should whoever asks be the
	 * agent that was started in its place: nothing that was received may become durable later. */
	if (session->received_seq != session->durable_seq) {
		int error = commit(aggregator, profile);

		if (error)
			return error == -ENOMEM ? error : 0; /* refused: it will ask again */
	}
	message.welcome.durable_seq = session->durable_seq;
	receiver_send(aggregator->receiver, peer, &message);
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
	session->spoke_ns = clock_ns(CLOCK_REALTIME);
	struct open_profile *profile = profile_of(aggregator, peer);
	int status = agent_session_apply(session, profile->collection, message, &reason);
	if (status < 0)
		return status;
	if (status > 0) {
		if (aggregator->refused_messages++ < REFUSALS_SAID)
			say("an agent's message %llu was refused: %s", (unsigned long long)seq,
			    reason);
		receiver_refuse(aggregator->receiver, peer, (enum refuse_code)status, reason);
		return 0;
	}
	peer->gap_reported = false;
	profile->schedule.changed = true;
	profile->schedule.frames++;
	if (message->type == MESSAGE_BYE)
		profile->schedule.hurry = true;
	if (message->type == MESSAGE_EVENTS) {
		aggregator->launches += message->events.nr_launches;
		aggregator->records += message->events.nr_gpu;
	}
	return 0;
}

/* A ping asks whether we are there, so whatever the agent may have missed is said again. */
static void handle_ping(struct aggregator *aggregator, struct peer *peer,
			const struct message_ping *ping)
{
	struct message pong = {.type = MESSAGE_PONG, .ping = *ping};

	receiver_send(aggregator->receiver, peer, &pong);
	peer->gap_reported = false;
	peer->ack_due = peer->session != NULL;
}

/* Who commands may mean a job that is none of its own. */
static void handle_control(struct aggregator *aggregator, struct peer *peer,
			   const struct message_control *control)
{
	struct open_profile *profile = profile_of(aggregator, peer);
	const char *reason = "this aggregator keeps no profiles of jobs";
	int status = 0;

	if (control->kind == CONTROL_ASK && control->job_key.size)
		status = aggregator->jobs ? job_table_find(aggregator->jobs, &control->job_user,
							   &control->job_key, &profile, &reason)
					  : REFUSE_UNDEFINED;
	if (status)
		receiver_refuse(aggregator->receiver, peer, (enum refuse_code)status, reason);
	else
		control_service_handle(&profile->control, peer, control);
}

static int handle(struct aggregator *aggregator, struct peer *peer, const struct message *message)
{
	struct open_profile *profile = profile_of(aggregator, peer);

	peer->heard_ns = now_ns();
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

static uint32_t count_profiles(const struct aggregator *aggregator)
{
	return 1 + (aggregator->jobs ? job_table_count(aggregator->jobs) : 0);
}

static struct open_profile *profile_at(struct aggregator *aggregator, uint32_t i)
{
	return i ? job_table_profile(aggregator->jobs, i - 1) : &aggregator->own;
}

static int commit(struct aggregator *aggregator, struct open_profile *profile)
{
	bool had_failed = profile->schedule.failed;
	int error = open_profile_commit(profile, now_ns());

	if (error == -ENOMEM)
		return error;
	if (error) {
		if (!had_failed)
			say("cannot write the profile: %s (%s); nothing that was acknowledged is "
			    "lost, "
			    "and we keep trying",
			    strerror(-error), store_error(profile->store));
		refuse_all(aggregator, profile, REFUSE_STORE,
			   "the aggregator cannot write its profile");
		return error;
	}
	if (had_failed)
		say("the profile can be written again");
	aggregator->commits++;
	ack_sender_all(aggregator->receiver);
	return 0;
}

/* Those that are due, or all that have changed. 0; -ENOMEM; else the last that failed. */
static int commit_profiles(struct aggregator *aggregator, bool all)
{
	int result = 0;

	for (uint32_t i = 0; i < count_profiles(aggregator) && result != -ENOMEM; i++) {
		struct open_profile *profile = profile_at(aggregator, i);

		if (all ? profile->schedule.changed : open_profile_is_due(profile, now_ns())) {
			int error = commit(aggregator, profile);

			result = error ? error : result;
		}
	}
	return result;
}

static void publish_status(struct aggregator *aggregator)
{
	const struct receiver_counts *counts = receiver_counts(aggregator->receiver);
	uint32_t nr_peers;
	const struct peer *peers =
		peer_table_peers(receiver_peers(aggregator->receiver), &nr_peers);
	uint64_t connected = 0, silent = 0, heard_ns = now_ns() - SILENT_NS;

	for (uint32_t i = 0; i < nr_peers; i++) {
		if (!peers[i].session || peers[i].session->ended)
			continue;
		connected += peers[i].heard_ns >= heard_ns;
		silent += peers[i].heard_ns < heard_ns;
	}
	pthread_mutex_lock(&aggregator->lock);
	aggregator->status.agents = aggregator->agents;
	aggregator->status.agents_connected = connected;
	aggregator->status.agents_silent = silent;
	aggregator->status.commits = aggregator->commits;
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

	if (aggregator->jobs && aggregator->jobs_at_ns < until_ns)
		until_ns = aggregator->jobs_at_ns;
	for (uint32_t i = 0; i < count_profiles(aggregator); i++) {
		const struct open_profile *profile = profile_at(aggregator, i);

		until_ns = commit_schedule_until(&profile->schedule, until_ns);
	}
	return until_ns <= time_ns ? 0 : (int)((until_ns - time_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* Some of what waits in the socket. 0 or -errno. */
static int take_messages(struct aggregator *aggregator)
{
	const struct receiver_counts *counts = receiver_counts(aggregator->receiver);
	const struct message *message;
	struct peer *peer;
	int status = 0;

	for (uint32_t i = 0; i < FRAMES_A_TURN; i++) {
		uint64_t bytes = counts->bytes;

		status = receiver_next(aggregator->receiver, &peer, &message);
		if (status <= 0)
			break;
		status = handle(aggregator, peer, message);
		if (status)
			break;
		struct open_profile *profile = profile_of(aggregator, peer);
		profile->schedule.bytes += counts->bytes - bytes;
		commit_schedule_date(&profile->schedule, peer->heard_ns,
				     aggregator->commit_interval_ms);
	}
	return status < 0 ? status : 0;
}

/* Once: who tries it again and again shall not fill a log. */
static void say_stranger(struct aggregator *aggregator)
{
	if (aggregator->stranger_said || !receiver_counts(aggregator->receiver)->strangers)
		return;
	aggregator->stranger_said = true;
	if (!aggregator->quiet)
		say("a connection was turned away: it does not have this aggregator's keys; "
		    "further "
		    "ones are only counted");
}

static bool stopping(const struct aggregator *aggregator)
{
	uint64_t count;

	return read(aggregator->wake_fd, &count, sizeof(count)) == sizeof(count);
}

int aggregator_run(struct aggregator *aggregator)
{
	int error = 0;

	while (!error && !stopping(aggregator)) {
		error = receiver_wait(aggregator->receiver, aggregator->wake_fd,
				      wait_ms(aggregator, now_ns()));
		if (!error)
			error = take_messages(aggregator);
		if (!error && commit_profiles(aggregator, false) == -ENOMEM)
			error = -ENOMEM;
		if (!error)
			ack_sender_all(aggregator->receiver);
		if (!error && aggregator->jobs)
			aggregator->jobs_at_ns = job_table_step(aggregator->jobs, now_ns());
		say_stranger(aggregator);
		publish_status(aggregator);
	}
	/* Out of memory in the middle of a message: what is in hand is no longer exact, and must
	 * not be kept. */
	if (!error)
		error = commit_profiles(aggregator, true);
	publish_status(aggregator);
	return error;
}

/* One write and nothing else, so that a signal handler may call it, too. */
void aggregator_stop(struct aggregator *aggregator)
{
	uint64_t one = 1;

	if (write(aggregator->wake_fd, &one, sizeof(one)) < 0)
		assert(errno == EAGAIN); /* the counter is full: it is awake already */
}

void aggregator_status(struct aggregator *aggregator, struct aggregator_status *status)
{
	pthread_mutex_lock(&aggregator->lock);
	*status = aggregator->status;
	pthread_mutex_unlock(&aggregator->lock);
}
