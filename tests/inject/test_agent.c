#include "test_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define POLL_MS      2
#define LIMIT_S      60
#define LAUNCHES_MAX (1u << 21)
#define RECORDS_MAX  (1u << 21)
#define OUTPUT_NAME  "output"

void test_agent_open(struct test_agent *agent)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memset(agent, 0, sizeof(*agent));
	agent->guest_socket = agent->pidfd = -1;
	strcpy(agent->folder, "/tmp/inject_test_XXXXXX");
	assert_non_null(mkdtemp(agent->folder));
	snprintf(agent->socket_path, sizeof(agent->socket_path), "%s/socket", agent->folder);
	strcpy(address.sun_path, agent->socket_path);
	agent->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(agent->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(agent->listener, 8), 0);
	agent->launches = malloc(LAUNCHES_MAX * sizeof(*agent->launches));
	agent->records = malloc(RECORDS_MAX * sizeof(*agent->records));
	assert_non_null(agent->launches);
	assert_non_null(agent->records);
}

void test_agent_close(struct test_agent *agent)
{
	char path[128];

	if (agent->pid > 0 && agent->pidfd >= 0) {
		kill(agent->pid, SIGKILL);
		waitpid(agent->pid, &agent->status, 0);
		close(agent->pidfd);
	}
	record_ring_unmap(agent->ring);
	close(agent->listener);
	if (agent->guest_socket >= 0)
		close(agent->guest_socket);
	free(agent->launches);
	free(agent->records);
	unlink(agent->socket_path);
	snprintf(path, sizeof(path), "%s/" OUTPUT_NAME, agent->folder);
	unlink(path);
	rmdir(agent->folder);
}

/* In the child. */
static void become(struct test_agent *agent, const struct test_program *program)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" OUTPUT_NAME, agent->folder);
	int output = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(output);
	setenv("CUDA_INJECTION64_PATH", GUEST, 1);
	setenv("FLAMEGRID_SOCKET", agent->socket_path, 1);
	/* The guest is never built with sanitizers, so they do not see how it synchronises; and a
	 * leak check in a forked child waits for locks that other threads held. */
	setenv("TSAN_OPTIONS", "report_bugs=0", 1);
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	for (const char *const *entry = program->environment; entry && *entry; entry++)
		putenv((char *)*entry);
	if (program->file_size_limit) {
		struct rlimit limit = {program->file_size_limit, program->file_size_limit};

		setrlimit(RLIMIT_FSIZE, &limit);
	}
	execv(program->argv[0], (char *const *)program->argv);
	_exit(127);
}

void test_agent_start(struct test_agent *agent, const struct test_program *program)
{
	agent->pid = fork();
	assert_true(agent->pid >= 0);
	if (agent->pid == 0)
		become(agent, program);
	agent->pidfd = (int)syscall(SYS_pidfd_open, agent->pid, 0);
	assert_true(agent->pidfd >= 0);
}

static int receive_hello(struct test_agent *agent, int fd)
{
	struct iovec data = {&agent->hello, sizeof(agent->hello)};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.bytes)};
	int ring_fd = -1;

	if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(agent->hello) ||
	    agent->hello.magic != HANDSHAKE_MAGIC)
		return -1; /* went away without a word, or says why there is no ring */

	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
	assert_non_null(rights);
	memcpy(&ring_fd, CMSG_DATA(rights), sizeof(ring_fd));
	return ring_fd;
}

static void accept_guest(struct test_agent *agent)
{
	int fd = accept4(agent->listener, NULL, NULL, SOCK_CLOEXEC);

	assert_true(fd >= 0);
	agent->nr_connections++;
	int ring_fd = receive_hello(agent, fd);
	if (ring_fd < 0) {
		close(fd);
		return;
	}
	assert_int_equal(agent->hello.magic, HANDSHAKE_MAGIC);
	assert_int_equal(agent->hello.version, HANDSHAKE_VERSION);
	if (!agent->ring)
		assert_int_equal(record_ring_map(ring_fd, &agent->ring), 0);
	close(ring_fd);
	if (agent->silent) {
		if (agent->guest_socket >= 0)
			close(agent->guest_socket);
		agent->guest_socket = fd;
		return;
	}
	const struct guest_welcome welcome = {.magic = HANDSHAKE_MAGIC,
					      .version = HANDSHAKE_VERSION,
					      .status = agent->answer,
					      .window = 1};
	/* A guest that ends does not wait for it. */
	assert_true(send(fd, &welcome, sizeof(welcome), MSG_NOSIGNAL) == sizeof(welcome) ||
		    errno == EPIPE);
	close(fd);
}

static void keep_call(struct test_agent *agent, const uint8_t *body, uint32_t size)
{
	struct test_call call = {0};
	uint32_t i = 0;

	assert_true(size > sizeof(call.head) && size < sizeof(call));
	memcpy(&call, body, size);
	while (i < agent->nr_calls && (agent->calls[i].head.domain != call.head.domain ||
				       agent->calls[i].head.cbid != call.head.cbid ||
				       agent->calls[i].head.error != call.head.error))
		i++;
	assert_true(i < TEST_AGENT_CALLS);
	assert_true(i == agent->nr_calls || agent->calls[i].head.count < call.head.count);
	agent->calls[i] = call;
	agent->nr_calls += i == agent->nr_calls;
}

static void keep_config(struct test_agent *agent, const uint8_t *body, uint32_t size)
{
	struct definition_kernel_config config;
	uint32_t i = 0;

	assert_int_equal(size, sizeof(config));
	memcpy(&config, body, size);
	while (i < agent->nr_configs &&
	       memcmp(&agent->configs[i].config, &config.config, sizeof(config.config)) != 0)
		i++;
	assert_true(i < TEST_AGENT_CONFIGS);
	assert_true(i == agent->nr_configs || agent->configs[i].count < config.count);
	agent->configs[i] = config;
	agent->nr_configs += i == agent->nr_configs;
}

static void keep_definition(struct test_agent *agent, uint32_t type, const uint8_t *body,
			    uint32_t size)
{
	struct definition_name name;

	switch (type) {
	case DEFINITION_NAME:
		memcpy(&name, body, sizeof(name));
		assert_true(name.name_id < TEST_AGENT_NAMES &&
			    size - sizeof(name) < sizeof(agent->names[0]));
		memcpy(agent->names[name.name_id], body + sizeof(name), size - sizeof(name));
		break;
	case DEFINITION_MODULE:
		assert_true(agent->nr_modules < TEST_AGENT_MODULES &&
			    size < sizeof(struct test_module));
		memcpy(&agent->modules[agent->nr_modules++], body, size);
		break;
	case DEFINITION_UNLOAD:
		break;
	case DEFINITION_DEVICE:
		assert_true(agent->nr_devices < TEST_AGENT_DEVICES);
		memcpy(&agent->devices[agent->nr_devices++], body, sizeof(agent->devices[0]));
		break;
	case DEFINITION_NOTICE:
		assert_true(agent->nr_notices < TEST_AGENT_NOTICES);
		memcpy(&agent->notices[agent->nr_notices++], body,
		       size < sizeof(agent->notices[0]) ? size : sizeof(agent->notices[0]) - 1);
		break;
	case DEFINITION_STREAM:
		assert_true(size >= sizeof(struct definition_stream));
		agent->nr_streams++;
		break;
	case DEFINITION_CLOCK:
		memcpy(&agent->last_clock, body, sizeof(agent->last_clock));
		agent->nr_clocks++;
		break;
	case DEFINITION_API_STATISTIC:
		keep_call(agent, body, size);
		break;
	case DEFINITION_KERNEL_CONFIG:
		keep_config(agent, body, size);
		break;
	case DEFINITION_COMMUNICATOR:
		assert_true(agent->nr_communicators < TEST_AGENT_COMMUNICATORS);
		memcpy(&agent->communicators[agent->nr_communicators++], body,
		       sizeof(agent->communicators[0]));
		break;
	default:
		assert_int_equal(type, DEFINITION_WINDOW);
		agent->nr_windows++;
	}
}

static void read_all(struct test_agent *agent)
{
	static struct record_ring_snapshot snapshot;
	static uint8_t body[DEFINITION_SIZE_MAX];
	struct record_ring_position position;
	uint32_t type, size;
	int nr;

	record_ring_snapshot(agent->ring, &snapshot);
	agent->finished = snapshot.finished;
	while ((nr = record_ring_read_definition(agent->ring, &snapshot, &type, body, sizeof(body),
						 &size)) > 0)
		keep_definition(agent, type, body, size);
	assert_int_equal(nr, 0);
	for (uint32_t lane = 0; lane < snapshot.lanes; lane++) {
		nr = record_ring_read_launches(agent->ring, &snapshot, lane,
					       agent->launches + agent->nr_launches,
					       LAUNCHES_MAX - agent->nr_launches);
		assert_true(nr >= 0);
		agent->nr_launches += (uint32_t)nr;
	}
	nr = record_ring_read_activity(agent->ring, &snapshot, agent->records + agent->nr_records,
				       RECORDS_MAX - agent->nr_records);
	assert_true(nr >= 0);
	agent->nr_records += (uint32_t)nr;
	uint32_t nr_lost;
	nr = record_ring_read_collectives(
		agent->ring, &snapshot, false, agent->collectives + agent->nr_collectives,
		TEST_AGENT_CALLS_OF_NCCL - agent->nr_collectives, &nr_lost);
	assert_true(nr >= 0);
	agent->nr_collectives += (uint32_t)nr;
	if (agent->greedy)
		return;
	assert_int_equal(record_ring_position(agent->ring, &position), 0);
	record_ring_release(agent->ring, &position);
	free(position.launch);
}

void test_agent_serve(struct test_agent *agent, bool (*done)(struct test_agent *agent))
{
	time_t limit = time(NULL) + LIMIT_S;
	struct pollfd events[] = {{.fd = agent->listener, .events = POLLIN},
				  {.fd = agent->pidfd, .events = POLLIN}};

	while (!(events[1].revents & POLLIN)) {
		if (done && done(agent))
			return;
		assert_true(time(NULL) < limit);
		assert_true(poll(events, 2, POLL_MS) >= 0 || errno == EINTR);
		if (events[0].revents & POLLIN)
			accept_guest(agent);
		if (agent->ring)
			read_all(agent);
	}
}

void test_agent_finish(struct test_agent *agent)
{
	char path[128];

	test_agent_serve(agent, NULL);
	assert_int_equal(waitpid(agent->pid, &agent->status, 0), agent->pid);
	close(agent->pidfd);
	agent->pidfd = -1;
	if (agent->ring)
		read_all(agent);
	snprintf(path, sizeof(path), "%s/" OUTPUT_NAME, agent->folder);
	int output = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(output >= 0);
	ssize_t size = read(output, agent->output, sizeof(agent->output) - 1);
	agent->output[size > 0 ? size : 0] = '\0';
	close(output);
}

static uint64_t ledger(struct test_agent *agent, bool all, uint32_t device_id,
		       enum ledger_reason reason)
{
	static struct ledger_entry entries[(RECORD_DEVICES_MAX + 1) * LEDGER_REASONS];
	int nr = record_ring_ledger(agent->ring, entries, sizeof(entries) / sizeof(entries[0]));
	uint64_t sum = 0;

	for (int i = 0; i < nr; i++)
		if (entries[i].reason == (uint32_t)reason &&
		    (all || entries[i].device_id == device_id))
			sum += entries[i].count;
	return sum;
}

uint64_t test_agent_ledger(struct test_agent *agent, uint32_t device_id, enum ledger_reason reason)
{
	return ledger(agent, false, device_id, reason);
}

uint64_t test_agent_ledger_sum(struct test_agent *agent, enum ledger_reason reason)
{
	return ledger(agent, true, 0, reason);
}

const struct test_module *test_agent_module(const struct test_agent *agent, uint64_t address)
{
	for (uint32_t i = agent->nr_modules; i-- > 0;)
		if (address >= agent->modules[i].head.start && address < agent->modules[i].head.end)
			return &agent->modules[i];
	return NULL;
}

const struct definition_api_statistic *test_agent_call(const struct test_agent *agent,
						       const char *name, uint32_t error)
{
	for (uint32_t i = 0; i < agent->nr_calls; i++)
		if (strcmp(agent->calls[i].name, name) == 0 && agent->calls[i].head.error == error)
			return &agent->calls[i].head;
	return NULL;
}

bool test_agent_has_notice(const struct test_agent *agent, enum definition_notice_code code)
{
	for (uint32_t i = 0; i < agent->nr_notices; i++)
		if (agent->notices[i].head.code == (uint32_t)code)
			return true;
	return false;
}
