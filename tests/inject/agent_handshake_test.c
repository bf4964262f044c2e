#include "inject/agent_handshake.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/inject/handshake_server.h"

static void ring_is_handed_over_and_no_descriptor_stays(void **state)
{
	const struct guest_welcome welcome = {.magic = HANDSHAKE_MAGIC,
					      .version = HANDSHAKE_VERSION,
					      .status = HANDSHAKE_OK,
					      .window = 7};
	struct handshake_server server;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	int before = handshake_server_lowest_free();
	handshake_server_start(&server, &welcome, sizeof(welcome));
	int result = handshake_server_shake(&server, &ring, &window);
	handshake_server_stop(&server);
	assert_int_equal(result, 0);
	assert_int_equal(handshake_server_lowest_free(), before);
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
		struct handshake_server server;
		struct record_ring *ring;
		uint16_t window;

		handshake_server_start(&server, cases[i].answer, cases[i].size);
		assert_int_equal(handshake_server_shake(&server, &ring, &window), cases[i].result);
		assert_null(ring);
		assert_int_equal(window, 0);
		handshake_server_stop(&server);
	}
}

static void agent_that_hangs_up_or_has_no_place_may_take_the_ring_later(void **state)
{
	const struct guest_welcome full = {
		HANDSHAKE_MAGIC, HANDSHAKE_VERSION, HANDSHAKE_REFUSED_FULL, 1, 0, 0};
	const struct guest_welcome taken = {
		HANDSHAKE_MAGIC, HANDSHAKE_VERSION, HANDSHAKE_OK, 1, 0, 0};
	const struct guest_welcome *answers[] = {&full, NULL};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct handshake_server server, again;
		struct record_ring *ring;
		uint16_t window;
		int before = handshake_server_lowest_free();

		handshake_server_start(&server, answers[i], answers[i] ? sizeof(full) : 0);
		assert_int_equal(handshake_server_shake(&server, &ring, &window), 0);
		handshake_server_stop(&server);
		assert_non_null(ring);
		assert_false(handshake_made.answered);
		assert_true(handshake_made.ring_fd > 100);

		/* One that answers, and does not ask for the memory to be kept. */
		handshake_server_start(&again, &taken, sizeof(taken));
		strcpy(handshake_made.path, again.path);
		assert_int_equal(agent_handshake_again(&handshake_made), 0);
		handshake_server_stop(&again);
		assert_true(handshake_made.answered);
		assert_int_equal(handshake_made.ring_fd, -1);
		assert_int_equal(handshake_server_lowest_free(), before);
		record_ring_destroy(ring);
	}
}

static void absent_agent_is_reported(void **state)
{
	struct record_ring *ring;
	uint16_t window;
	char path[200];
	int before = handshake_server_lowest_free();

	(void)state;
	assert_int_equal(agent_handshake("/nowhere/socket", &handshake_sizes, &handshake_made,
					 &ring, &window),
			 -ENOENT);
	assert_null(ring);
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(agent_handshake(path, &handshake_sizes, &handshake_made, &ring, &window),
			 -ENAMETOOLONG);
	assert_int_equal(handshake_server_lowest_free(), before);
}

static void small_file_size_limit_is_reported(void **state)
{
	struct handshake_server server;
	struct record_ring *ring;
	struct rlimit old, limit;
	uint16_t window;

	(void)state;
	handshake_server_start(&server, NULL, 0);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 1 << 20;
	setrlimit(RLIMIT_FSIZE, &limit);
	int result = handshake_server_shake(&server, &ring, &window);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(result, -EFBIG);
	assert_null(ring);
	handshake_server_stop(&server);
	/* Said in place of a hello. */
	assert_int_equal(server.hello.magic, HANDSHAKE_ABSENCE_MAGIC);
}

static void refusal_says_what_the_limit_must_be(void **state)
{
	struct handshake_server server;

	(void)state;
	handshake_server_start(&server, NULL, 0);
	agent_handshake_refuse(server.path, -ENOMEM, (5 << 20) + 1);
	handshake_server_stop(&server);
	assert_int_equal(server.absence.magic, HANDSHAKE_ABSENCE_MAGIC);
	assert_int_equal(server.absence.pid, getpid());
	assert_int_equal(server.absence.error, ENOMEM);
	assert_int_equal(server.absence.needed_mib, 6);
	agent_handshake_refuse("/nowhere/socket", -ENOMEM, 1); /* nobody is told */
}

/* As where all memory is locked, and the limit of locked memory is reached. */
static void ring_that_may_not_be_locked_is_an_error_and_not_a_missing_answer(void **state)
{
	struct handshake_server server;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	handshake_server_start(&server, NULL, 0);
	handshake_faults.mmap_error = EAGAIN;
	int result = handshake_server_shake(&server, &ring, &window);
	handshake_faults.mmap_error = 0;
	assert_int_equal(result, -EAGAIN);
	assert_null(ring);
	handshake_server_stop(&server);
	assert_int_equal(server.hello.magic, HANDSHAKE_ABSENCE_MAGIC);
}

static void ring_goes_to_the_next_agent_under_the_same_name(void **state)
{
	struct handshake_server first, second;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	int before = handshake_server_lowest_free();
	handshake_server_start(&first, &handshake_keeping, sizeof(handshake_keeping));
	assert_int_equal(handshake_server_shake(&first, &ring, &window), 0);
	handshake_server_stop(&first);
	assert_int_equal(handshake_server_lowest_free(), before);
	assert_true(handshake_made.wanted);
	assert_true(handshake_made.ring_fd > 100);
	assert_int_equal(fcntl(handshake_made.ring_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(agent_handshake_again(&handshake_made), -ENOENT);

	handshake_server_start(&second, &handshake_keeping, sizeof(handshake_keeping));
	strcpy(handshake_made.path, second.path);
	int result = agent_handshake_again(&handshake_made);
	handshake_server_stop(&second);
	assert_int_equal(result, 0);
	assert_int_equal(second.mapped, 0);
	assert_memory_equal(second.hello.instance, first.hello.instance,
			    sizeof(first.hello.instance));
	assert_int_equal(handshake_server_lowest_free(), before);
	close(handshake_made.ring_fd);
	record_ring_destroy(ring);
}

static void number_that_the_program_took_is_left_alone(void **state)
{
	struct handshake_server server;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	handshake_server_start(&server, &handshake_keeping, sizeof(handshake_keeping));
	assert_int_equal(handshake_server_shake(&server, &ring, &window), 0);
	handshake_server_stop(&server);
	int fd = handshake_made.ring_fd, other = open("/dev/null", O_RDONLY);
	assert_int_equal(dup2(other, fd), fd);
	assert_int_equal(agent_handshake_again(&handshake_made), -EBADF);
	assert_int_equal(handshake_made.ring_fd, -1);
	assert_int_equal(agent_handshake_again(&handshake_made), -EBADF);
	assert_int_equal(close(fd), 0); /* still the program's */
	close(other);
	record_ring_destroy(ring);
}

static void program_with_few_descriptors_keeps_them_all(void **state)
{
	struct handshake_server server;
	struct record_ring *ring;
	struct rlimit old, limit;
	uint16_t window;

	(void)state;
	handshake_server_start(&server, &handshake_keeping, sizeof(handshake_keeping));
	getrlimit(RLIMIT_NOFILE, &old);
	limit = old;
	limit.rlim_cur = 100;
	setrlimit(RLIMIT_NOFILE, &limit);
	int result = handshake_server_shake(&server, &ring, &window);
	setrlimit(RLIMIT_NOFILE, &old);
	handshake_server_stop(&server);
	assert_int_equal(result, 0);
	assert_true(handshake_made.wanted);
	assert_int_equal(handshake_made.ring_fd, -1);
	record_ring_destroy(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_is_handed_over_and_no_descriptor_stays),
		cmocka_unit_test(bad_answers_are_told_apart),
		cmocka_unit_test(agent_that_hangs_up_or_has_no_place_may_take_the_ring_later),
		cmocka_unit_test(absent_agent_is_reported),
		cmocka_unit_test(small_file_size_limit_is_reported),
		cmocka_unit_test(refusal_says_what_the_limit_must_be),
		cmocka_unit_test(ring_that_may_not_be_locked_is_an_error_and_not_a_missing_answer),
		cmocka_unit_test(ring_goes_to_the_next_agent_under_the_same_name),
		cmocka_unit_test(number_that_the_program_took_is_left_alone),
		cmocka_unit_test(program_with_few_descriptors_keeps_them_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
