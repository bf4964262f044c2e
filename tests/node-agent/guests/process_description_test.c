/* Who a process is, as its environment says it: also after exec. */
#include "tests/support/cmocka_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/guests/process_description.h"
#include "proto/kernel_refusal.h"

#define EXPECT(rank_, local_, size_)                                                               \
	do {                                                                                       \
		process_description_message(description, &message);                                \
		assert_int_equal(message.process.rank, rank_);                                     \
		assert_int_equal(message.process.local_rank, local_);                              \
		assert_int_equal(message.process.world_size, size_);                               \
	} while (0)

static bool was_to_sample(const struct message_process *process, struct string_dictionary *strings)
{
	uint32_t notice;

	assert_int_equal(
		string_dictionary_intern(strings, KERNEL_NOTICE, strlen(KERNEL_NOTICE), &notice),
		0);
	for (uint32_t i = 0; i < process->nr_notices; i++)
		if (process->notices[i] == notice)
			return true;
	return false;
}

static void rank_is_that_of_the_program_after_exec(void **state)
{
	char *const nobody[] = {"A=b", NULL};
	char *const shell[] = {"sh", "-c",
			       "read line; exec env RANK=3 LOCAL_RANK=1 WORLD_SIZE=4 "
			       "FLAMEGRID_RECORD=sync,stalls cat",
			       NULL};
	struct string_dictionary *strings = string_dictionary_create();
	const struct guest_hello hello = {.pid = 1};
	struct message message;
	char byte;
	int in[2], out[2];

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execve("/bin/sh", shell, nobody);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	struct process_description *description =
		process_description_create(1, child, &hello, strings, NULL);
	assert_non_null(description);
	EXPECT(MESSAGE_RANK_NONE, MESSAGE_RANK_NONE, MESSAGE_RANK_NONE);
	assert_false(was_to_sample(&message.process, strings));
	/* Once the next line comes back, cat is there. */
	assert_int_equal(write(in[1], "\n.", 2), 2);
	assert_int_equal(read(out[0], &byte, 1), 1);
	assert_false(process_description_changed(description));
	process_description_read_job(description, child);
	assert_true(process_description_changed(description));
	EXPECT(3, 1, 4);
	assert_true(was_to_sample(&message.process, strings));
	assert_false(process_description_is_late(description));
	close(in[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	/* Nothing can be read any more: what is known stays. */
	process_description_read_job(description, child);
	assert_false(process_description_changed(description));
	EXPECT(3, 1, 4);
	close(out[0]);
	process_description_destroy(description);
	string_dictionary_destroy(strings);
}

/* An agent that was stopped meanwhile hears of such a process when it goes on. */
static void a_process_that_had_ended_before_it_was_read_is_late(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	const struct guest_hello hello = {.pid = 1};
	struct message message;
	siginfo_t info;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	for (int is_reaped = 0; is_reaped < 2; is_reaped++) {
		struct process_description *description =
			process_description_create(1, child, &hello, strings, NULL);

		assert_non_null(description);
		EXPECT(MESSAGE_RANK_NONE, MESSAGE_RANK_NONE, MESSAGE_RANK_NONE);
		assert_true(process_description_is_late(description));
		process_description_read_late(description);
		assert_true(process_description_is_late(description));
		process_description_destroy(description);
		assert_int_equal(waitpid(child, NULL, 0), is_reaped ? -1 : child);
	}
	string_dictionary_destroy(strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rank_is_that_of_the_program_after_exec),
		cmocka_unit_test(a_process_that_had_ended_before_it_was_read_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
