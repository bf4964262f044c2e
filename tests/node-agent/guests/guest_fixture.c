#include "guest_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "node-agent/files/proc_file.h"

const struct record_ring_sizes guest_fixture_sizes = {
	.launch_lanes = 8,
	.launch_lane_records = 1u << 12,
	.activity_records = 1u << 14,
	.definition_bytes = 1u << 20,
	.stacks = 1u << 12,
	.stack_words = 1u << 16,
	.codes = 256,
	.code_words = 1u << 12,
};

int guest_fixture_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

long guest_fixture_send(int socket_fd, const void *data, size_t size, const int *fds,
			uint32_t nr_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (nr_fds > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(head), fds, nr_fds * sizeof(int));
	}
	return sendmsg(socket_fd, &message, MSG_NOSIGNAL);
}

struct guest_hello guest_fixture_hello(uint8_t instance)
{
	return (struct guest_hello){
		.magic = HANDSHAKE_MAGIC,
		.version = HANDSHAKE_VERSION,
		.pid = (uint32_t)getpid(),
		.start_ticks = proc_file_start_ticks(getpid()),
		.instance = {instance},
	};
}

int guest_fixture_handshake(const char *path, int ring_fd, uint8_t instance)
{
	struct guest_hello hello = guest_fixture_hello(instance);
	struct guest_welcome welcome;
	int fd = guest_fixture_connect(path);
	int status = -1;

	if (fd < 0)
		return -1;
	if (guest_fixture_send(fd, &hello, sizeof(hello), &ring_fd, 1) == sizeof(hello) &&
	    recv(fd, &welcome, sizeof(welcome), 0) == sizeof(welcome))
		status = (int)welcome.status;
	close(fd);
	return status;
}

int guest_fixture_lingering(int *other_end)
{
	const struct linger hour = {.l_onoff = 1, .l_linger = 3600};
	const int small = 4096;
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char bytes[65536] = {0};
	int r = setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) ||
		bind(listening, (const struct sockaddr *)&address, size) || listen(listening, 1) ||
		getsockname(listening, (struct sockaddr *)&address, &size) ||
		(connect(fd, (const struct sockaddr *)&address, size) && errno != EINPROGRESS);

	*other_end = accept(listening, NULL, NULL);
	close(listening);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	if (!r && *other_end >= 0 && fcntl(fd, F_SETFL, 0) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)) == 0)
		return fd;
	close(*other_end);
	close(fd);
	return -1;
}
