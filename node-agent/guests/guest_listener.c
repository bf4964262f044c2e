#include "guest_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error_text.h"
#include "node-agent/base/descriptor_closer.h"
#include "node-agent/base/event_loop.h"
#include "node-agent/base/socket_path.h"
#include "proto/control.h"
#include "proto/ring/record_ring.h"

#define ACCEPTS_AT_ONCE 32
#define FDS_MAX         253u /* of one message: the kernel's SCM_MAX_FD */
#define CLOSER_WAIT_MS  1000u
#define RETRY_NS        100000000ull

/* Bounds for the descriptors that wait to be closed; within them half of the process's limit may wait. */
#define CLOSER_MIN 1024u
#define CLOSER_MAX 8192u

/* The closer must hold the descriptors of one message, and all peers that leave before its next look. */
#define CLOSER_ROOM_MIN (FDS_MAX + GUEST_LISTENER_PEERS_MAX + 1u)

/* Descriptors that are kept free. Receiving closes a message's descriptors that find no place, and that close may
 * block. A guest of our own user sends one descriptor. */
#define SPARE_FDS     16u
#define SPARE_FDS_ANY (FDS_MAX + GUEST_LISTENER_PEERS_MAX)

#define NO_FD   (-1)
#define LOST_FD (-2)

struct peer {
	struct guest_listener *listener;
	struct event_source source; /* fd -1: the place is free */
	bool paused;                /* not watched until the closer has room */
	uint64_t since_ns;
	pid_t pid;
	uid_t uid;
};

struct guest_listener {
	struct event_loop *loop;
	char *path; /* owns */
	dev_t device;
	ino_t inode;
	bool bound, any_user, keep_rings;
	uid_t allowed_uid; /* admitted besides our own user and root */
	guest_listener_control control;
	guest_listener_absence absence;
	guest_listener_settled settled;
	guest_listener_tables tables;
	bool ends;   /* nobody is left in the queue, even if there is no descriptor for rings */
	bool paused; /* out of descriptors, or of room to close them; a later step watches again */
	struct descriptor_closer *closer; /* owns */
	guest_listener_arrival arrival;
	void *context;
	struct event_source source;
	struct peer peers[GUEST_LISTENER_PEERS_MAX];
	uint64_t refused;
};

/* Unread messages of the peer may hold descriptors, so closing it may block. */
static void close_peer(struct peer *peer)
{
	if (!peer->paused)
		event_loop_remove(peer->listener->loop, &peer->source);
	shutdown(peer->source.fd, SHUT_RDWR);
	descriptor_closer_add(peer->listener->closer, peer->source.fd, geteuid());
	peer->source.fd = -1;
}

static bool can_close(struct guest_listener *listener)
{
	return descriptor_closer_room(listener->closer, geteuid()) >= CLOSER_ROOM_MIN;
}

/* The closer needs room for all descriptors of a message, and the user must leave room to others. */
static bool can_read(const struct peer *peer)
{
	return can_close(peer->listener) &&
	       descriptor_closer_room(peer->listener->closer, peer->uid) >= FDS_MAX;
}

/* ---- one handshake ----------------------------------------------------------------------------- */

/* Returns whether the descriptor is of memory, whose close() never blocks. A request for seals is never passed to a
 * user's file system. */
static bool is_memory(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

static void close_fd(const struct peer *peer, int fd)
{
	if (is_memory(fd))
		close(fd);
	else
		descriptor_closer_add(peer->listener->closer, fd, peer->uid);
}

/* Takes all descriptors of the message. Keeps one only if it came alone and is of memory. */
static int take_fd(const struct peer *peer, struct msghdr *message)
{
	int kept = -1, count = 0;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		size_t nr = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nr; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
			if (count++ == 0)
				kept = fd;
			else
				close_fd(peer, fd);
		}
	}
	if (count == 1 && is_memory(kept))
		return kept;
	if (count > 0)
		close_fd(peer, kept);
	return NO_FD;
}

union request {
	uint32_t magic;
	struct guest_hello hello;
	struct control_request control;
	struct guest_absence absence;
};

/* Returns the size of the message; -EAGAIN: none yet. The caller owns *fd. It is NO_FD if no descriptor of memory came,
 * and LOST_FD if this process had no room for it. */
static ssize_t receive_request(struct peer *peer, union request *request, int *fd)
{
	/* There is room for the most that can come, because the kernel closes further descriptors within this call. */
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec part = {.iov_base = request, .iov_len = sizeof(*request)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	*fd = NO_FD;
	memset(request, 0, sizeof(*request));
	ssize_t size = recvmsg(peer->source.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (size < 0)
		return -errno;
	*fd = take_fd(peer, &message);
	if (*fd == NO_FD && message.msg_flags & MSG_CTRUNC)
		*fd = LOST_FD;
	return size;
}

static bool is_allowed(const struct guest_listener *listener, uid_t uid)
{
	return uid == geteuid() || uid == 0 || uid == listener->allowed_uid || listener->any_user;
}

static uint32_t max_fds(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > INT32_MAX
		       ? INT32_MAX
		       : (uint32_t)limit.rlim_cur;
}

/* Returns whether the next descriptor is near the limit. */
static bool is_near_limit(const struct guest_listener *listener)
{
	int fd = fcntl(listener->source.fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return true;
	close(fd);
	return (uint32_t)fd + (listener->any_user ? SPARE_FDS_ANY : SPARE_FDS) >= max_fds();
}

static enum handshake_status decide(struct peer *peer, const struct guest_hello *hello,
				    ssize_t size, int fd, uint32_t *window)
{
	struct guest_listener *listener = peer->listener;
	struct guest_arrival arrival = {.pid = peer->pid, .uid = peer->uid, .hello = hello};

	if (!is_allowed(listener, peer->uid))
		return HANDSHAKE_REFUSED_USER;
	if (size < (ssize_t)sizeof(*hello) || hello->magic != HANDSHAKE_MAGIC ||
	    hello->version != HANDSHAKE_VERSION)
		return HANDSHAKE_REFUSED_VERSION;
	int error = fd == NO_FD ? -EBADF
		    : fd == LOST_FD || (listener->ends && is_near_limit(listener))
			    ? -EMFILE
			    : record_ring_map(fd, &arrival.ring);
	if (error && error != -EMFILE && error != -ENFILE && error != -ENOMEM)
		return HANDSHAKE_REFUSED_RING;
	return listener->arrival(listener->context, &arrival, window);
}

/* A peer that takes no answer harms only itself: the ring decides what is recorded. */
static void send_answer(const struct peer *peer, const void *answer, size_t size)
{
	(void)send(peer->source.fd, answer, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* tables: a descriptor to send along; -1: none. */
static void send_welcome(const struct peer *peer, const struct guest_welcome *welcome, int tables)
{
	struct iovec part = {.iov_base = (void *)(uintptr_t)welcome, .iov_len = sizeof(*welcome)};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (tables >= 0) {
		control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.head), &tables, sizeof(tables));
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	(void)sendmsg(peer->source.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool answer_hello(struct peer *peer, const struct guest_hello *hello, ssize_t size, int fd)
{
	const struct guest_listener *listener = peer->listener;
	struct guest_welcome welcome = {.magic = HANDSHAKE_MAGIC, .version = HANDSHAKE_VERSION};
	int tables = -1;

	welcome.flags = listener->keep_rings ? HANDSHAKE_KEEP_RING : 0;
	welcome.status = decide(peer, hello, size, fd, &welcome.window);
	if (listener->settled && welcome.status != HANDSHAKE_REFUSED_FULL &&
	    size >= (ssize_t)sizeof(*hello))
		listener->settled(listener->context, peer->uid, hello);
	if (listener->tables && welcome.status == HANDSHAKE_OK)
		tables = listener->tables(listener->context, peer->uid);
	send_welcome(peer, &welcome, tables);
	return welcome.status == HANDSHAKE_OK;
}

static bool answer_control(struct peer *peer, const struct control_request *request, ssize_t size)
{
	struct guest_listener *listener = peer->listener;
	struct control_reply refusal = {.magic = CONTROL_MAGIC, .version = CONTROL_VERSION};
	size_t answer_size = sizeof(refusal);
	const void *answer = &refusal;

	if (!is_allowed(listener, peer->uid))
		refusal.status = CONTROL_REFUSED_USER;
	else if (!listener->control || size < (ssize_t)sizeof(*request))
		refusal.status = CONTROL_REFUSED_VERSION;
	else
		answer = listener->control(listener->context, peer->uid, request, &answer_size);
	/* A guest that gets no answer believes that the agent has ended. */
	send_answer(peer, answer, answer_size);
	return answer != &refusal;
}

static bool take_absence(const struct peer *peer, const struct guest_absence *absence, ssize_t size)
{
	struct guest_listener *listener = peer->listener;
	bool is_heard = listener->absence && size >= (ssize_t)sizeof(*absence) &&
			absence->version == HANDSHAKE_VERSION && is_allowed(listener, peer->uid);

	if (is_heard)
		listener->absence(listener->context, peer->pid, peer->uid, absence);
	return is_heard;
}

static bool answer(struct peer *peer, const union request *request, ssize_t size, int fd)
{
	if (request->magic == CONTROL_MAGIC)
		return answer_control(peer, &request->control, size);
	if (request->magic == HANDSHAKE_ABSENCE_MAGIC)
		return take_absence(peer, &request->absence, size);
	return answer_hello(peer, &request->hello, size, fd);
}

static void peer_ready(void *context)
{
	struct peer *peer = context;
	union request request;
	int fd;

	if (!can_read(peer)) {
		if (!peer->paused)
			event_loop_remove(peer->listener->loop, &peer->source);
		peer->paused = true;
		return;
	}
	ssize_t size = receive_request(peer, &request, &fd);
	if (size == -EAGAIN || size == -EINTR)
		return;
	if (size <= 0 || !answer(peer, &request, size, fd))
		peer->listener->refused++;
	if (fd >= 0)
		close(fd);
	close_peer(peer);
}

/* ---- coming in -------------------------------------------------------------------------------- */

/* The loop may have been away: the peer's last message may wait unread, and counts. */
static void show_out(struct peer *peer)
{
	peer_ready(peer);
	if (peer->source.fd < 0)
		return;
	close_peer(peer);
	peer->listener->refused++;
}

/* Finds a free place, or takes the place of the peer that has been silent longest. */
static struct peer *find_place(struct guest_listener *listener)
{
	struct peer *oldest = &listener->peers[0];

	for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX; i++) {
		struct peer *peer = &listener->peers[i];

		if (peer->source.fd < 0)
			return peer;
		if (peer->since_ns < oldest->since_ns)
			oldest = peer;
	}
	show_out(oldest);
	return oldest;
}

static void take_in(struct guest_listener *listener, int fd)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);
	struct peer *peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size)) {
		descriptor_closer_add(listener->closer, fd, geteuid());
		listener->refused++;
		return;
	}
	peer = find_place(listener);
	*peer = (struct peer){
		.listener = listener,
		.source = {.fd = fd, .ready = peer_ready, .context = peer},
		.since_ns = clock_now_ns(),
		.pid = credentials.pid,
		.uid = credentials.uid,
	};
	if (event_loop_add(listener->loop, &peer->source)) {
		peer->paused = true;
		close_peer(peer);
		listener->refused++;
	}
}

static void pause_listening(struct guest_listener *listener)
{
	if (!listener->paused)
		event_loop_remove(listener->loop, &listener->source);
	listener->paused = true;
}

static struct descriptor_closer *make_closer(void)
{
	uint32_t max = max_fds() / 2;

	if (max < CLOSER_MIN)
		max = CLOSER_MIN;
	return descriptor_closer_create(max < CLOSER_MAX ? max : CLOSER_MAX);
}

/* Without a descriptor to spare the guest stays in the queue, with its offer. A later step takes it in, even if its
 * process has ended by then. */
static bool accept_one(struct guest_listener *listener)
{
	int fd = -1;

	if (can_close(listener) && (listener->ends || !is_near_limit(listener)))
		fd = accept4(listener->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	else
		errno = EMFILE;
	if (fd >= 0) {
		take_in(listener, fd);
		return true;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		pause_listening(listener);
	return false;
}

static void listener_ready(void *context)
{
	struct guest_listener *listener = context;

	for (int i = 0; i < ACCEPTS_AT_ONCE && accept_one(listener); i++)
		;
}

static void read_peers(struct guest_listener *listener)
{
	for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX; i++)
		if (listener->peers[i].source.fd >= 0)
			peer_ready(&listener->peers[i]);
}

void guest_listener_take_all(struct guest_listener *listener)
{
	listener->ends = true;
	read_peers(listener);
	/* The queue bounds the loop: peers that keep arriving must not hold up the end. */
	for (int i = 0; i < SOMAXCONN && accept_one(listener); i++)
		read_peers(listener);
}

/* ---- life ------------------------------------------------------------------------------------- */

static int start(struct guest_listener *listener, const char *path, const char **problem)
{
	struct stat status;

	*problem = "no memory";
	listener->path = strdup(path);
	if (!listener->path)
		return -ENOMEM;
	*problem = "the limit of open files (ulimit -n) is too low for guests of all users: raise "
		   "it to 512";
	if (listener->any_user && max_fds() < GUEST_LISTENER_FDS_MIN)
		return -EMFILE;
	int fd = socket_path_listen(path, listener->any_user ? 0666 : 0600, problem);
	if (fd < 0)
		return fd;
	listener->source.fd = fd;
	*problem = "the new socket is gone";
	if (lstat(path, &status))
		return -errno;
	listener->device = status.st_dev;
	listener->inode = status.st_ino;
	listener->bound = true;
	*problem = "the socket can't be watched";
	return event_loop_add(listener->loop, &listener->source);
}

int guest_listener_create(struct event_loop *loop, const char *path, bool any_user,
			  guest_listener_arrival arrival, void *context,
			  struct guest_listener **listener, char **error)
{
	struct guest_listener *new_listener = calloc(1, sizeof(*new_listener));
	const char *problem = "no memory";
	int r = -ENOMEM;

	*listener = NULL;
	if (error)
		*error = NULL;
	if (new_listener) {
		new_listener->loop = loop;
		new_listener->any_user = any_user;
		new_listener->allowed_uid = geteuid();
		new_listener->arrival = arrival;
		new_listener->context = context;
		new_listener->source = (struct event_source){-1, listener_ready, new_listener};
		for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX; i++) {
			new_listener->peers[i].listener = new_listener;
			new_listener->peers[i].source.fd = -1;
		}
		new_listener->closer = make_closer();
		if (new_listener->closer)
			r = start(new_listener, path, &problem);
	}
	if (r == 0) {
		*listener = new_listener;
		return 0;
	}
	guest_listener_destroy(new_listener);
	return error_text_set(error, r, "socket: %s: %s (%s)", path, problem, strerror(-r));
}

void guest_listener_destroy(struct guest_listener *listener)
{
	if (!listener)
		return;
	for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX; i++)
		if (listener->peers[i].source.fd >= 0)
			close_peer(&listener->peers[i]);
	if (listener->bound)
		socket_path_remove(listener->path, listener->device, listener->inode);
	/* Closing the socket also closes connections that were not accepted, with the descriptors in them. */
	if (listener->source.fd >= 0) {
		event_loop_remove(listener->loop, &listener->source);
		descriptor_closer_add(listener->closer, listener->source.fd, geteuid());
	}
	descriptor_closer_destroy(listener->closer, CLOSER_WAIT_MS);
	free(listener->path);
	free(listener);
}

void guest_listener_on_control(struct guest_listener *listener, guest_listener_control control)
{
	listener->control = control;
}

void guest_listener_on_absence(struct guest_listener *listener, guest_listener_absence absence)
{
	listener->absence = absence;
}

void guest_listener_on_tables(struct guest_listener *listener, guest_listener_tables tables)
{
	listener->tables = tables;
}

void guest_listener_on_settled(struct guest_listener *listener, guest_listener_settled settled)
{
	listener->settled = settled;
}

int guest_listener_allow(struct guest_listener *listener, uid_t uid)
{
	listener->allowed_uid = uid;
	return uid == geteuid() || chmod(listener->path, 0666) == 0 ? 0 : -errno;
}

void guest_listener_keep_rings(struct guest_listener *listener)
{
	listener->keep_rings = true;
}

static void watch_again(struct guest_listener *listener)
{
	if (listener->paused && can_close(listener) && !is_near_limit(listener) &&
	    event_loop_add(listener->loop, &listener->source) == 0)
		listener->paused = false;
	for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX; i++) {
		struct peer *peer = &listener->peers[i];

		if (peer->source.fd >= 0 && peer->paused && can_read(peer) &&
		    event_loop_add(listener->loop, &peer->source) == 0)
			peer->paused = false;
	}
}

uint64_t guest_listener_step(struct guest_listener *listener, uint64_t now_ns)
{
	watch_again(listener);

	uint64_t next_ns = listener->paused ? now_ns + RETRY_NS : UINT64_MAX;
	for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX; i++) {
		struct peer *peer = &listener->peers[i];
		uint64_t due_ns = peer->since_ns + GUEST_LISTENER_TIMEOUT_NS;

		if (peer->source.fd < 0)
			continue;
		if (peer->paused)
			due_ns = now_ns + RETRY_NS;
		if (due_ns <= now_ns) {
			show_out(peer);
		} else if (due_ns < next_ns) {
			next_ns = due_ns;
		}
	}
	return next_ns;
}

uint64_t guest_listener_refused(const struct guest_listener *listener)
{
	return listener->refused;
}
