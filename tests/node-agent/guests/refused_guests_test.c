#include "node-agent/guests/refused_guests.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "node-agent/guests/guest_listener.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/guests/process_description.h"

#define ME    (geteuid() + 1)
#define OTHER (geteuid() + 2)

static struct refused_guests *guests;
static struct string_dictionary *strings;
static struct device_list devices;
static uint64_t now_ns;

/* What was told. */
static uint32_t nr_ends;
static struct refused_guest last;

static int set_up(void **state)
{
	(void)state;
	guests = refused_guests_create();
	strings = string_dictionary_create();
	now_ns = 1;
	nr_ends = 0;
	return guests && strings ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	refused_guests_destroy(guests);
	string_dictionary_destroy(strings);
	return 0;
}

static void on_end(void *context, const struct refused_guest *guest)
{
	assert_ptr_equal(context, &nr_ends);
	assert_non_null(guest->description);
	nr_ends++;
	last = *guest;
	process_description_destroy(guest->description);
}

static struct guest_hello hello_of(uint32_t number)
{
	struct guest_hello hello = {.pid = 7, .run = number};

	memcpy(hello.instance, &number, sizeof(number));
	return hello;
}

/* It asks. Whether it was new. */
static bool refuse(pid_t pid, uid_t uid, uint32_t number)
{
	const struct guest_hello hello = hello_of(number);
	const struct guest_arrival arrival = {.pid = pid, .uid = uid, .hello = &hello};

	if (!refused_guests_wants(guests, &arrival))
		return false;
	refused_guests_add(guests, &arrival, proc_file_start_ticks(pid), "full",
			   process_description_create(0, pid, &hello, strings, &devices));
	return true;
}

static void take_in(uid_t uid, uint32_t number)
{
	const struct guest_hello hello = hello_of(number);
	const struct guest_arrival arrival = {.uid = uid, .hello = &hello};

	refused_guests_forget(guests, &arrival);
}

static uint64_t step(void)
{
	return refused_guests_step(guests, now_ns, on_end, &nr_ends);
}

static pid_t begin_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void the_end_of_one_that_never_got_a_place_is_told_once(void **state)
{
	pid_t child = begin_child();

	(void)state;
	assert_true(refuse(child, ME, 5));
	assert_false(refuse(child, ME, 5));
	assert_int_equal(step(), 1 + REFUSED_GUESTS_LOOK_NS);
	assert_int_equal(nr_ends, 0);
	end_child(child);
	now_ns += REFUSED_GUESTS_LOOK_NS - 1;
	step();
	assert_int_equal(nr_ends, 0);
	now_ns++;
	assert_int_equal(step(), UINT64_MAX);
	assert_int_equal(nr_ends, 1);
	assert_int_equal(last.hello.run, 5);
	assert_int_equal(last.uid, ME);
	now_ns += REFUSED_GUESTS_LOOK_NS;
	step();
	assert_int_equal(nr_ends, 1);
}

static void one_that_got_a_place_is_forgotten(void **state)
{
	pid_t child = begin_child();

	(void)state;
	assert_true(refuse(child, ME, 5));
	take_in(ME, 5);
	assert_int_equal(step(), UINT64_MAX);
	end_child(child);
	now_ns += REFUSED_GUESTS_LOOK_NS;
	step();
	assert_int_equal(nr_ends, 0);
}

static void nobody_gets_another_users_guest_forgotten(void **state)
{
	(void)state;
	assert_true(refuse(getpid(), ME, 5));
	take_in(OTHER, 5);
	assert_false(refuse(getpid(), ME, 5));
}

static void the_agents_end_is_the_end_of_all(void **state)
{
	(void)state;
	assert_true(refuse(getpid(), ME, 5));
	assert_true(refuse(0, ME, 6)); /* not visible from here */
	assert_int_equal(refused_guests_look(guests, on_end, &nr_ends), 2);
	assert_int_equal(nr_ends, 0);
	refused_guests_end_all(guests, on_end, &nr_ends);
	assert_int_equal(nr_ends, 2);
	assert_int_equal(step(), UINT64_MAX);
}

static void each_user_leaves_as_much_room_as_it_takes(void **state)
{
	uint32_t mine = 0, others = 0;

	(void)state;
	while (refuse(getpid(), ME, mine + 1))
		mine++;
	while (refuse(getpid(), OTHER, others + 1))
		others++;
	assert_int_equal(mine, REFUSED_GUESTS_MAX / 2);
	assert_int_equal(others, REFUSED_GUESTS_MAX / 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_end_of_one_that_never_got_a_place_is_told_once),
		TEST(one_that_got_a_place_is_forgotten),
		TEST(nobody_gets_another_users_guest_forgotten),
		TEST(the_agents_end_is_the_end_of_all),
		TEST(each_user_leaves_as_much_room_as_it_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
