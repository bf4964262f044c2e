#include "guest_listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event_loop.h"
#include "proto/control.h"
#include "proto/record_ring.h"
#include "socket_path.h"

#define ACCEPTS_AT_ONCE 32

struct peer {
	struct guest_listener *listener;
	struct event_source source; /* fd -1: this place is free */
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
	uid_t allowed_uid; /* besides our own and root */
	guest_listener_control control;
	guest_listener_absence absence;
	bool paused; /* out of descriptors: not watched until the next step */
	guest_listener_arrival arrival;
	void *context;
	struct event_source source;
	struct peer peers[GUEST_LISTENER_PEERS_MAX];
	uint64_t refused;
};

static void close_peer(struct peer *peer)
{
	event_loop_remove(peer->listener->loop, &peer->source);
	close(peer->source.fd);
	peer->source.fd = -1;
}

/* ---- one handshake
 * ----------------------------------------------------------------------------------------- */

/* All descriptors that came along; the first is kept, should there be exactly one. */
static int take_fd(struct msghdr *message)
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
				close(fd);
		}
	}
	if (count > 1) {
		close(kept);
		kept = -1;
	}
	return kept;
}

/* What a peer may say. */
union request {
	uint32_t magic;
	struct guest_hello hello;
	struct control_request control;
	struct guest_absence absence;
};

/* Returns the size of the message, -EAGAIN: none yet; *fd is -1 or the caller's. */
static ssize_t receive_request(int socket_fd, union request *request, int *fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec part = {.iov_base = request, .iov_len = sizeof(*request)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	*fd = -1;
	memset(request, 0, sizeof(*request));
	ssize_t size = recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (size < 0)
		return -errno;
	*fd = take_fd(&message);
	return size;
}

static bool is_allowed(const struct guest_listener *listener, uid_t uid)
{
	return uid == geteuid() || uid == 0 || uid == listener->allowed_uid || listener->any_user;
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
	if (fd < 0 || record_ring_map(fd, &arrival.ring))
		return HANDSHAKE_REFUSED_RING;
	return listener->arrival(listener->context, &arrival, window);
}

/* A peer that doesn't take its answer only harms itself: the ring is what counts. */
static void send_answer(const struct peer *peer, const void *answer, size_t size)
{
	if (send(peer->source.fd, answer, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		errno = 0;
}

static bool answer_hello(struct peer *peer, const struct guest_hello *hello, ssize_t size, int fd)
{
	struct guest_welcome welcome = {.magic = HANDSHAKE_MAGIC, .version = HANDSHAKE_VERSION};

	welcome.flags = peer->listener->keep_rings ? HANDSHAKE_KEEP_RING : 0;
	welcome.status = decide(peer, hello, size, fd, &welcome.window);
	send_answer(peer, &welcome, sizeof(welcome));
	return welcome.status == HANDSHAKE_OK;
}

static bool answer_control(struct peer *peer, const struct control_request *request, ssize_t size)
{
	struct guest_listener *listener = peer->listener;
	size_t answer_size = 0;
	const void *answer = NULL;

	if (listener->control && size >= (ssize_t)sizeof(*request) &&
	    is_allowed(listener, peer->uid))
		answer = listener->control(listener->context, peer->uid, request, &answer_size);
	if (answer)
		send_answer(peer, answer, answer_size);
	return answer != NULL;
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

/* Whether it was understood, and is served. */
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
	ssize_t size = receive_request(peer->source.fd, &request, &fd);

	if (size == -EAGAIN || size == -EINTR)
		return;
	if (size <= 0 || !answer(peer, &request, size, fd))
		peer->listener->refused++;
	if (fd >= 0)
		close(fd);
	close_peer(peer);
}

/* ---- coming in
 * --------------------------------------------------------------------------------------------- */

/* What it has said counts, also if the loop was away since and has not read it yet. */
static void show_out(struct peer *peer)
{
	peer_ready(peer);
	if (peer->source.fd < 0)
		return;
	close_peer(peer);
	peer->listener->refused++;
}

/* A free place, or that of whoever has been silent the longest. */
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
		close(fd);
		listener->refused++;
		return;
	}
	peer = find_place(listener);
	*peer = (struct peer){
		.listener = listener,
		.source = {.fd = fd, .ready = peer_ready, .context = peer},
		.since_ns = event_loop_now_ns(),
		.pid = credentials.pid,
		.uid = credentials.uid,
	};
	if (event_loop_add(listener->loop, &peer->source)) {
		close(fd);
		peer->source.fd = -1;
		listener->refused++;
	}
}

/* false: nobody waits, or there is no descriptor for who does. */
static bool accept_one(struct guest_listener *listener)
{
	int fd = accept4(listener->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		take_in(listener, fd);
		return true;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
		event_loop_remove(listener->loop, &listener->source);
		listener->paused = true;
	}
	return false;
}

static void listener_ready(void *context)
{
	struct guest_listener *listener = context;

	for (int i = 0; i < ACCEPTS_AT_ONCE && accept_one(listener); i++)
		;
}

void guest_listener_take_all(struct guest_listener *listener)
{
	/* As many as the queue holds: who comes later would hold up the end. */
	for (int i = 0; i < SOMAXCONN && accept_one(listener); i++)
		;
	for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX; i++)
		if (listener->peers[i].source.fd >= 0)
			peer_ready(&listener->peers[i]);
}

/* ---- life
 * --------------------------------------------------------------------------------------------------
 */

static int start(struct guest_listener *listener, const char *path, const char **problem)
{
	struct stat status;

	*problem = "no memory";
	listener->path = strdup(path);
	if (!listener->path)
		return -ENOMEM;
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
		r = start(new_listener, path, &problem);
	}
	if (r == 0) {
		*listener = new_listener;
		return 0;
	}
	guest_listener_destroy(new_listener);
	if (error && asprintf(error, "socket: %s: %s (%s)", path, problem, strerror(-r)) < 0)
		*error = NULL;
	return r;
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
	if (listener->source.fd >= 0) {
		event_loop_remove(listener->loop, &listener->source);
		close(listener->source.fd);
	}
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

int guest_listener_allow(struct guest_listener *listener, uid_t uid)
{
	listener->allowed_uid = uid;
	return uid == geteuid() || chmod(listener->path, 0666) == 0 ? 0 : -errno;
}

void guest_listener_keep_rings(struct guest_listener *listener)
{
	listener->keep_rings = true;
}

uint64_t guest_listener_step(struct guest_listener *listener, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	if (listener->paused && event_loop_add(listener->loop, &listener->source) == 0)
		listener->paused = false;
	for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX; i++) {
		struct peer *peer = &listener->peers[i];
		uint64_t due_ns = peer->since_ns + GUEST_LISTENER_TIMEOUT_NS;

		if (peer->source.fd < 0)
			continue;
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
