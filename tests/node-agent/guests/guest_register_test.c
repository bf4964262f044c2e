#include "node-agent/guests/guest_register.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ME 1000u

static char directory[] = "/tmp/guest-register.XXXXXX";
static char path[64], file[80];
static struct guest_register *reg;

/* What was left. */
static uint32_t nr_left;
static struct guest_register_entry last;

static int set_up(void **state)
{
	(void)state;
	strcpy(directory + sizeof(directory) - 7, "XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/agent", directory);
	snprintf(file, sizeof(file), "%s.guests", path);
	return guest_register_open(path, &reg);
}

static int tear_down(void **state)
{
	(void)state;
	guest_register_close(reg);
	unlink(file);
	return rmdir(directory);
}

static struct guest_hello hello_of(uint32_t number)
{
	struct guest_hello hello = {.pid = 7, .run = number};

	memcpy(hello.instance, &number, sizeof(number));
	return hello;
}

static void add(uint32_t number)
{
	const struct guest_hello hello = hello_of(number);

	(void)guest_register_add(reg, getpid(), ME, &hello);
}

static void tell(uint32_t number, uint64_t seq)
{
	const struct guest_hello hello = hello_of(number);

	guest_register_told(reg, ME, hello.instance, seq);
}

static void on_left(void *context, const struct guest_register_entry *entry)
{
	assert_null(context);
	nr_left++;
	last = *entry;
}

/* The agent is killed, which closes nothing; the next one looks. */
static uint32_t left_to_the_next(void)
{
	guest_register_open(path,
			    &reg); /* the mapping of the killed one stays: the leak is the kill */
	assert_non_null(reg);
	nr_left = 0;
	guest_register_each(reg, on_left, NULL);
	return nr_left;
}

static void who_is_not_stored_is_left_to_the_next_agent(void **state)
{
	(void)state;
	struct guest_register *killed = reg;

	add(1);
	add(2);
	tell(1, 5);
	guest_register_stored(reg, 5);
	assert_int_equal(left_to_the_next(), 1);
	assert_int_equal(last.hello.run, 2);
	assert_int_equal(last.pid, getpid());
	assert_int_equal(last.uid, ME);
	assert_true(last.start_ticks > 0);
	assert_non_null(strstr(last.command, "guest_register_test"));
	tell(2, 1);
	guest_register_stored(reg, 1);
	guest_register_close(killed);
}

static void who_was_told_of_stays_until_that_is_stored(void **state)
{
	(void)state;
	add(1);
	tell(1, 7);
	guest_register_stored(reg, 6);
	nr_left = 0;
	guest_register_each(reg, on_left, NULL);
	assert_int_equal(nr_left, 1);
	guest_register_stored(reg, 7);
	guest_register_each(reg, on_left, NULL);
	assert_int_equal(nr_left, 1);
}

static void a_count_of_all_users_guests_is_the_word_on_each(void **state)
{
	const struct guest_hello other = hello_of(2);

	(void)state;
	add(1);
	assert_int_equal(guest_register_add(reg, 0, ME + 1, &other), 0);
	tell(1, GUEST_REGISTER_LATER);
	guest_register_told(reg, ME + 1, other.instance, GUEST_REGISTER_LATER);
	guest_register_counted(reg, ME + 2, 3);
	guest_register_stored(reg, 3);
	nr_left = 0;
	guest_register_each(reg, on_left, NULL);
	assert_int_equal(nr_left, 2);
	guest_register_counted(reg, GUEST_REGISTER_ALL, 4);
	guest_register_stored(reg, 4);
	guest_register_each(reg, on_left, NULL);
	assert_int_equal(nr_left, 2);
}

static void one_that_comes_again_has_one_entry(void **state)
{
	(void)state;
	add(1);
	add(1);
	nr_left = 0;
	guest_register_each(reg, on_left, NULL);
	assert_int_equal(nr_left, 1);
	tell(1, 1);
	guest_register_stored(reg, 1);
}

static void add_many(uid_t uid)
{
	const struct guest_hello first = hello_of(1);
	int r = 0;

	for (uint32_t i = 0; i <= GUEST_REGISTER_MAX; i++) {
		const struct guest_hello hello = hello_of(i + 1);

		r = guest_register_add(reg, getpid(), uid, &hello);
		assert_true(r == 0 || r == -ENOSPC);
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(guest_register_add(reg, getpid(), uid, &first), -EEXIST);
	nr_left = 0;
	guest_register_each(reg, on_left, NULL);
}

static void store_many(uid_t uid)
{
	for (uint32_t i = 0; i <= GUEST_REGISTER_MAX; i++) {
		const struct guest_hello hello = hello_of(i + 1);

		guest_register_told(reg, uid, hello.instance, 1);
	}
	guest_register_stored(reg, 1);
}

static void of_too_many_the_first_are_kept(void **state)
{
	(void)state;
	add_many(geteuid());
	assert_int_equal(nr_left, GUEST_REGISTER_MAX);
	assert_int_equal(last.hello.run, GUEST_REGISTER_MAX);
	store_many(geteuid());
}

static void no_user_keeps_out_all_others(void **state)
{
	const uid_t one = geteuid() + 1, other = geteuid() + 2;

	(void)state;
	add_many(one);
	assert_int_equal(nr_left, GUEST_REGISTER_MAX / 2);
	add_many(other);
	assert_int_equal(nr_left, GUEST_REGISTER_MAX / 2 + GUEST_REGISTER_MAX / 4);
	store_many(one);
	store_many(other);
}

static void an_empty_register_leaves_no_file(void **state)
{
	(void)state;
	assert_int_equal(access(file, F_OK), 0);
	guest_register_close(reg);
	assert_int_equal(access(file, F_OK), -1);
	assert_int_equal(guest_register_open(path, &reg), 0);
}

static void what_another_build_left_says_nothing(void **state)
{
	(void)state;
	add(1);
	int fd = open(file, O_WRONLY);
	struct guest_register *older = reg;

	assert_int_equal(pwrite(fd, "else", 4, 0), 4);
	close(fd);
	assert_int_equal(left_to_the_next(), 0);
	guest_register_close(older);
}

static void a_link_in_its_place_is_refused(void **state)
{
	(void)state;
	struct guest_register *refused;

	guest_register_close(reg);
	assert_int_equal(symlink("/dev/null", file), 0);
	assert_int_equal(guest_register_open(path, &refused), -ELOOP);
	assert_null(refused);
	unlink(file);
	assert_int_equal(guest_register_open(path, &reg), 0);
}

static void another_users_file_in_its_place_is_refused(void **state)
{
	(void)state;
	struct guest_register *refused;

	guest_register_close(reg);
	close(open(file, O_WRONLY | O_CREAT, 0666));
	if (chown(file, geteuid() + 1, (gid_t)-1) == 0) {
		assert_int_equal(guest_register_open(path, &refused), -EPERM);
		assert_null(refused);
	}
	unlink(file);
	assert_int_equal(guest_register_open(path, &reg), 0);
}

static void without_a_register_nothing_happens(void **state)
{
	(void)state;
	const struct guest_hello hello = hello_of(1);

	assert_int_equal(guest_register_add(NULL, 1, ME, &hello), 0);
	guest_register_told(NULL, ME, hello.instance, 1);
	guest_register_counted(NULL, ME, 1);
	guest_register_stored(NULL, 1);
	guest_register_each(NULL, on_left, NULL);
	guest_register_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_is_not_stored_is_left_to_the_next_agent),
		TEST(who_was_told_of_stays_until_that_is_stored),
		TEST(a_count_of_all_users_guests_is_the_word_on_each),
		TEST(one_that_comes_again_has_one_entry),
		TEST(of_too_many_the_first_are_kept),
		TEST(no_user_keeps_out_all_others),
		TEST(an_empty_register_leaves_no_file),
		TEST(what_another_build_left_says_nothing),
		TEST(a_link_in_its_place_is_refused),
		TEST(another_users_file_in_its_place_is_refused),
		TEST(without_a_register_nothing_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
