#include "inject/agent_handshake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/handshake.h"
#include "proto/offer_name.h"
#include "proto/ring/record_ring.h"

/* Of the mappings of the thread that shakes hands; 0: they succeed. */
static __thread int mmap_error;

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (mmap_error == 0)
		return __real_mmap(address, size, protection, flags, fd, offset);
	errno = mmap_error;
	return MAP_FAILED;
}

/* Of making a file; 0: it succeeds. */
static __thread int create_error;

/* For the thread that shakes hands, which opens files of /proc in vain. */
static __thread bool proc_is_gone;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	va_list rest;

	if (proc_is_gone && strncmp(path, "/proc/", strlen("/proc/")) == 0) {
		errno = ENOENT;
		return -1;
	}
	if (!(flags & O_CREAT))
		return __real_open(path, flags);
	if (create_error) {
		errno = create_error;
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

/* Answers one guest with the bytes of a test. */
struct server {
	char folder[64], path[96];
	int listener;
	const void *answer;
	size_t answer_size;
	struct guest_hello hello;
	int mapped;       /* result of record_ring_map() */
	struct stat file; /* that tells of the offer, when the hello was read; st_nlink 0: none */
	pthread_t thread;
};

static void offers_of(const struct server *server, char path[static 128])
{
	snprintf(path, 128, "%s.offers", server->path);
}

static void file_of(const struct server *server, char path[static 256])
{
	char name[OFFER_NAME_SIZE];

	offer_name(&server->hello, name);
	snprintf(path, 256, "%s.offers/%s", server->path, name);
}

static void find_file(struct server *server)
{
	char path[256];

	file_of(server, path);
	if (lstat(path, &server->file) < 0)
		memset(&server->file, 0, sizeof(server->file));
}

static void *serve(void *user)
{
	struct server *server = user;
	struct iovec data = {&server->hello, sizeof(server->hello)};
	char control[CMSG_SPACE(sizeof(int))];
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct record_ring *ring = NULL;
	int ring_fd = -1, fd = accept(server->listener, NULL, NULL);

	if (recvmsg(fd, &message, 0) == (ssize_t)sizeof(server->hello) && CMSG_FIRSTHDR(&message))
		memcpy(&ring_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(ring_fd));
	find_file(server);
	server->mapped = record_ring_map(ring_fd, &ring);
	record_ring_unmap(ring);
	close(ring_fd);
	if (server->answer)
		send(fd, server->answer, server->answer_size, MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

static void server_start(struct server *server, const void *answer, size_t size)
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
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(struct server *server)
{
	char path[256];

	pthread_join(server->thread, NULL);
	close(server->listener);
	unlink(server->path);
	file_of(server, path);
	unlink(path);
	offers_of(server, path);
	rmdir(path);
	rmdir(server->folder);
}

/* The lowest free descriptor: the same before and after if none stayed open. */
static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

static struct agent_link made;
static const struct record_ring_sizes sizes = RECORD_RING_SIZES_DEFAULT;

static int shake(struct server *server, struct record_ring **ring, uint16_t *window)
{
	*ring = (struct record_ring *)1;
	*window = 99;
	memset(&made, 0x55, sizeof(made));
	return agent_handshake(server->path, &sizes, &made, ring, window);
}

static void ring_is_handed_over_and_no_descriptor_stays(void **state)
{
	const struct guest_welcome welcome = {.magic = HANDSHAKE_MAGIC,
					      .version = HANDSHAKE_VERSION,
					      .status = HANDSHAKE_OK,
					      .window = 7};
	struct server server;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	int before = lowest_free();
	server_start(&server, &welcome, sizeof(welcome));
	int result = shake(&server, &ring, &window);
	server_stop(&server);
	assert_int_equal(result, 0);
	assert_int_equal(lowest_free(), before);
	assert_int_equal(window, 7);
	assert_int_equal(server.mapped, 0);
	assert_int_equal(server.hello.magic, HANDSHAKE_MAGIC);
	assert_int_equal(server.hello.pid, getpid());
	assert_true(server.hello.start_ticks > 0);
	record_ring_destroy(ring);
}

static void bad_answers_are_told_apart(void **state)
{
	const struct guest_welcome refused = {
		HANDSHAKE_MAGIC, HANDSHAKE_VERSION, HANDSHAKE_REFUSED_USER, 1, 0, 0};
	const struct guest_welcome alien = {0x12345678, HANDSHAKE_VERSION, HANDSHAKE_OK, 1, 0, 0};
	const struct guest_welcome later = {
		HANDSHAKE_MAGIC, HANDSHAKE_VERSION + 1, HANDSHAKE_OK, 1, 0, 0};
	const struct {
		const struct guest_welcome *answer;
		size_t size;
		int result;
	} cases[] = {
		{&refused, sizeof(refused), -EACCES},
		{&alien, sizeof(alien), -EPROTO},
		{&later, sizeof(later), -EPROTO},
		{&refused, sizeof(refused) - 1, -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct server server;
		struct record_ring *ring;
		uint16_t window;

		server_start(&server, cases[i].answer, cases[i].size);
		assert_int_equal(shake(&server, &ring, &window), cases[i].result);
		assert_null(ring);
		assert_int_equal(window, 0);
		server_stop(&server);
	}
}

static const struct guest_welcome keeping = {.magic = HANDSHAKE_MAGIC,
					     .version = HANDSHAKE_VERSION,
					     .status = HANDSHAKE_OK,
					     .window = 1,
					     .flags = HANDSHAKE_KEEP_RING};

static void agent_that_hangs_up_or_has_no_place_may_take_the_ring_later(void **state)
{
	const struct guest_welcome full = {
		HANDSHAKE_MAGIC, HANDSHAKE_VERSION, HANDSHAKE_REFUSED_FULL, 1, 0, 0};
	const struct guest_welcome taken = {
		HANDSHAKE_MAGIC, HANDSHAKE_VERSION, HANDSHAKE_OK, 1, 0, 0};
	const struct guest_welcome *answers[] = {&full, NULL};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct server server, again;
		struct record_ring *ring;
		uint16_t window;
		int before = lowest_free();

		server_start(&server, answers[i], answers[i] ? sizeof(full) : 0);
		assert_int_equal(shake(&server, &ring, &window), 0);
		server_stop(&server);
		assert_non_null(ring);
		assert_false(made.answered);
		assert_true(made.ring_fd > 100);

		/* One that answers, and does not ask for the memory to be kept. */
		server_start(&again, &taken, sizeof(taken));
		strcpy(made.path, again.path);
		assert_int_equal(agent_handshake_again(&made), 0);
		server_stop(&again);
		assert_true(made.answered);
		assert_int_equal(made.ring_fd, -1);
		assert_int_equal(lowest_free(), before);
		record_ring_destroy(ring);
	}
}

static void offer_waits_for_nobody_and_lies_in_the_queue(void **state)
{
	struct server server;
	struct record_ring *ring;
	uint16_t window;
	int error;

	(void)state;
	server_start(&server, &keeping, sizeof(keeping));
	assert_int_equal(shake(&server, &ring, &window), 0);
	pthread_join(server.thread, NULL);
	/* Nobody accepts any more: the system takes offers until the queue is full, and refuses the next at once. */
	assert_int_equal(agent_handshake_offer(&made), 0);
	do
		error = agent_handshake_offer(&made);
	while (error == 0);
	assert_int_equal(error, -EAGAIN);
	record_ring_destroy(ring);
	close(made.ring_fd);
	server.mapped = -1;
	assert_int_equal(pthread_create(&server.thread, NULL, serve, &server), 0);
	server_stop(&server);
	assert_int_equal(server.mapped, 0);
}

static void absent_agent_is_reported(void **state)
{
	struct record_ring *ring;
	uint16_t window;
	char path[200];
	int before = lowest_free();

	(void)state;
	assert_int_equal(agent_handshake("/nowhere/socket", &sizes, &made, &ring, &window),
			 -ENOENT);
	assert_null(ring);
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(agent_handshake(path, &sizes, &made, &ring, &window), -ENAMETOOLONG);
	assert_int_equal(lowest_free(), before);
}

static void small_file_size_limit_is_reported(void **state)
{
	struct server server;
	struct record_ring *ring;
	struct rlimit old, limit;
	uint16_t window;

	(void)state;
	server_start(&server, NULL, 0);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 1 << 20;
	setrlimit(RLIMIT_FSIZE, &limit);
	int result = shake(&server, &ring, &window);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(result, -EFBIG);
	assert_null(ring);
	server_stop(&server);
	/* Said in place of a hello. */
	assert_int_equal(server.hello.magic, HANDSHAKE_ABSENCE_MAGIC);
}

/* As where all memory is locked, and the limit of locked memory is reached. */
static void ring_that_may_not_be_locked_is_an_error_and_not_a_missing_answer(void **state)
{
	struct server server;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	server_start(&server, NULL, 0);
	mmap_error = EAGAIN;
	int result = shake(&server, &ring, &window);
	mmap_error = 0;
	assert_int_equal(result, -EAGAIN);
	assert_null(ring);
	server_stop(&server);
	assert_int_equal(server.hello.magic, HANDSHAKE_ABSENCE_MAGIC);
}

static void ring_goes_to_the_next_agent_under_the_same_name(void **state)
{
	struct server first, second;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	int before = lowest_free();
	server_start(&first, &keeping, sizeof(keeping));
	assert_int_equal(shake(&first, &ring, &window), 0);
	server_stop(&first);
	assert_int_equal(lowest_free(), before);
	assert_true(made.wanted);
	assert_true(made.ring_fd > 100);
	assert_int_equal(fcntl(made.ring_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(agent_handshake_again(&made), -ENOENT);

	server_start(&second, &keeping, sizeof(keeping));
	strcpy(made.path, second.path);
	int result = agent_handshake_again(&made);
	server_stop(&second);
	assert_int_equal(result, 0);
	assert_int_equal(second.mapped, 0);
	assert_memory_equal(second.hello.instance, first.hello.instance,
			    sizeof(first.hello.instance));
	assert_int_equal(lowest_free(), before);
	close(made.ring_fd);
	record_ring_destroy(ring);
}

/* A program may clear its environment, or lose sight of /proc, between two offers. The agent finds the file that tells
 * of the first by the hello. */
static void every_offer_says_what_the_first_said(void **state)
{
	struct server first, again, queued;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	setenv(HANDSHAKE_RUN_ENV, "17", 1);
	server_start(&first, &keeping, sizeof(keeping));
	assert_int_equal(shake(&first, &ring, &window), 0);
	server_stop(&first);
	assert_int_equal(first.hello.run, 17);
	assert_true(first.hello.start_ticks > 0 && first.hello.pid_namespace > 0);

	unsetenv(HANDSHAKE_RUN_ENV);
	proc_is_gone = true;
	server_start(&again, &keeping, sizeof(keeping));
	strcpy(made.path, again.path);
	assert_int_equal(agent_handshake_again(&made), 0);
	server_stop(&again);
	server_start(&queued, &keeping, sizeof(keeping));
	strcpy(made.path, queued.path);
	assert_int_equal(agent_handshake_offer(&made), 0);
	server_stop(&queued);
	proc_is_gone = false;
	close(made.ring_fd);
	record_ring_destroy(ring);
	assert_memory_equal(&again.hello, &first.hello, sizeof(first.hello));
	assert_memory_equal(&queued.hello, &first.hello, sizeof(first.hello));
}

static void number_that_the_program_took_is_left_alone(void **state)
{
	struct server server;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	server_start(&server, &keeping, sizeof(keeping));
	assert_int_equal(shake(&server, &ring, &window), 0);
	server_stop(&server);
	int fd = made.ring_fd, other = open("/dev/null", O_RDONLY);
	assert_int_equal(dup2(other, fd), fd);
	assert_int_equal(agent_handshake_again(&made), -EBADF);
	assert_int_equal(made.ring_fd, -1);
	assert_int_equal(agent_handshake_again(&made), -EBADF);
	assert_int_equal(close(fd), 0); /* still the program's */
	close(other);
	record_ring_destroy(ring);
}

static void program_with_few_descriptors_keeps_them_all(void **state)
{
	struct server server;
	struct record_ring *ring;
	struct rlimit old, limit;
	uint16_t window;

	(void)state;
	server_start(&server, &keeping, sizeof(keeping));
	getrlimit(RLIMIT_NOFILE, &old);
	limit = old;
	limit.rlim_cur = 100;
	setrlimit(RLIMIT_NOFILE, &limit);
	int result = shake(&server, &ring, &window);
	setrlimit(RLIMIT_NOFILE, &old);
	server_stop(&server);
	assert_int_equal(result, 0);
	assert_true(made.wanted);
	assert_int_equal(made.ring_fd, -1);
	record_ring_destroy(ring);
}

static void a_file_tells_of_an_offer_before_it_is_made(void **state)
{
	struct server server;
	struct record_ring *ring;
	char path[128], file[256];
	uint16_t window;

	(void)state;
	int before = lowest_free();
	server_start(&server, &keeping, sizeof(keeping));
	offers_of(&server, path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(shake(&server, &ring, &window), 0);
	pthread_join(server.thread, NULL);
	assert_true(S_ISREG(server.file.st_mode));
	assert_int_equal(server.file.st_mode & 0777, 0600);
	assert_int_equal(server.file.st_size, 0);
	assert_int_equal(server.file.st_nlink, 1);

	/* Once: the agent has removed it, and later offers are of a ring that is told of. */
	file_of(&server, file);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(pthread_create(&server.thread, NULL, serve, &server), 0);
	assert_int_equal(agent_handshake_again(&made), 0);
	close(made.ring_fd);
	record_ring_destroy(ring);
	server_stop(&server);
	assert_int_equal(server.file.st_nlink, 0);
	assert_int_equal(access(server.folder, F_OK), -1);
	assert_int_equal(lowest_free(), before);
}

static void an_offer_that_no_file_can_tell_of_is_made_all_the_same(void **state)
{
	const int errors[] = {ENOSPC, EROFS, EACCES, EMFILE, ENOENT};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct server server;
		struct record_ring *ring;
		char path[128];
		uint16_t window;
		int before = lowest_free();

		server_start(&server, &keeping, sizeof(keeping));
		offers_of(&server, path);
		assert_int_equal(mkdir(path, 0700), 0);
		create_error = errors[i];
		int result = shake(&server, &ring, &window);
		create_error = 0;
		server_stop(&server);
		assert_int_equal(result, 0);
		assert_int_equal(server.mapped, 0);
		assert_int_equal(server.file.st_nlink, 0);
		close(made.ring_fd);
		record_ring_destroy(ring);
		assert_int_equal(lowest_free(), before);
	}
}

static void no_file_tells_of_an_offer_that_reaches_no_agent(void **state)
{
	struct server server;
	struct record_ring *ring;
	char path[128];
	uint16_t window;

	(void)state;
	memset(&server, 0, sizeof(server));
	strcpy(server.folder, "/tmp/handshake_test_XXXXXX");
	assert_non_null(mkdtemp(server.folder));
	snprintf(server.path, sizeof(server.path), "%s/socket", server.folder);
	offers_of(&server, path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(shake(&server, &ring, &window), -ENOENT);
	assert_int_equal(rmdir(path), 0); /* it is empty */
	rmdir(server.folder);
}

static void a_process_without_a_ring_is_told_of_too(void **state)
{
	struct server server;
	struct record_ring *ring;
	char path[128];
	uint16_t window;

	(void)state;
	server_start(&server, NULL, 0);
	offers_of(&server, path);
	assert_int_equal(mkdir(path, 0700), 0);
	mmap_error = ENOMEM;
	int result = shake(&server, &ring, &window);
	mmap_error = 0;
	pthread_join(server.thread, NULL);
	assert_int_equal(result, -ENOMEM);

	DIR *offers = opendir(path);
	struct guest_hello hello;
	const struct dirent *entry;
	uint32_t nr = 0;
	while ((entry = readdir(offers)) != NULL) {
		if (!offer_name_read(entry->d_name, &hello))
			continue;
		nr++;
		assert_int_equal(hello.pid, getpid());
		/* What the agent hears of an absence makes the same name. */
		assert_memory_equal(hello.instance, made.hello.instance, sizeof(hello.instance));
		server.hello = hello;
	}
	closedir(offers);
	assert_int_equal(nr, 1);
	char file[256];
	file_of(&server, file);
	assert_int_equal(unlink(file), 0);
	close(server.listener);
	unlink(server.path);
	rmdir(path);
	assert_int_equal(rmdir(server.folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_is_handed_over_and_no_descriptor_stays),
		cmocka_unit_test(bad_answers_are_told_apart),
		cmocka_unit_test(agent_that_hangs_up_or_has_no_place_may_take_the_ring_later),
		cmocka_unit_test(offer_waits_for_nobody_and_lies_in_the_queue),
		cmocka_unit_test(absent_agent_is_reported),
		cmocka_unit_test(small_file_size_limit_is_reported),
		cmocka_unit_test(ring_that_may_not_be_locked_is_an_error_and_not_a_missing_answer),
		cmocka_unit_test(ring_goes_to_the_next_agent_under_the_same_name),
		cmocka_unit_test(every_offer_says_what_the_first_said),
		cmocka_unit_test(number_that_the_program_took_is_left_alone),
		cmocka_unit_test(program_with_few_descriptors_keeps_them_all),
		cmocka_unit_test(a_file_tells_of_an_offer_before_it_is_made),
		cmocka_unit_test(an_offer_that_no_file_can_tell_of_is_made_all_the_same),
		cmocka_unit_test(no_file_tells_of_an_offer_that_reaches_no_agent),
		cmocka_unit_test(a_process_without_a_ring_is_told_of_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
