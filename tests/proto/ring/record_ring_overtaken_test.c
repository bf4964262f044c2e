/* A writer of the collective lane that is overtaken by another one, and by the reader, after each of its instructions. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record_ring_fixture.h"

#define PLACES 16u

enum outcome { UNDECIDED, PUSHED, REFUSED };

static struct record_ring_fixture pair;
static _Atomic enum outcome *outcome; /* shared with the writer */

static int set_up(void **state)
{
	struct record_ring_sizes sizes = record_ring_fixture_small;

	(void)state;
	sizes.collectives = PLACES;
	pair = record_ring_fixture_open(&sizes);
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	return outcome == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_ring_fixture_close(&pair);
	return munmap(outcome, sizeof(*outcome));
}

static bool push(uint64_t count)
{
	return record_ring_push_collective(pair.guest, &(struct collective_record){.count = count});
}

/* Returns the sum of the counts that have come. */
static uint64_t read_and_release(void)
{
	static struct record_ring_snapshot snapshot;
	struct collective_record got[PLACES];
	struct record_ring_position position;
	uint64_t sum = 0;
	uint32_t nr_lost;

	record_ring_snapshot(pair.agent, &snapshot);
	int nr = record_ring_read_collectives(pair.agent, &snapshot, false, got, PLACES, &nr_lost);
	assert_true(nr >= 0);
	for (int i = 0; i < nr; i++)
		sum += got[i].count;
	assert_int_equal(record_ring_position(pair.agent, &position), 0);
	record_ring_release(pair.agent, &position);
	free(position.launch);
	return sum;
}

/* Starts a process that pushes 1, and stops it after so many instructions. */
static pid_t start_writer(uint32_t instructions)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		*outcome = push(1) ? PUSHED : REFUSED;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	for (uint32_t i = 0; i < instructions && *outcome == UNDECIDED; i++) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
	}
	return pid;
}

static void a_writer_that_is_overtaken_is_not_refused(void **state)
{
	bool decided = false;
	int status;

	(void)state;
	for (uint32_t instructions = 0; !decided; instructions++) {
		*outcome = UNDECIDED;
		pid_t pid = start_writer(instructions);
		decided = *outcome != UNDECIDED;
		assert_true(push(10));
		uint64_t sum = read_and_release();
		assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(*outcome, PUSHED);
		assert_int_equal(sum + read_and_release(), 11);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_writer_that_is_overtaken_is_not_refused, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
