/* What is counted holds for the process's life: each test is a process of its own. */
#include "inject/cupti/context_count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Notes what the test wants noted; returns whether that is several contexts. */
static bool has_several_after(void (*note)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		note();
		_exit(context_count_has_several());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) != 0;
}

static void note_nothing(void)
{
}

static void note_one_often(void)
{
	for (int i = 0; i < 3; i++)
		context_count_note(7);
}

static void note_two(void)
{
	context_count_note(7);
	context_count_note(8);
}

static void note_two_and_the_first(void)
{
	note_two();
	context_count_note(7);
}

static void make_on_two_devices(void)
{
	context_count_created(0);
	context_count_created(1);
}

static void make_twice_on_one_device(void)
{
	context_count_created(1);
	context_count_created(1);
}

static void make_parts_and_note_one(void)
{
	context_count_parts();
	note_one_often();
}

/* Two threads note the first context at once: to the second one it is the same, or was none a moment ago. */
static void make_parts_and_note_one_twice_at_once(void)
{
	make_parts_and_note_one();
	context_count_note_other(7);
}

static void work_in_one_context_is_not_several(void **state)
{
	(void)state;
	assert_false(has_several_after(note_nothing));
	assert_false(has_several_after(note_one_often));
}

static void work_in_a_second_context_is_several_for_good(void **state)
{
	(void)state;
	assert_true(has_several_after(note_two));
	assert_true(has_several_after(note_two_and_the_first));
}

static void contexts_count_by_device_when_they_are_made(void **state)
{
	(void)state;
	assert_false(has_several_after(make_on_two_devices));
	assert_true(has_several_after(make_twice_on_one_device));
}

static void parts_of_a_context_are_several_before_they_work(void **state)
{
	(void)state;
	assert_true(has_several_after(context_count_parts));
	assert_true(has_several_after(make_parts_and_note_one));
	assert_true(has_several_after(make_parts_and_note_one_twice_at_once));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_in_one_context_is_not_several),
		cmocka_unit_test(work_in_a_second_context_is_several_for_good),
		cmocka_unit_test(contexts_count_by_device_when_they_are_made),
		cmocka_unit_test(parts_of_a_context_are_several_before_they_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
