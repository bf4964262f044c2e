#include "inject/agent_watch.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/agent_handshake.h"
#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "proto/definition.h"
#include "proto/ring/record_ring.h"

#define MS 1000000ull
#define S  1000000000ull

/* A socket that nobody accepts from: what is offered lies in its queue. */
static struct {
	char folder[64];
	struct agent_link link;
	int listener;
	struct record_ring *guest, *agent;
	struct definition_writer definitions;
	uint64_t start_ns;
} self;

/* Another thread's agent_watch_offer() within the next offer; 0: none. */
static uint64_t meanwhile_ns;

int __real_agent_handshake_offer(struct agent_link *link);
int __wrap_agent_handshake_offer(struct agent_link *link);

int __wrap_agent_handshake_offer(struct agent_link *link)
{
	uint64_t now_ns = meanwhile_ns;

	meanwhile_ns = 0;
	if (now_ns)
		assert_true(agent_watch_offer(now_ns));
	return __real_agent_handshake_offer(link);
}

static void listen_there(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, self.link.path);
	unlink(self.link.path);
	self.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(self.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(self.listener, 8), 0);
}

/* As a killed agent leaves it. */
static void stop_listening(void)
{
	close(self.listener);
	self.listener = -1;
}

static uint32_t nr_offers(void)
{
	uint32_t nr = 0;
	int fd;

	while ((fd = accept(self.listener, NULL, NULL)) >= 0) {
		close(fd);
		nr++;
	}
	return nr;
}

static int set_up(void **state)
{
	const struct record_ring_sizes sizes = {
		.launch_lanes = 1,
		.launch_lane_records = 16,
		.activity_records = 16,
		.definition_bytes = 2 * DEFINITION_SIZE_MAX,
		.stacks = 2,
		.stack_words = 16,
		.codes = 2,
		.code_words = 16,
	};
	struct stat status;

	(void)state;
	memset(&self, 0, sizeof(self));
	strcpy(self.folder, "/tmp/agent_watch_test.XXXXXX");
	assert_non_null(mkdtemp(self.folder));
	snprintf(self.link.path, sizeof(self.link.path), "%s/agent", self.folder);
	assert_int_equal(record_ring_create(&sizes, &self.guest, &self.link.ring_fd), 0);
	assert_int_equal(record_ring_map(self.link.ring_fd, &self.agent), 0);
	assert_int_equal(fstat(self.link.ring_fd, &status), 0);
	self.link.device = status.st_dev;
	self.link.inode = status.st_ino;
	self.definitions = DEFINITION_WRITER_INIT(self.guest);
	listen_there();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (self.listener >= 0)
		close(self.listener);
	unlink(self.link.path);
	rmdir(self.folder);
	close(self.link.ring_fd);
	record_ring_unmap(self.agent);
	record_ring_destroy(self.guest);
	return 0;
}

/* The agent has answered, and asked for the memory to be kept. */
static void start_answered(void)
{
	self.link.answered = self.link.wanted = true;
	agent_watch_start(&self.link, self.guest, &self.definitions);
	self.start_ns = monotonic_ns();
}

/* A process that has ended, and that nobody else is now. */
static pid_t ended_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static uint64_t given_up(void)
{
	struct ledger_entry entry = {0};

	record_ring_ledger(self.agent, &entry, 1);
	return entry.reason == LEDGER_GUEST_GAVE_UP ? entry.count : 0;
}

static void agent_that_lives_is_left_alone(void **state)
{
	(void)state;
	start_answered();
	for (uint64_t now_ns = self.start_ns; now_ns < self.start_ns + 5 * S; now_ns += 100 * MS) {
		record_ring_beat(self.agent, now_ns);
		assert_int_equal(agent_watch_step(now_ns + 99 * MS), AGENT_WATCH_NOTHING);
	}
	assert_true(agent_watch_offer(self.start_ns + 5 * S));
	assert_int_equal(nr_offers(), 0);
}

static void ring_is_offered_again_a_second_after_the_last_beat(void **state)
{
	(void)state;
	start_answered();
	record_ring_beat(self.agent, self.start_ns);
	assert_int_equal(agent_watch_step(self.start_ns + S - 1), AGENT_WATCH_NOTHING);
	assert_int_equal(nr_offers(), 0);
	assert_int_equal(agent_watch_step(self.start_ns + S), AGENT_WATCH_NOTHING);
	assert_int_equal(nr_offers(), 1);
}

static void at_the_end_a_beat_half_a_second_old_is_none(void **state)
{
	(void)state;
	start_answered();
	record_ring_beat(self.agent, self.start_ns);
	assert_true(agent_watch_offer(self.start_ns + 290 * MS));
	/* Too old for an agent that lives, too young for one that is gone. */
	assert_false(agent_watch_offer(self.start_ns + 310 * MS));
	assert_int_equal(nr_offers(), 0);
	assert_true(agent_watch_offer(self.start_ns + 500 * MS));
	assert_int_equal(nr_offers(), 1);
}

static void at_the_end_an_agent_that_was_killed_is_known_to_be_at_once(void **state)
{
	(void)state;
	self.link.agent_pid = ended_process();
	start_answered();
	record_ring_beat(self.agent, self.start_ns);
	stop_listening();
	/* Until the next one listens. */
	assert_false(agent_watch_offer(self.start_ns));
	unlink(self.link.path);
	assert_false(agent_watch_offer(self.start_ns));
	listen_there();
	assert_true(agent_watch_offer(self.start_ns));
	assert_int_equal(nr_offers(), 1);
}

/* The other thread comes while this one is at it. */
static void two_threads_do_not_hand_over_the_ring_at_once(void **state)
{
	(void)state;
	start_answered();
	record_ring_beat(self.agent, self.start_ns);
	meanwhile_ns = self.start_ns + 500 * MS;
	assert_true(agent_watch_offer(self.start_ns + 500 * MS));
	assert_int_equal(meanwhile_ns, 0);
	assert_int_equal(nr_offers(), 1);
	assert_true(agent_watch_offer(self.start_ns + 500 * MS));
	assert_int_equal(nr_offers(), 1);
}

static void agent_that_left_and_took_its_socket_along_is_not_waited_for(void **state)
{
	(void)state;
	start_answered();
	record_ring_beat(self.agent, 0);
	stop_listening();
	unlink(self.link.path);
	assert_false(agent_watch_offer(self.start_ns));
	assert_true(agent_watch_offer(self.start_ns));
	listen_there();
}

static void waiting_at_the_end_has_an_end(void **state)
{
	(void)state;
	start_answered();
	stop_listening();
	agent_watch_last(monotonic_ns() + 30 * MS);
	listen_there();
	assert_int_equal(nr_offers(), 0);
}

static void guest_that_nobody_answers_gives_up_after_a_minute_and_counts(void **state)
{
	uint64_t now_ns;

	(void)state;
	agent_watch_start(&self.link, self.guest, &self.definitions);
	stop_listening();
	now_ns = monotonic_ns();
	assert_int_equal(agent_watch_step(now_ns + 59 * S), AGENT_WATCH_NOTHING);
	assert_int_equal(given_up(), 0);
	assert_int_equal(agent_watch_step(now_ns + 60 * S), AGENT_WATCH_GAVE_UP);
	assert_int_equal(given_up(), 1);
	assert_int_equal(agent_watch_step(now_ns + 99 * S), AGENT_WATCH_NOTHING);
	assert_true(agent_watch_offer(now_ns + 99 * S));
	assert_int_equal(given_up(), 1);
}

static void guest_whose_ring_was_read_does_not_give_up(void **state)
{
	(void)state;
	agent_watch_start(&self.link, self.guest, &self.definitions);
	record_ring_beat(self.agent, monotonic_ns());
	stop_listening();
	assert_int_equal(agent_watch_step(monotonic_ns() + 600 * S), AGENT_WATCH_NOTHING);
	assert_int_equal(given_up(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(agent_that_lives_is_left_alone),
		TEST(ring_is_offered_again_a_second_after_the_last_beat),
		TEST(at_the_end_a_beat_half_a_second_old_is_none),
		TEST(at_the_end_an_agent_that_was_killed_is_known_to_be_at_once),
		TEST(two_threads_do_not_hand_over_the_ring_at_once),
		TEST(agent_that_left_and_took_its_socket_along_is_not_waited_for),
		TEST(waiting_at_the_end_has_an_end),
		TEST(guest_that_nobody_answers_gives_up_after_a_minute_and_counts),
		TEST(guest_whose_ring_was_read_does_not_give_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
