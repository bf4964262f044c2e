#include "agent_handshake.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "proto/handshake.h"
#include "proto/offer_name.h"
#include "proto/ring/record_ring.h"

#define CONNECT_US 500000 /* and as long again for the answer */
#define STAT_START 22     /* field number in /proc/self/stat */

/* A kept descriptor's number is above those that programs count on. It is below the limit of select(), and below the
 * size at which the kernel's table grows. A program with too few numbers to spare keeps all of them. */
#define KEPT_FD_MIN   1000u
#define KEPT_FD_SPARE 64u

static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	do
		got = read(fd, text, size - 1);
	while (got < 0 && errno == EINTR);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got;
}

/* Not strtoull(): it is bound to newer C libraries than the guest may need. */
static uint64_t decimal(const char *text)
{
	uint64_t value = 0;

	while (*text == ' ')
		text++;
	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value;
}

static uint64_t start_ticks(void)
{
	char text[1024];
	const char *at;

	if (read_file("/proc/self/stat", text, sizeof(text)) <= 0)
		return 0;
	/* The second field, the command, may hold anything, but the last parenthesis ends it. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < STAT_START; field++)
		at = strchr(at + 1, ' ');
	return at ? decimal(at) : 0;
}

uint64_t agent_handshake_pid_namespace(void)
{
	char text[64];
	ssize_t size = readlink("/proc/self/ns/pid", text, sizeof(text) - 1);
	const char *number;

	text[size > 0 ? size : 0] = '\0';
	number = strchr(text, '['); /* "pid:[4026531836]" */
	return number ? decimal(number + 1) : 0;
}

static void random_instance(uint8_t *instance)
{
	struct timespec now;
	uint64_t seed[2];

	static_assert(sizeof(seed) == HANDSHAKE_INSTANCE_SIZE, "all of it is filled");
	if (syscall(SYS_getrandom, instance, HANDSHAKE_INSTANCE_SIZE, 0) == HANDSHAKE_INSTANCE_SIZE)
		return;
	/* Kernels before 3.17: time and layout still tell one image of a process from the next. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	seed[0] = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec;
	seed[1] = (uint64_t)(uintptr_t)&now ^ (uint64_t)getpid() << 48;
	memcpy(instance, seed, sizeof(seed));
}

/* flags: of socket(). */
static int connect_to(const char *path, int flags)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval timeout = {.tv_usec = CONNECT_US};
	int error = 0;
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		error = -errno; /* EAGAIN: its queue is full */
	if (error < 0) {
		close(fd);
		return error;
	}
	return fd;
}

static uint32_t run_number(void)
{
	const char *text = getenv(HANDSHAKE_RUN_ENV);

	return text ? (uint32_t)decimal(text) : 0;
}

static void fill_hello(struct guest_hello *hello)
{
	*hello = (struct guest_hello){
		.magic = HANDSHAKE_MAGIC,
		.version = HANDSHAKE_VERSION,
		.pid = (uint32_t)getpid(),
		.run = run_number(),
		.start_ticks = start_ticks(),
		.pid_namespace = agent_handshake_pid_namespace(),
	};
	random_instance(hello->instance);
}

/* Leaves a file that tells of the offer. The hello may lie unread in the queue of an agent that is killed, and this
 * process may be killed, too; the file stays. An agent removes the file before it answers. This takes two system calls,
 * which every filter allows to a program that starts. If there is no directory or no room, the process goes on without
 * the file. */
static void tell_of_offer(const char *socket_path, const struct guest_hello *hello)
{
	char path[sizeof(((struct agent_link *)0)->path) + sizeof(HANDSHAKE_OFFERS) +
		  OFFER_NAME_SIZE];
	size_t size = strlen(socket_path);

	memcpy(path, socket_path, size);
	memcpy(path + size, HANDSHAKE_OFFERS "/", sizeof(HANDSHAKE_OFFERS));
	offer_name(hello, path + size + sizeof(HANDSHAKE_OFFERS));

	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

static int send_hello(int fd, const struct guest_hello *hello, int ring_fd)
{
	struct iovec data = {.iov_base = (void *)(uintptr_t)hello, .iov_len = sizeof(*hello)};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &ring_fd, sizeof(ring_fd));
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static uint64_t limit_of(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
										  : limit.rlim_cur;
}

/* Tells the agent, when there is no ring, that the process exists and why none of its work is recorded. */
static void send_absence(int fd, const struct guest_hello *hello, int error, uint32_t needed_mib)
{
	struct guest_absence absence = {
		.magic = HANDSHAKE_ABSENCE_MAGIC,
		.version = HANDSHAKE_VERSION,
		.pid = hello->pid,
		.error = (uint32_t)-error,
		.run = hello->run,
		.needed_mib = needed_mib,
		.start_ticks = hello->start_ticks,
		.pid_namespace = hello->pid_namespace,
		.file_limit_bytes = limit_of(RLIMIT_FSIZE),
		.memory_limit_bytes = limit_of(RLIMIT_AS),
	};

	memcpy(absence.instance, hello->instance, sizeof(absence.instance));
	/* The agent closes the connection once it has read this. Waiting keeps a short job, and so its agent, from
	 * ending before that. */
	if (send(fd, &absence, sizeof(absence), MSG_NOSIGNAL) > 0)
		(void)recv(fd, &absence, sizeof(absence), 0);
}

/* *tables_fd: a descriptor that came with the welcome; -1: none. The caller owns it. */
static int receive_welcome(int fd, struct guest_welcome *welcome, int *tables_fd)
{
	struct iovec data = {.iov_base = welcome, .iov_len = sizeof(*welcome)};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};
	/* By number, as in table_arena.c. */
	ssize_t size = syscall(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *rights = size < 0 ? NULL : CMSG_FIRSTHDR(&message);

	*tables_fd = -1;
	if (rights && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(tables_fd, CMSG_DATA(rights), sizeof(int));
	if (size < 0)
		return -errno;
	if (size == 0)
		return -ECONNRESET; /* the agent died, or had too many peers at a time */
	if (size != (ssize_t)sizeof(*welcome) || welcome->magic != HANDSHAKE_MAGIC ||
	    welcome->version != HANDSHAKE_VERSION)
		return -EPROTO;
	if (welcome->status == HANDSHAKE_REFUSED_FULL)
		return -EAGAIN;
	return welcome->status == HANDSHAKE_OK ? 0 : -EACCES;
}

/* Returns whether there is an agent that may have taken the memory, or may take it later. */
static bool is_unsure(int error)
{
	return error == -EAGAIN || error == -ECONNRESET || error == -EPIPE || error == -EINTR;
}

static int exchange(int fd, struct agent_link *link, int ring_fd, struct guest_welcome *welcome)
{
	struct ucred agent;
	socklen_t size = sizeof(agent);
	int error = send_hello(fd, &link->hello, ring_fd);

	link->agent_pid =
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &agent, &size) == 0 ? agent.pid : 0;
	if (error == 0)
		error = receive_welcome(fd, welcome, &link->tables_fd);
	if (error == 0) {
		link->answered = true;
		link->wanted = welcome->flags & HANDSHAKE_KEEP_RING;
	}
	return is_unsure(error) ? -EAGAIN : error;
}

/* Not fstat(): as a function it is younger than the C libraries that the guest may run with. */
static int identify(int fd, uint64_t *device, uint64_t *inode)
{
	struct stat status;

	*device = *inode = 0;
	if (syscall(SYS_fstat, fd, &status) < 0)
		return -errno;
	*device = status.st_dev;
	*inode = status.st_ino;
	return 0;
}

/* Keeps the ring's descriptor, to offer the ring to the next agent. If this fails, only the next agent is lost. */
static void keep(struct agent_link *link, int ring_fd)
{
	struct rlimit limit;
	unsigned int min = KEPT_FD_MIN;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < 2 * KEPT_FD_SPARE)
		return;
	if (limit.rlim_cur < KEPT_FD_MIN + KEPT_FD_SPARE)
		min = (unsigned int)limit.rlim_cur - KEPT_FD_SPARE;
	link->ring_fd = fcntl(ring_fd, F_DUPFD_CLOEXEC, (int)min);
	if (link->ring_fd >= 0 && identify(link->ring_fd, &link->device, &link->inode) < 0) {
		close(link->ring_fd);
		link->ring_fd = -1;
	}
}

void agent_handshake_close_tables(struct agent_link *link)
{
	if (link->tables_fd >= 0)
		close(link->tables_fd);
	link->tables_fd = -1;
}

int agent_handshake(const char *path, const struct record_ring_sizes *sizes,
		    struct agent_link *link, struct record_ring **ring, uint16_t *window)
{
	struct guest_welcome welcome = {.window = 1};
	int ring_fd = -1, error, fd = connect_to(path, 0);

	*ring = NULL;
	*window = 0;
	memset(link, 0, sizeof(*link));
	link->ring_fd = link->tables_fd = -1;
	if (fd < 0 && !is_unsure(fd) && fd != -ECONNREFUSED)
		return fd;
	strcpy(link->path, path); /* it fitted into a socket address, which has the same size */
	fill_hello(&link->hello);
	tell_of_offer(path, &link->hello);
	if (fd == -ECONNREFUSED)
		return fd; /* the agent was killed: the next one finds the file */
	error = record_ring_create(sizes, ring, &ring_fd);
	if (error < 0 && fd >= 0)
		send_absence(fd, &link->hello, error, 0);
	if (error == 0 && fd >= 0) {
		error = exchange(fd, link, ring_fd, &welcome);
		if (error == -EAGAIN)
			/* the guest records, and asks again; -EAGAIN from making the ring stays an error */
			error = 0;
	}
	if (error == 0 && (link->wanted || !link->answered))
		keep(link, ring_fd);
	if (ring_fd >= 0)
		close(ring_fd);
	if (fd >= 0)
		close(fd);
	if (error < 0) {
		agent_handshake_close_tables(link);
		record_ring_destroy(*ring);
		*ring = NULL;
		return error;
	}
	*window = (uint16_t)welcome.window;
	return 0;
}

void agent_handshake_refuse(const char *path, int error, uint64_t needed_bytes)
{
	struct guest_hello hello;
	int fd = connect_to(path, 0);

	if (fd < 0 && !is_unsure(fd))
		return;
	fill_hello(&hello);
	tell_of_offer(path, &hello);
	if (fd < 0)
		return;
	send_absence(fd, &hello, error, (uint32_t)((needed_bytes + (1u << 20) - 1) >> 20));
	close(fd);
}

static bool has_ring(struct agent_link *link)
{
	uint64_t device, inode;

	if (link->ring_fd >= 0 && identify(link->ring_fd, &device, &inode) == 0 &&
	    device == link->device && inode == link->inode)
		return true;
	link->ring_fd = -1;
	return false;
}

int agent_handshake_again(struct agent_link *link)
{
	struct guest_welcome welcome;
	int error, fd;

	if (!has_ring(link))
		return -EBADF;
	fd = connect_to(link->path, 0);
	if (fd < 0)
		return is_unsure(fd) ? -EAGAIN : fd;
	error = exchange(fd, link, link->ring_fd, &welcome);
	agent_handshake_close_tables(link); /* the process has its tables by now */
	close(fd);
	if (error == 0 && !link->wanted) {
		close(link->ring_fd);
		link->ring_fd = -1;
	}
	return error;
}

int agent_handshake_offer(struct agent_link *link)
{
	int error, fd;

	if (!has_ring(link))
		return -EBADF;
	fd = connect_to(link->path, SOCK_NONBLOCK);
	if (fd < 0)
		return fd;
	error = send_hello(fd, &link->hello, link->ring_fd);
	close(fd);
	return error;
}
