#include "connection_watch.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <zmq.h>

#include "base/array.h"

/* In a monitor's first part: an event's number (16 bits) and value (32 bits). */
#define EVENT_SIZE 6u
#define FD_MAX     (1u << 20)
#define NS_PER_MS  1000000u

/* Connections that were heard, and those that were not: of those anybody may have many. */
enum group { STRANGERS, HEARD, GROUPS };

/* Of a group: the bytes without a whole message, of each connection and of all together, and the time between two
 * looks for them. A look at one connection takes about 1 us. */
static const struct bound {
	uint64_t each_bytes, all_bytes, look_ns;
} bounds[GROUPS] = {
	[STRANGERS] = {CONNECTION_WATCH_FIRST_MAX, CONNECTION_WATCH_FIRST_SUM_MAX,
		       CONNECTION_WATCH_LOOK_MS *NS_PER_MS},
	[HEARD] = {CONNECTION_WATCH_ENDLESS_MAX, CONNECTION_WATCH_ENDLESS_SUM_MAX, 1000000000u},
};

struct connection {
	uint64_t silent_since_ns;
	uint64_t bytes;      /* that had come at the first look after a whole message */
	uint64_t unfinished; /* bytes that had come since, at the last look */
	bool open, heard, ended;
	bool has_new_message; /* a whole one, since the last look */
};

struct connection_watch {
	void *socket, *monitor;
	uint32_t connections_max;
	struct connection *connections; /* owns; by descriptor */
	uint32_t room;
	uint64_t looked_ns[GROUPS];
	bool has_strangers; /* since the last look */
	struct connection_watch_counts counts;
};

static int open_monitor(struct connection_watch *watch, void *context)
{
	/* A name is free only some time after its socket is closed, so none comes twice. */
	static atomic_uint nr_names;
	char name[64];
	int no_limit = 0; /* with a limit, ZeroMQ's own thread would wait for us */

	snprintf(name, sizeof(name), "inproc://connections-%u", atomic_fetch_add(&nr_names, 1));
	if (zmq_socket_monitor(watch->socket, name, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED))
		return -errno;
	watch->monitor = zmq_socket(context, ZMQ_PAIR);
	if (!watch->monitor ||
	    zmq_setsockopt(watch->monitor, ZMQ_RCVHWM, &no_limit, sizeof(no_limit)) ||
	    zmq_connect(watch->monitor, name))
		return -errno;
	return 0;
}

int connection_watch_create(void *zmq_context, void *zmq_socket, uint32_t connections_max,
			    struct connection_watch **watch)
{
	struct connection_watch *new_watch = calloc(1, sizeof(*new_watch));

	*watch = NULL;
	if (!new_watch)
		return -ENOMEM;
	new_watch->socket = zmq_socket;
	new_watch->connections_max = connections_max ? connections_max : 1;
	int error = open_monitor(new_watch, zmq_context);
	if (error) {
		connection_watch_destroy(new_watch);
		return error;
	}
	*watch = new_watch;
	return 0;
}

void connection_watch_destroy(struct connection_watch *watch)
{
	if (!watch)
		return;
	zmq_socket_monitor(watch->socket, NULL, 0);
	if (watch->monitor)
		zmq_close(watch->monitor);
	free(watch->connections);
	free(watch);
}

void *connection_watch_socket(struct connection_watch *watch)
{
	return watch->monitor;
}

/* NULL: the connection is not watched. */
static struct connection *find(const struct connection_watch *watch, int fd)
{
	if (fd < 0 || (uint32_t)fd >= watch->room || !watch->connections[fd].open)
		return NULL;
	return &watch->connections[fd];
}

/* Adds a connection. Without memory the connection is not watched. */
static void add(struct connection_watch *watch, int fd, uint64_t now_ns)
{
	if (fd < 0 || (uint32_t)fd >= FD_MAX)
		return;
	if (array_reserve_zeroed(&watch->connections, &watch->room, (uint32_t)fd + 1,
				 sizeof(*watch->connections)))
		return;
	watch->counts.open += !watch->connections[fd].open;
	watch->connections[fd] = (struct connection){.silent_since_ns = now_ns, .open = true};
	watch->has_strangers = true;
}

static void forget(struct connection_watch *watch, int fd)
{
	struct connection *connection = find(watch, fd);

	if (!connection)
		return;
	connection->open = false;
	watch->counts.open--;
}

/* Returns 1; 0: there are no more events. */
static int next_event(struct connection_watch *watch, uint16_t *event, int32_t *value)
{
	uint8_t part[256];
	int more = 1;

	*event = 0;
	for (size_t size = sizeof(more); more;) {
		int received = zmq_recv(watch->monitor, part, sizeof(part), ZMQ_DONTWAIT);

		if (received < 0)
			return 0;
		if (!*event && received == EVENT_SIZE) {
			memcpy(event, part, sizeof(*event));
			memcpy(value, part + sizeof(*event), sizeof(*value));
		}
		zmq_getsockopt(watch->monitor, ZMQ_RCVMORE, &more, &size);
	}
	return 1;
}

static void end(struct connection_watch *watch, int fd, uint64_t *count)
{
	struct connection *connection = find(watch, fd);

	shutdown(fd, SHUT_RDWR);
	connection->ended = true;
	(*count)++;
}

/* With too many connections, ends the connection that was silent for longest, or the newest if none was. */
static void make_room(struct connection_watch *watch, int newest_fd)
{
	int victim = newest_fd;
	uint32_t nr_ending = 0;

	for (uint32_t fd = 0; fd < watch->room; fd++) {
		const struct connection *connection = find(watch, (int)fd);

		nr_ending += connection && connection->ended;
		if (!connection || connection->heard || connection->ended)
			continue;
		if (connection->silent_since_ns < watch->connections[victim].silent_since_ns)
			victim = (int)fd;
	}
	if (watch->counts.open - nr_ending > watch->connections_max)
		end(watch, victim, &watch->counts.crowded);
}

void connection_watch_step(struct connection_watch *watch, uint64_t now_ns)
{
	uint16_t event;
	int32_t value;

	while (next_event(watch, &event, &value)) {
		if (event == ZMQ_EVENT_DISCONNECTED)
			forget(watch, value);
		if (event != ZMQ_EVENT_ACCEPTED)
			continue;
		add(watch, value, now_ns);
		if (watch->counts.open > watch->connections_max && find(watch, value))
			make_room(watch, value);
	}
}

bool connection_watch_heard(struct connection_watch *watch, int fd)
{
	struct connection *connection = find(watch, fd);

	if (connection)
		connection->heard = true;
	return connection || fd < 0;
}

void connection_watch_took(struct connection_watch *watch, int fd)
{
	struct connection *connection = find(watch, fd);

	if (connection)
		connection->has_new_message = true;
}

void connection_watch_ignore(struct connection_watch *watch, int fd)
{
	struct connection *connection = find(watch, fd);

	if (!connection)
		return;
	connection->heard = false;
	watch->has_strangers = true;
}

void connection_watch_end(struct connection_watch *watch, int fd)
{
	const struct connection *connection = find(watch, fd);

	if (connection && !connection->ended)
		end(watch, fd, &watch->counts.asked);
}

/* Returns the bytes that have come by the connection; 0: it is not TCP. */
static uint64_t bytes_received(int fd)
{
	struct tcp_info info = {.tcpi_bytes_received = 0};
	socklen_t size = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) ? 0 : info.tcpi_bytes_received;
}

static void look(struct connection *connection, int fd)
{
	uint64_t bytes = bytes_received(fd);

	if (connection->has_new_message)
		connection->bytes = bytes;
	connection->has_new_message = false;
	/* A descriptor that was closed meanwhile has fewer. */
	connection->unfinished = bytes > connection->bytes ? bytes - connection->bytes : 0;
}

static bool is_silent(const struct connection *connection, uint64_t now_ns)
{
	return !connection->heard &&
	       now_ns - connection->silent_since_ns >= CONNECTION_WATCH_SILENT_NS;
}

static bool is_live(const struct connection *connection, enum group group)
{
	return connection && !connection->ended && connection->heard == (group == HEARD);
}

/* Ends the connections with more bytes than an equal share, so that those with small messages stay. */
static void end_above(struct connection_watch *watch, enum group group, uint64_t share)
{
	for (uint32_t fd = 0; fd < watch->room && watch->counts.open; fd++) {
		const struct connection *connection = find(watch, (int)fd);

		if (is_live(connection, group) && connection->unfinished > share)
			end(watch, (int)fd, &watch->counts.endless);
	}
}

/* Ends those of a group that are to end. Returns whether it has any left. */
static bool expire(struct connection_watch *watch, enum group group, uint64_t now_ns)
{
	const struct bound *bound = &bounds[group];
	const bool looks = now_ns - watch->looked_ns[group] >= bound->look_ns;
	uint64_t count = 0, bytes = 0;

	if (looks)
		watch->looked_ns[group] = now_ns;
	for (uint32_t fd = 0; fd < watch->room && watch->counts.open; fd++) {
		struct connection *connection = find(watch, (int)fd);

		if (!is_live(connection, group))
			continue;
		if (looks)
			look(connection, (int)fd);
		if (connection->unfinished > bound->each_bytes) {
			end(watch, (int)fd, &watch->counts.endless);
		} else if (is_silent(connection, now_ns)) {
			end(watch, (int)fd, &watch->counts.silent);
		} else {
			bytes += connection->unfinished;
			count++;
		}
	}
	if (bytes > bound->all_bytes)
		end_above(watch, group, bound->all_bytes / count);
	return count > 0;
}

void connection_watch_expire(struct connection_watch *watch, uint64_t now_ns)
{
	expire(watch, HEARD, now_ns);
	watch->has_strangers = expire(watch, STRANGERS, now_ns);
}

int connection_watch_wait_ms(const struct connection_watch *watch, int wait_ms)
{
	bool is_longer = wait_ms < 0 || wait_ms > (int)CONNECTION_WATCH_LOOK_MS;

	return watch->has_strangers && is_longer ? (int)CONNECTION_WATCH_LOOK_MS : wait_ms;
}

const struct connection_watch_counts *connection_watch_counts(const struct connection_watch *watch)
{
	return &watch->counts;
}
