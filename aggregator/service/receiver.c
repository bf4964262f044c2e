#include "receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zmq.h>

#include "admission.h"
#include "connection_watch.h"
#include "descriptor_limit.h"

#include "aggregator/workers/frame_queue.h"
#include "base/array.h"
#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "proto/batch/message_seq.h"
#include "proto/connection_life.h"

/* Messages a peer: with 4 MiB frames the bound on its memory. ZeroMQ's thread is woken for each half of it that was
 * taken. */
#define HIGH_WATER_MARK 32
#define BACKLOG         4096
#define LINGER_MS       1000
#define HANDSHAKE_MS    10000 /* for ZeroMQ's greeting and the keys */
#define FRAME_HEAD      16u   /* bytes of a small message besides its text */
#define FILES_SHARE     16u   /* one of so many descriptors is no connection's */

struct receiver {
	void *context; /* owned if own_context */
	void *own_context;
	void *socket;
	struct admission *admission; /* owns; NULL: everybody may connect */
	bool knows_users, by_munge;
	struct connection_watch *watch; /* owns */
	struct batch_decoder *decoder;
	struct batch_encoder *encoder;
	struct peer_table *peers;
	zmq_msg_t frame; /* what the last message borrows from */
	struct message message;
	struct receiver_counts counts;
	struct bound_name *names; /* owns */
	uint32_t nr_names;
};

struct bound_name {
	char *text; /* owns: an endpoint within this process, or the path of a lock */
	int lock;   /* -1: it is no lock */
};

/* Replaces libc's accept4(), which ZeroMQ would call. The last descriptors are kept for files, so a further connection
 * is refused. Both of ZeroMQ's listeners ignore ENFILE; the one for ipc:// aborts the process at EMFILE. Our own
 * callers treat both alike. */
int accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict size, int flags)
{
	int accepted = (int)syscall(SYS_accept4, fd, address.__sockaddr__, size, flags);
	uint32_t limit = descriptor_limit();

	if (accepted >= 0 && (uint32_t)accepted >= limit - limit / FILES_SHARE) {
		close(accepted);
		accepted = -1;
		errno = ENFILE;
	} else if (accepted < 0 && errno == EMFILE)
		errno = ENFILE;
	return accepted;
}

static int set_option(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value)) ? -errno : 0;
}

/* ZeroMQ's own heartbeats stay off: see connection_life.h. */
static int configure(void *socket)
{
	static const int options[][2] = {
		{ZMQ_RCVHWM, HIGH_WATER_MARK},
		{ZMQ_SNDHWM, HIGH_WATER_MARK},
		{ZMQ_ROUTER_MANDATORY, 1},
		{ZMQ_BACKLOG, BACKLOG},
		{ZMQ_LINGER, LINGER_MS},
		{ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS},
		{ZMQ_TCP_KEEPALIVE, 1},
		{ZMQ_TCP_KEEPALIVE_IDLE, CONNECTION_QUIET_S},
		{ZMQ_TCP_KEEPALIVE_INTVL, CONNECTION_PROBE_S},
		{ZMQ_TCP_KEEPALIVE_CNT, CONNECTION_PROBES},
		{ZMQ_TCP_MAXRT, CONNECTION_UNANSWERED_MS},
	};
	int64_t size_max = WIRE_FRAME_MAX;
	int error =
		zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &size_max, sizeof(size_max)) ? -errno : 0;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]) && !error; i++)
		error = set_option(socket, options[i][0], options[i][1]);
	return error;
}

/* More connections than peers would have some forgotten whose agents live. */
static int watch_connections(struct receiver *receiver)
{
	uint32_t most = descriptor_limit_connections(descriptor_limit());

	return connection_watch_create(receiver->context, receiver->socket,
				       most < PEER_TABLE_MAX ? most : PEER_TABLE_MAX,
				       &receiver->watch);
}

int receiver_create(void *zmq_context, struct receiver **receiver)
{
	struct receiver *new = calloc(1, sizeof(*new));
	int error = -ENOMEM;

	*receiver = NULL;
	if (!new)
		return -ENOMEM;
	zmq_msg_init(&new->frame);
	new->context = zmq_context ? zmq_context : (new->own_context = zmq_ctx_new());
	new->decoder = batch_decoder_create();
	new->encoder = batch_encoder_create();
	new->peers = peer_table_create();
	if (new->context &&new->decoder &&new->encoder &&new->peers) {
		new->socket = zmq_socket(new->context, ZMQ_ROUTER);
		error = new->socket ? configure(new->socket) : -errno;
	}
	if (!error)
		error = watch_connections(new);
	if (error) {
		receiver_destroy(new);
		return error;
	}
	*receiver = new;
	return 0;
}

/* A socket closes some time after zmq_close() has returned, and until then its inproc names are
 * taken. Connections by network live on in the closing socket, so those are not unbound. */
static void release_names(struct receiver *receiver)
{
	for (uint32_t i = 0; i < receiver->nr_names; i++) {
		if (receiver->names[i].lock < 0) {
			zmq_unbind(receiver->socket, receiver->names[i].text);
		} else {
			unlink(receiver->names[i].text);
			close(receiver->names[i].lock);
		}
		free(receiver->names[i].text);
	}
	free(receiver->names);
}

static int keep_name(struct receiver *receiver, const char *name, int lock)
{
	struct bound_name bound = {strdup(name), lock};
	int error = bound.text ? array_append(&receiver->names, &receiver->nr_names, &bound,
					      sizeof(bound))
			       : -ENOMEM;

	if (error)
		free(bound.text);
	return error;
}

/* ZeroMQ takes a socket's file even from a process that listens there. So a receiver holds PATH.lock for as long as it
 * listens. The kernel frees the lock of a killed process. The lock's file may go between open() and flock(). Without
 * locks, as some file systems are, nothing is refused. */
static int lock_path(struct receiver *receiver, const char *path)
{
	struct stat status = {0};
	char name[256];
	int lock = -1, result = 0;

	snprintf(name, sizeof(name), "%s.lock", path);
	while (status.st_nlink == 0 && result == 0) {
		if (lock >= 0)
			close(lock);
		lock = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0 || fstat(lock, &status) < 0)
			result = -errno;
	}
	if (result == 0)
		result = keep_name(receiver, name, lock);
	if (result == 0)
		return 0;
	if (lock >= 0)
		close(lock);
	return result == -EWOULDBLOCK ? -EADDRINUSE : result == -ENOMEM ? result : 0;
}

void receiver_destroy(struct receiver *receiver)
{
	if (!receiver)
		return;
	zmq_msg_close(&receiver->frame);
	release_names(receiver);
	connection_watch_destroy(receiver->watch);
	if (receiver->socket)
		zmq_close(receiver->socket);
	admission_destroy(receiver->admission);
	if (receiver->own_context)
		zmq_ctx_term(receiver->own_context);
	batch_decoder_destroy(receiver->decoder);
	batch_encoder_destroy(receiver->encoder);
	peer_table_destroy(receiver->peers);
	free(receiver);
}

int receiver_protect(struct receiver *receiver, const struct key_set *keys, struct user_keys *users,
		     bool by_munge)
{
	int r = admission_create(receiver->context, keys, users, by_munge, &receiver->admission);

	receiver->knows_users = users != NULL || by_munge;
	receiver->by_munge = by_munge;
	return r ? r : admission_guard(receiver->admission, receiver->socket);
}

/* Binds a socket. A process that may connect to a socket in the file system may send and command. Without keys only the
 * socket's user may connect, even if the user's mask allows more. */
static int bind_socket(struct receiver *receiver, const char *endpoint)
{
	const char *path = endpoint + strlen("ipc://");
	bool is_file = strncmp(endpoint, "ipc://", strlen("ipc://")) == 0;
	bool is_private = is_file && !receiver->admission;
	/* "@NAME" is no file, and for "*" ZeroMQ makes a new one. */
	int error = is_file && !strchr("@*", *path) ? lock_path(receiver, path) : 0;

	if (error)
		return error;
	mode_t mask = is_private ? umask(0077) : 0;
	error = zmq_bind(receiver->socket, endpoint) ? -errno : 0;
	if (is_private)
		umask(mask);
	return error;
}

int receiver_bind(struct receiver *receiver, const char *endpoint, char **actual)
{
	char resolved[512];
	size_t size = sizeof(resolved);

	*actual = NULL;
	/* Else an IPv4 address comes back as a mapped one, which fewer programs read. */
	int error = set_option(receiver->socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL);
	if (error)
		return error;
	error = bind_socket(receiver, endpoint);
	if (error)
		return error;
	if (zmq_getsockopt(receiver->socket, ZMQ_LAST_ENDPOINT, resolved, &size))
		return -errno;
	if (strncmp(resolved, "inproc://", strlen("inproc://")) == 0 &&
	    keep_name(receiver, resolved, -1) < 0)
		return -ENOMEM;
	*actual = strdup(resolved);
	return *actual ? 0 : -ENOMEM;
}

int receiver_wait(struct receiver *receiver, int wake_fd, int timeout_ms)
{
	zmq_pollitem_t items[] = {
		{.socket = receiver->socket, .events = ZMQ_POLLIN},
		{.fd = wake_fd, .events = ZMQ_POLLIN},
		{.socket = connection_watch_socket(receiver->watch), .events = ZMQ_POLLIN},
		{.events = ZMQ_POLLIN},
	};
	int nr_items = 3;

	if (receiver->admission)
		items[nr_items++].socket = admission_socket(receiver->admission);
	timeout_ms = connection_watch_wait_ms(receiver->watch, timeout_ms);
	if (zmq_poll(items, nr_items, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	if (receiver->admission) {
		admission_step(receiver->admission);
		receiver->counts.strangers = admission_refused(receiver->admission);
	}
	return 0;
}

/* Receives one part into frame. 1; 0: nothing is there; -errno. */
static int receive_part(struct receiver *receiver, zmq_msg_t *part)
{
	for (;;) {
		if (zmq_msg_recv(part, receiver->socket, ZMQ_DONTWAIT) >= 0)
			return 1;
		if (errno != EINTR)
			return errno == EAGAIN ? 0 : -errno;
	}
}

/* Every frame is one part behind the routing id; anything else is bad. *parts: how many came behind
 * it; *size: their bytes. The parts of a message arrive together, so none of these reads has to wait. */
static int receive_frame(struct receiver *receiver, struct peer **peer, uint32_t *parts,
			 size_t *size)
{
	zmq_msg_t id;

	zmq_msg_init(&id);
	int status = receive_part(receiver, &id);
	bool more = status > 0 && zmq_msg_more(&id);
	size_t id_size = zmq_msg_size(&id);
	if (status > 0) {
		*peer = id_size > 0 && id_size <= PEER_ID_MAX
				? peer_table_get(receiver->peers, zmq_msg_data(&id), id_size)
				: NULL;
		if (!*peer)
			status = -ENOMEM;
	}
	zmq_msg_close(&id);
	*size = 0;
	for (*parts = 0; more; more = zmq_msg_more(&receiver->frame), (*parts)++) {
		int part = receive_part(receiver, &receiver->frame);
		if (part <= 0)
			return part ? part : -EPROTO;
		*size += zmq_msg_size(&receiver->frame);
	}
	return status;
}

/* The descriptor of the connection by which the last frame came; -1: it came from within this process. */
static int connection_of(const struct receiver *receiver)
{
	return zmq_msg_get(&receiver->frame, ZMQ_SRCFD);
}

void receiver_count_bad(struct receiver *receiver, struct peer *peer, const char *reason)
{
	receiver->counts.bad_frames++;
	if (++peer->bad_frames < RECEIVER_BAD_FRAMES_MAX)
		return;
	receiver_refuse(receiver, peer, REFUSE_MALFORMED, reason);
	peer->refused = true;
	peer->session = NULL;
}

/* Takes the user of the connection by which the last frame came. A routing id may come again by another user's
 * connection; that peer then has nothing of the first one. */
static void identify(const struct receiver *receiver, struct peer *peer)
{
	const char *user = zmq_msg_gets(&receiver->frame, "User-Id"); /* zmq_msg_gets(3) */

	if (receiver->by_munge && user && *user == ADMISSION_UNPROVEN) {
		if (strcmp(user + 1, peer->key) != 0)
			peer_set_key(peer, user + 1);
		return;
	}
	if (!user || strcmp(user, ADMISSION_ANY_USER) == 0)
		user = ""; /* NULL: from within this process */
	if (*peer->key || strcmp(user, peer->user) != 0)
		peer_set_user(peer, user);
}

/* Decides on a frame before it is decoded. An unproven peer has nothing large to say. Otherwise its connection ends, so
 * that strangers cannot fill the queues. */
static bool may_decode(struct receiver *receiver, const struct peer *peer, size_t size)
{
	if (!peer_is_unproven(peer) || size <= WIRE_PROOF_MAX + FRAME_HEAD)
		return true;
	receiver->counts.bad_frames++;
	connection_watch_end(receiver->watch, connection_of(receiver));
	return false;
}

/* Decides on a message. An agent that came again may have sent others before its proof. */
static bool may_say(struct receiver *receiver, const struct peer *peer)
{
	if (!peer_is_unproven(peer) || receiver->message.type == MESSAGE_PROOF)
		return true;
	receiver_refuse(receiver, peer, REFUSE_UNPROVEN,
			"this aggregator asks munge who its users are: use its public key alone "
			"(public.keys)");
	return false;
}

/* Returns whether whoever has the peer's profile decodes the frame. */
static bool leaves_data(struct receiver *receiver, const struct peer *peer, size_t size)
{
	const enum message_type type = batch_frame_type(zmq_msg_data(&receiver->frame), size);

	if (!peer->profile || peer_is_unproven(peer) || !message_seq_has(type))
		return false;
	receiver->message = (struct message){.type = type};
	return true;
}

int receiver_next(struct receiver *receiver, struct peer **peer, const struct message **message)
{
	uint32_t parts;
	size_t size;
	int status;

	*message = NULL;
	while ((status = receive_frame(receiver, peer, &parts, &size)) > 0) {
		if (parts == 1)
			connection_watch_took(receiver->watch, connection_of(receiver));
		receiver->counts.frames++;
		receiver->counts.bytes += size;
		if (receiver->knows_users)
			identify(receiver, *peer);
		if ((*peer)->refused)
			connection_watch_ignore(receiver->watch, connection_of(receiver));
		if ((*peer)->refused || !may_decode(receiver, *peer, size))
			continue;
		if (parts != 1) {
			receiver_count_bad(receiver, *peer, "a message of several frames");
			continue;
		}
		if (leaves_data(receiver, *peer, size)) {
			*message = &receiver->message;
			return 1;
		}
		int error = batch_decode(receiver->decoder, zmq_msg_data(&receiver->frame), size,
					 &receiver->message);
		if (error == -ENOMEM)
			return error;
		if (error == -EPROTONOSUPPORT) {
			receiver->counts.unknown++;
			continue;
		}
		if (error) {
			receiver_count_bad(receiver, *peer, batch_decoder_error(receiver->decoder));
			continue;
		}
		if (!may_say(receiver, *peer))
			continue;
		if (!(*peer)->watched && !peer_is_unproven(*peer))
			(*peer)->watched =
				connection_watch_heard(receiver->watch, connection_of(receiver));
		*message = &receiver->message;
		return 1;
	}
	return status;
}

void receiver_frame(struct receiver *receiver, const struct peer *peer, struct held_frame *frame)
{
	*frame = (struct held_frame){
		.bytes = zmq_msg_data(&receiver->frame),
		.size = zmq_msg_size(&receiver->frame),
		.sender = peer_table_index(receiver->peers, peer),
		.serial = peer->serial,
		.heard_ns = peer->heard_ns,
		.has_data = message_seq_has(receiver->message.type),
	};
}

struct frame_of_zmq {
	struct held_frame frame; /* first */
	zmq_msg_t bytes;
};

static void release(struct held_frame *frame)
{
	zmq_msg_close(&((struct frame_of_zmq *)frame)->bytes);
	free(frame);
}

struct held_frame *receiver_hold(struct receiver *receiver, const struct peer *peer)
{
	struct frame_of_zmq *held = malloc(sizeof(*held));

	if (!held)
		return NULL;
	receiver_frame(receiver, peer, &held->frame);
	zmq_msg_init(&held->bytes);
	zmq_msg_move(&held->bytes, &receiver->frame);
	held->frame.bytes = zmq_msg_data(&held->bytes);
	held->frame.release = release;
	return &held->frame;
}

int receiver_send(struct receiver *receiver, const struct peer *peer, const struct message *message)
{
	const uint8_t *frame;
	size_t size;
	int error = batch_encode(receiver->encoder, message, &frame, &size);

	if (error)
		return error;
	if (zmq_send(receiver->socket, peer->id, peer->id_size, ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0 ||
	    zmq_send(receiver->socket, frame, size, ZMQ_DONTWAIT) < 0)
		return -errno;
	return 0;
}

int receiver_refuse(struct receiver *receiver, const struct peer *peer, enum refuse_code code,
		    const char *reason)
{
	struct message message = {
		.type = MESSAGE_REFUSE,
		.refuse = {.code = code, .reason = {reason, (uint32_t)strlen(reason)}},
	};

	receiver->counts.refused++;
	return receiver_send(receiver, peer, &message);
}

void receiver_count_unknown(struct receiver *receiver)
{
	receiver->counts.unknown++;
}

void receiver_tidy(struct receiver *receiver, uint64_t now_ns, bool all_read)
{
	const struct connection_watch_counts *counts = connection_watch_counts(receiver->watch);

	connection_watch_step(receiver->watch, now_ns);
	if (all_read)
		connection_watch_expire(receiver->watch, now_ns);
	receiver->counts.crowded = counts->crowded;
}

struct peer_table *receiver_peers(struct receiver *receiver)
{
	return receiver->peers;
}

const struct receiver_counts *receiver_counts(const struct receiver *receiver)
{
	return &receiver->counts;
}
