#include "handshake_server.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/offer_name.h"

const struct record_ring_sizes handshake_sizes = RECORD_RING_SIZES_DEFAULT;
const struct guest_welcome handshake_keeping = {.magic = HANDSHAKE_MAGIC,
						.version = HANDSHAKE_VERSION,
						.status = HANDSHAKE_OK,
						.window = 1,
						.flags = HANDSHAKE_KEEP_RING};
struct agent_link handshake_made;

__thread struct handshake_faults handshake_faults;

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (handshake_faults.mmap_error == 0)
		return __real_mmap(address, size, protection, flags, fd, offset);
	errno = handshake_faults.mmap_error;
	return MAP_FAILED;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	va_list rest;

	if (handshake_faults.proc_is_gone && strncmp(path, "/proc/", strlen("/proc/")) == 0) {
		errno = ENOENT;
		return -1;
	}
	if (!(flags & O_CREAT))
		return __real_open(path, flags);
	if (handshake_faults.create_error) {
		errno = handshake_faults.create_error;
		return -1;
	}
	va_start(rest, flags);
	mode_t mode = va_arg(rest, mode_t);
	va_end(rest);
	return __real_open(path, flags, mode);
}

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);

/* A server's thread may wait for a processor longer than a guest waits for an answer. So the guest asks for its limit
 * here, and waits as long as it takes. */
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	const struct timeval *limit = value;
	const struct timeval none = {0};

	if (level != SOL_SOCKET || (name != SO_RCVTIMEO && name != SO_SNDTIMEO))
		return __real_setsockopt(fd, level, name, value, size);
	assert_int_equal(size, sizeof(*limit));
	assert_true(limit->tv_usec > 0);
	return __real_setsockopt(fd, level, name, &none, sizeof(none));
}

void handshake_server_offers(const struct handshake_server *server, char path[static 128])
{
	snprintf(path, 128, "%s.offers", server->path);
}

void handshake_server_file(const struct handshake_server *server, char path[static 256])
{
	char name[OFFER_NAME_SIZE];

	offer_name(&server->hello, name);
	snprintf(path, 256, "%s.offers/%s", server->path, name);
}

static void find_file(struct handshake_server *server)
{
	char path[256];

	handshake_server_file(server, path);
	if (lstat(path, &server->file) < 0)
		memset(&server->file, 0, sizeof(server->file));
}

static void *serve(void *user)
{
	struct handshake_server *server = user;
	struct iovec data = {&server->absence, sizeof(server->absence)};
	char control[CMSG_SPACE(sizeof(int))];
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct record_ring *ring = NULL;
	int ring_fd = -1, fd = accept(server->listener, NULL, NULL);

	if (recvmsg(fd, &message, 0) == (ssize_t)sizeof(server->hello) && CMSG_FIRSTHDR(&message))
		memcpy(&ring_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(ring_fd));
	memcpy(&server->hello, &server->absence, sizeof(server->hello));
	find_file(server);
	server->mapped = record_ring_map(ring_fd, &ring);
	record_ring_unmap(ring);
	close(ring_fd);
	if (server->answer)
		send(fd, server->answer, server->answer_size, MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

void handshake_server_serve(struct handshake_server *server)
{
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

void handshake_server_start(struct handshake_server *server, const void *answer, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memset(server, 0, sizeof(*server));
	server->answer = answer;
	server->answer_size = size;
	strcpy(server->folder, "/tmp/handshake_test_XXXXXX");
	assert_non_null(mkdtemp(server->folder));
	snprintf(server->path, sizeof(server->path), "%s/socket", server->folder);
	strcpy(address.sun_path, server->path);
	server->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server->listener, 1), 0);
	handshake_server_serve(server);
}

void handshake_server_stop(struct handshake_server *server)
{
	char path[256];

	pthread_join(server->thread, NULL);
	close(server->listener);
	unlink(server->path);
	handshake_server_file(server, path);
	unlink(path);
	handshake_server_offers(server, path);
	rmdir(path);
	rmdir(server->folder);
}

int handshake_server_lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

int handshake_server_shake(struct handshake_server *server, struct record_ring **ring,
			   uint16_t *window)
{
	*ring = (struct record_ring *)1;
	*window = 99;
	memset(&handshake_made, 0x55, sizeof(handshake_made));
	return agent_handshake(server->path, &handshake_sizes, &handshake_made, ring, window);
}
