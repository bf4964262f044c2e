#include "dealer_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zmq.h>

#include "proof_exchange.h"

#include "proto/batch/message.h"
#include "proto/connection_life.h"
#include "proto/trust/key_set.h"

#define HANDSHAKE_FAILED                                                                           \
	(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |              \
	 ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

struct dealer_socket {
	char *endpoint; /* owns */
	void *context, *own_context;
	void *socket, *monitor;
	int epoll_fd;
	uint32_t nr_sockets; /* names the monitors apart */
	bool has_keys;
	struct key_set keys;
	struct proof_exchange *proof; /* owns; NULL: the keys say whose the connection is */
	uint64_t refusals;
	bool has_reached, is_proven;
	bool wants_write;
	zmq_msg_t frame; /* the last received frame */
};

static int take_keys(struct dealer_socket *dealer, const struct key_set *keys)
{
	struct proof_exchange *proof = NULL;

	if (keys && !zmq_has("curve"))
		return -ENOTSUP;
	if (keys && !key_set_serves(keys, KEY_ROLE_AGENT)) {
		int r = key_set_serves(keys, KEY_ROLE_PUBLIC)
				? proof_exchange_create(dealer->epoll_fd, &proof)
				: -EINVAL;
		if (r)
			return r;
	}
	proof_exchange_destroy(dealer->proof);
	dealer->proof = proof;
	dealer->has_keys = keys != NULL;
	dealer->keys = keys ? *keys : (struct key_set){0};
	return 0;
}

static int set_up(struct dealer_socket *dealer, void *zmq_context)
{
	dealer->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (dealer->epoll_fd < 0)
		return -errno;
	dealer->context = zmq_context;
	if (!dealer->context)
		dealer->context = dealer->own_context = zmq_ctx_new();
	return dealer->context ? 0 : -errno;
}

int dealer_socket_create(const char *endpoint, void *zmq_context, const struct key_set *keys,
			 struct dealer_socket **dealer)
{
	struct dealer_socket *new_dealer = calloc(1, sizeof(*new_dealer));

	*dealer = NULL;
	if (!new_dealer)
		return -ENOMEM;
	new_dealer->epoll_fd = -1;
	zmq_msg_init(&new_dealer->frame);
	int r = set_up(new_dealer, zmq_context);
	if (r == 0 && endpoint)
		r = dealer_socket_aim(new_dealer, endpoint, keys);
	if (r) {
		dealer_socket_destroy(new_dealer);
		return r;
	}
	*dealer = new_dealer;
	return 0;
}

int dealer_socket_aim(struct dealer_socket *dealer, const char *endpoint,
		      const struct key_set *keys)
{
	char *copy = strdup(endpoint);
	int r = copy ? take_keys(dealer, keys) : -ENOMEM;

	if (r) {
		free(copy);
		return r;
	}
	free(dealer->endpoint);
	dealer->endpoint = copy;
	return 0;
}

void dealer_socket_destroy(struct dealer_socket *dealer)
{
	if (!dealer)
		return;
	dealer_socket_close(dealer);
	proof_exchange_destroy(dealer->proof);
	zmq_msg_close(&dealer->frame);
	if (dealer->own_context)
		zmq_ctx_term(dealer->own_context);
	if (dealer->epoll_fd >= 0)
		close(dealer->epoll_fd);
	free(dealer->endpoint);
	memset(&dealer->keys, 0, sizeof(dealer->keys));
	free(dealer);
}

int dealer_socket_fd(const struct dealer_socket *dealer)
{
	return dealer->epoll_fd;
}

static void watch(struct dealer_socket *dealer, void *socket, int operation)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd;
	size_t size = sizeof(fd);

	if (socket && zmq_getsockopt(socket, ZMQ_FD, &fd, &size) == 0)
		epoll_ctl(dealer->epoll_fd, operation, fd, &event);
}

/* The monitor stops before its reader closes. Otherwise ZeroMQ's thread, and with it all connections, would wait for
 * the reader forever. */
static void close_monitor(struct dealer_socket *dealer)
{
	zmq_socket_monitor(dealer->socket, NULL, 0);
	if (dealer->monitor)
		zmq_close(dealer->monitor);
	dealer->monitor = NULL;
}

void dealer_socket_close(struct dealer_socket *dealer)
{
	watch(dealer, dealer->socket, EPOLL_CTL_DEL);
	watch(dealer, dealer->monitor, EPOLL_CTL_DEL);
	if (dealer->socket) {
		close_monitor(dealer);
		zmq_close(dealer->socket);
	}
	dealer->socket = NULL;
}

/* Without a pair of an agent's or a user's, each socket has a fresh one. */
static int use_keys(struct dealer_socket *dealer)
{
	struct key_set *keys = &dealer->keys;
	void *socket = dealer->socket;

	if (dealer->proof) {
		if (zmq_curve_keypair(keys->client_public, keys->client_secret))
			return -errno;
		proof_exchange_begin(dealer->proof, keys->server_public, keys->client_public);
	}
	if (zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, keys->server_public, KEY_SET_TEXT) ||
	    zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->client_public, KEY_SET_TEXT) ||
	    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->client_secret, KEY_SET_TEXT))
		return -errno;
	return 0;
}

/* ZeroMQ's own heartbeats stay off: connection_life.h gives the reason. */
static int set_options(void *socket, const char *endpoint)
{
	static const struct {
		int option, value;
	} options[] = {
		{ZMQ_SNDHWM, 8},
		{ZMQ_RCVHWM, 8},
		{ZMQ_LINGER, 0},
		{ZMQ_IMMEDIATE, 1}, /* no HELLO before a peer is connected */
		{ZMQ_RECONNECT_IVL, 100},
		{ZMQ_RECONNECT_IVL_MAX, 2000},
		{ZMQ_HANDSHAKE_IVL, 5000},
		{ZMQ_TCP_KEEPALIVE, 1},
		{ZMQ_TCP_KEEPALIVE_IDLE, CONNECTION_QUIET_S},
		{ZMQ_TCP_KEEPALIVE_INTVL, CONNECTION_PROBE_S},
		{ZMQ_TCP_KEEPALIVE_CNT, CONNECTION_PROBES},
		{ZMQ_TCP_MAXRT, CONNECTION_UNANSWERED_MS},
	};
	int64_t frame_max = WIRE_FRAME_MAX;
	int ipv6 = strchr(endpoint, '[') != NULL;

	zmq_setsockopt(socket, ZMQ_IPV6, &ipv6, sizeof(ipv6));
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (zmq_setsockopt(socket, options[i].option, &options[i].value,
				   sizeof(options[i].value)))
			return -errno;
	return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &frame_max, sizeof(frame_max)) ? -errno : 0;
}

/* The monitor reports a lost connection at once; without it, only silence would show the loss. */
static void open_monitor(struct dealer_socket *dealer)
{
	char name[64];
	int no_limit = 0; /* otherwise ZeroMQ's thread would wait for us when many events come */

	snprintf(name, sizeof(name), "inproc://publisher-%p-%u", (void *)dealer,
		 ++dealer->nr_sockets);
	if (zmq_socket_monitor(dealer->socket, name,
			       ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED |
				       ZMQ_EVENT_HANDSHAKE_SUCCEEDED | HANDSHAKE_FAILED))
		return;
	dealer->monitor = zmq_socket(dealer->context, ZMQ_PAIR);
	if (dealer->monitor &&
	    zmq_setsockopt(dealer->monitor, ZMQ_RCVHWM, &no_limit, sizeof(no_limit)) == 0 &&
	    zmq_connect(dealer->monitor, name) == 0)
		return;
	close_monitor(dealer);
}

int dealer_socket_open(struct dealer_socket *dealer)
{
	dealer_socket_close(dealer);
	if (!dealer->endpoint)
		return -EDESTADDRREQ;
	dealer->socket = zmq_socket(dealer->context, ZMQ_DEALER);
	if (!dealer->socket)
		return -errno;
	int r = set_options(dealer->socket, dealer->endpoint);
	if (r == 0 && dealer->has_keys)
		r = use_keys(dealer);
	if (r == 0) {
		open_monitor(dealer);
		r = zmq_connect(dealer->socket, dealer->endpoint) ? -errno : 0;
	}
	if (r) {
		dealer_socket_close(dealer);
		return r;
	}
	watch(dealer, dealer->socket, EPOLL_CTL_ADD);
	watch(dealer, dealer->monitor, EPOLL_CTL_ADD);
	return 0;
}

static int socket_events(const struct dealer_socket *dealer)
{
	int events = 0;
	size_t size = sizeof(events);

	if (!dealer->socket || zmq_getsockopt(dealer->socket, ZMQ_EVENTS, &events, &size))
		return 0;
	return events;
}

/* Does what is to be done until the aggregator knows whose the connection is. A closed socket has news, too: untaken,
 * they would keep the descriptor readable. */
static void prove(struct dealer_socket *dealer)
{
	size_t size;
	const uint8_t *frame =
		proof_exchange_step(dealer->proof, socket_events(dealer) & ZMQ_POLLOUT, &size);

	if (frame && zmq_send(dealer->socket, frame, size, ZMQ_DONTWAIT) >= 0)
		proof_exchange_sent(dealer->proof);
}

int dealer_socket_receive(struct dealer_socket *dealer, const uint8_t **frame, size_t *size)
{
	do {
		*frame = NULL;
		*size = 0;
		if (dealer->proof)
			prove(dealer);
		if (!dealer->socket)
			return 0;
		if (zmq_msg_recv(&dealer->frame, dealer->socket, ZMQ_DONTWAIT) < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		*frame = zmq_msg_data(&dealer->frame);
		*size = zmq_msg_size(&dealer->frame);
	} while (dealer->proof && proof_exchange_take(dealer->proof, *frame, *size));
	return 1;
}

int dealer_socket_send(struct dealer_socket *dealer, const uint8_t *frame, size_t size)
{
	dealer->wants_write = dealer->proof && !proof_exchange_is_done(dealer->proof);
	if (dealer->wants_write)
		return 0;
	if (zmq_send(dealer->socket, frame, size, ZMQ_DONTWAIT) >= 0)
		return 1;
	if (errno != EAGAIN && errno != EINTR)
		return -errno;
	dealer->wants_write = true;
	return 0;
}

/* Returns the monitor's next event and its value: the first 16 and the next 32 bits of its first part. 0: none. */
static uint16_t next_event(struct dealer_socket *dealer, int32_t *value)
{
	uint8_t part[64];
	uint16_t event = 0;
	int more = 1;

	for (size_t size = sizeof(more); more && dealer->monitor;) {
		int received = zmq_recv(dealer->monitor, part, sizeof(part), ZMQ_DONTWAIT);

		if (received < 0)
			return 0;
		if (!event && received == sizeof(event) + sizeof(*value)) {
			memcpy(&event, part, sizeof(event));
			memcpy(value, part + sizeof(event), sizeof(*value));
		}
		zmq_getsockopt(dealer->monitor, ZMQ_RCVMORE, &more, &size);
	}
	return event;
}

/* A peer with another secret ends the connection without an error. A slow peer lets the handshake time out. */
static bool is_refusal(uint16_t event, int32_t value)
{
	if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
		return value == EPIPE || value == ECONNRESET;
	return event & HANDSHAKE_FAILED;
}

bool dealer_socket_was_lost(struct dealer_socket *dealer)
{
	bool lost = false;
	uint16_t event;
	int32_t value;

	while ((event = next_event(dealer, &value)) != 0) {
		if (event == ZMQ_EVENT_DISCONNECTED && dealer->proof)
			proof_exchange_begin(dealer->proof, "", "");
		lost |= event == ZMQ_EVENT_DISCONNECTED;
		dealer->has_reached |= event == ZMQ_EVENT_CONNECTED;
		dealer->is_proven |= dealer->has_keys && event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
		dealer->refusals += dealer->has_keys && is_refusal(event, value);
	}
	return lost;
}

uint64_t dealer_socket_refusals(const struct dealer_socket *dealer)
{
	return dealer->refusals;
}

bool dealer_socket_has_reached(const struct dealer_socket *dealer)
{
	return dealer->has_reached;
}

bool dealer_socket_is_proven(const struct dealer_socket *dealer)
{
	return dealer->is_proven;
}

bool dealer_socket_has_work(struct dealer_socket *dealer)
{
	const bool is_known = !dealer->proof || proof_exchange_is_done(dealer->proof);
	const int events = socket_events(dealer);
	const bool writes = is_known ? dealer->wants_write : proof_exchange_wants(dealer->proof);

	return events & ZMQ_POLLIN || (events & ZMQ_POLLOUT && writes);
}

const char *dealer_socket_problem(const struct dealer_socket *dealer)
{
	return dealer->proof ? proof_exchange_problem(dealer->proof) : "";
}

const char *dealer_socket_error(int error)
{
	return zmq_strerror(-error);
}
