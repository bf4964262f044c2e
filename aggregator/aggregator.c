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

#include "agent_session.h"
#include "clock_service.h"
#include "collection.h"
#include "commit_schedule.h"
#include "control_service.h"
#include "correlator.h"
#include "fold_table.h"
#include "proto/endpoint.h"
#include "proto/message_seq.h"
#include "raw_log.h"
#include "receiver.h"
#include "roster.h"
#include "store.h"

#define WINDOW_FRAMES 1024u
#define WINDOW_BYTES  (64u << 20)
#define FRAMES_A_TURN 256u /* before looking at the clock again */
#define SESSIONS_MAX  65536u
#define REFUSALS_SAID 10u /* on stderr; all are counted */
#define SILENT_NS     5000000000u

struct aggregator {
	struct store *store;
	struct collection *collection;
	struct receiver *receiver;
	char **endpoints;
	uint32_t nr_endpoints;
	bool quiet;
	int wake_fd;
	struct clock_service clocks;
	struct control_service control;

	struct commit_schedule schedule;
	uint64_t commits, launches, records;
	uint64_t refused_messages;
	bool stranger_said;

	pthread_mutex_t lock; /* of status, which other threads read */
	struct aggregator_status status;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
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

static int explain(char **error, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int explain(char **error, int status, const char *format, ...)
{
	va_list arguments;

	if (!error || *error)
		return status;
	va_start(arguments, format);
	if (vasprintf(error, format, arguments) < 0)
		*error = NULL;
	va_end(arguments);
	return status;
}

static int bind_endpoint(struct aggregator *aggregator, const char *endpoint,
			 const struct aggregator_options *options, char **error)
{
	if (!options->keys && !endpoint_is_local(endpoint)) {
		if (!options->insecure)
			return explain(error, -EACCES,
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
		return explain(error, status, "cannot listen on %s: %s", endpoint,
			       strerror(-status));
	}
	aggregator->nr_endpoints++;
	return 0;
}

static int open_store(struct aggregator *aggregator, const struct aggregator_options *options,
		      char **error)
{
	struct store_options store_options = {.title = options->title};
	int status = store_open(options->store_path, &store_options, &aggregator->store, error);

	if (status)
		return explain(error, status, "%s: %s", options->store_path, strerror(-status));
	status = store_load(aggregator->store, aggregator->collection);
	if (status)
		return explain(error, status, "%s: cannot be continued: %s (%s)",
			       options->store_path, strerror(-status),
			       store_error(aggregator->store));
	aggregator->status.agents = aggregator->collection->nr_sessions;
	if (store_is_exclusive(aggregator->store) && !aggregator->quiet)
		say("%s is on a file system of several hosts: reports can read it when we are done",
		    options->store_path);
	return 0;
}

static int prepare(struct aggregator *aggregator, const struct aggregator_options *options,
		   char **error)
{
	int status = 0;

	aggregator->quiet = options->quiet;
	commit_schedule_init(&aggregator->schedule, options->commit_interval_ms);
	aggregator->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	aggregator->collection = collection_create();
	aggregator->endpoints =
		calloc(options->nr_endpoints ? options->nr_endpoints : 1, sizeof(char *));
	if (aggregator->wake_fd < 0)
		status = -errno;
	else if (!aggregator->collection || !aggregator->endpoints)
		status = -ENOMEM;
	if (!status)
		status = receiver_create(options->zmq_context, &aggregator->receiver);
	if (!status)
		status = clock_service_init(&aggregator->clocks, aggregator->receiver,
					    aggregator->collection);
	control_service_init(&aggregator->control, aggregator->receiver, aggregator->collection);
	if (status)
		return explain(error, status, "cannot start the aggregator: %s", strerror(-status));
	if (options->raw_samples)
		raw_log_start(aggregator->collection->raw);
	if (options->keys) {
		status = receiver_protect(aggregator->receiver, options->keys);
		if (status)
			return explain(error, status, "the keys cannot be used: %s",
				       strerror(-status));
	}
	status = open_store(aggregator, options, error);
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
	collection_destroy(aggregator->collection);
	store_close(aggregator->store);
	for (uint32_t i = 0; i < aggregator->nr_endpoints; i++)
		free(aggregator->endpoints[i]);
	free(aggregator->endpoints);
	clock_service_fini(&aggregator->clocks);
	control_service_fini(&aggregator->control);
	if (aggregator->wake_fd >= 0)
		close(aggregator->wake_fd);
	pthread_mutex_destroy(&aggregator->lock);
	free(aggregator);
}

const char *aggregator_endpoint(const struct aggregator *aggregator, uint32_t index)
{
	return index < aggregator->nr_endpoints ? aggregator->endpoints[index] : NULL;
}

/* --- answers
 * -------------------------------------------------------------------------------------------------
 */

static void send_ack(struct aggregator *aggregator, struct peer *peer)
{
	struct message message = {
		.type = MESSAGE_ACK,
		.ack = {.seq = peer->session->durable_seq,
			.window_frames = WINDOW_FRAMES,
			.window_bytes = WINDOW_BYTES},
	};

	if (receiver_send(aggregator->receiver, peer, &message) == 0) {
		peer->acked_seq = peer->session->durable_seq;
		peer->ack_due = false;
	}
}

static void send_acks(struct aggregator *aggregator)
{
	uint32_t nr_peers;
	struct peer *peers = peer_table_peers(receiver_peers(aggregator->receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++) {
		struct peer *peer = &peers[i];

		if (peer->session &&
		    (peer->ack_due || peer->acked_seq != peer->session->durable_seq))
			send_ack(aggregator, peer);
	}
}

static void refuse_all(struct aggregator *aggregator, enum refuse_code code, const char *reason)
{
	uint32_t nr_peers;
	struct peer *peers = peer_table_peers(receiver_peers(aggregator->receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++)
		if (peers[i].session &&
		    peers[i].session->received_seq != peers[i].session->durable_seq)
			receiver_refuse(aggregator->receiver, &peers[i], code, reason);
}

/* --- messages
 * ------------------------------------------------------------------------------------------------
 */

/* A session has one connection, the newest: what an older one still has in its queue comes again on
 * this one. */
static void attach(struct aggregator *aggregator, struct peer *peer, struct agent_session *session)
{
	uint32_t nr_peers;
	struct peer *peers = peer_table_peers(receiver_peers(aggregator->receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++)
		if (peers[i].session == session)
			peers[i].session = NULL;
	peer->session = session;
	peer->acked_seq = session->durable_seq;
	peer->gap_reported = peer->ack_due = false;
}

static int commit(struct aggregator *aggregator);

static int handle_hello(struct aggregator *aggregator, struct peer *peer,
			const struct message_hello *hello)
{
	struct collection *collection = aggregator->collection;
	struct message message = {
		.type = MESSAGE_WELCOME,
		.welcome = {.version = WIRE_VERSION,
			    .window_frames = WINDOW_FRAMES,
			    .window_bytes = WINDOW_BYTES},
	};

	if (hello->version_min > WIRE_VERSION || hello->version_max < WIRE_VERSION) {
		receiver_refuse(aggregator->receiver, peer, REFUSE_VERSION,
				"this aggregator speaks version 1 of the protocol");
		return 0;
	}
	if (collection->nr_sessions >= SESSIONS_MAX) {
		receiver_refuse(aggregator->receiver, peer, REFUSE_LIMIT, "too many agents");
		return 0;
	}
	struct agent_session *session = collection_session(collection, hello->epoch);
	if (!session)
		return -ENOMEM;
	if (session->host == 0) {
		int error = agent_session_hello(session, collection, hello);
		if (error)
			return error;
		aggregator->schedule.changed = true;
	}
	attach(aggregator, peer, session);
	/* What the answer names is all that will ever have come of this epoch, should whoever asks be the
	 * agent that was started in its place: nothing that was received may become durable later. */
	if (session->received_seq != session->durable_seq) {
		int error = commit(aggregator);

		if (error)
			return error == -ENOMEM ? error : 0; /* refused: it will ask again */
	}
	message.welcome.durable_seq = session->durable_seq;
	receiver_send(aggregator->receiver, peer, &message);
	control_service_greet(&aggregator->control, peer);
	return 0;
}

static void handle_gap(struct aggregator *aggregator, struct peer *peer, uint64_t seq)
{
	char reason[96];

	if (peer->gap_reported)
		return;
	snprintf(reason, sizeof(reason), "%llu came, %llu is next", (unsigned long long)seq,
		 (unsigned long long)peer->session->received_seq + 1);
	send_ack(aggregator, peer);
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
	int status = agent_session_apply(session, aggregator->collection, message, &reason);
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
	aggregator->schedule.changed = true;
	aggregator->schedule.frames++;
	if (message->type == MESSAGE_BYE)
		aggregator->schedule.hurry = true;
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

static int handle(struct aggregator *aggregator, struct peer *peer, const struct message *message)
{
	peer->heard_ns = now_ns();
	switch (message->type) {
	case MESSAGE_HELLO:
		return handle_hello(aggregator, peer, &message->hello);
	case MESSAGE_PING:
		handle_ping(aggregator, peer, &message->ping);
		return 0;
	case MESSAGE_CLOCK:
		return clock_service_handle(&aggregator->clocks, peer, &message->clock,
					    peer->heard_ns, &aggregator->schedule.changed);
	case MESSAGE_CONTROL:
		control_service_handle(&aggregator->control, peer, &message->control);
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

/* --- the loop
 * ------------------------------------------------------------------------------------------------
 */

static int commit(struct aggregator *aggregator)
{
	int error = store_commit(aggregator->store, aggregator->collection);

	if (error == -ENOMEM)
		return error;
	if (error) {
		if (!aggregator->schedule.failed)
			say("cannot write the profile: %s (%s); nothing that was acknowledged is "
			    "lost, "
			    "and we keep trying",
			    strerror(-error), store_error(aggregator->store));
		refuse_all(aggregator, REFUSE_STORE, "the aggregator cannot write its profile");
		commit_schedule_fail(&aggregator->schedule, now_ns());
		return error;
	}
	if (aggregator->schedule.failed)
		say("the profile can be written again");
	commit_schedule_done(&aggregator->schedule, receiver_counts(aggregator->receiver)->bytes);
	aggregator->commits++;
	send_acks(aggregator);
	return 0;
}

static bool commit_is_due(const struct aggregator *aggregator)
{
	uint32_t nr_rows;

	fold_table_rows(aggregator->collection->totals, &nr_rows);
	return commit_schedule_is_due(&aggregator->schedule, now_ns(),
				      receiver_counts(aggregator->receiver)->bytes, nr_rows);
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
	aggregator->status.agents = aggregator->collection->nr_sessions;
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

/* Some of what waits in the socket. 0 or -errno. */
static int take_messages(struct aggregator *aggregator)
{
	const struct message *message;
	struct peer *peer;
	bool was_changed = aggregator->schedule.changed;
	int status = 0;

	for (uint32_t i = 0; i < FRAMES_A_TURN; i++) {
		status = receiver_next(aggregator->receiver, &peer, &message);
		if (status <= 0)
			break;
		status = handle(aggregator, peer, message);
		if (status)
			break;
	}
	if (!was_changed && aggregator->schedule.changed)
		commit_schedule_start(&aggregator->schedule, now_ns());
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
				      commit_schedule_wait_ms(&aggregator->schedule, now_ns()));
		if (!error)
			error = take_messages(aggregator);
		if (!error && commit_is_due(aggregator) && commit(aggregator) == -ENOMEM)
			error = -ENOMEM;
		if (!error)
			send_acks(aggregator);
		say_stranger(aggregator);
		publish_status(aggregator);
	}
	/* Out of memory in the middle of a message: what is in hand is no longer exact, and must
	 * not be kept. */
	if (!error && aggregator->schedule.changed)
		error = commit(aggregator);
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
