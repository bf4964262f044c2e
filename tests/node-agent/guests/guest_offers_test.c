#include "node-agent/guests/guest_offers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/offer_name.h"

#define OTHER 12345u /* a user; not that of the test */

static char directory[] = "/tmp/guest-offers.XXXXXX";
static char path[64], folder[80];
static struct guest_offers *offers;

/* What was left. */
static uint32_t nr_left;
static bool is_full; /* nobody can take an offer */
static uid_t last_uid;
static struct guest_hello last;

static int set_up(void **state)
{
	(void)state;
	strcpy(directory + sizeof(directory) - 7, "XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/agent", directory);
	snprintf(folder, sizeof(folder), "%s" HANDSHAKE_OFFERS, path);
	nr_left = 0;
	is_full = false;
	return guest_offers_open(path, false, &offers);
}

/* Nothing is left of what the module made. */
static int tear_down(void **state)
{
	(void)state;
	guest_offers_close(offers);
	return rmdir(directory);
}

static struct guest_hello hello_of(uint32_t number)
{
	struct guest_hello hello = {
		.magic = HANDSHAKE_MAGIC, .version = HANDSHAKE_VERSION, .pid = 7, .run = number};

	memcpy(hello.instance, &number, sizeof(number));
	return hello;
}

static void place_of(uint32_t number, char place[static 256])
{
	const struct guest_hello hello = hello_of(number);
	char name[OFFER_NAME_SIZE];

	offer_name(&hello, name);
	snprintf(place, 256, "%s/%s", folder, name);
}

static void make_file(const char *place)
{
	int fd = open(place, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	close(fd);
}

/* As a guest does. */
static void offer(uint32_t number)
{
	char place[256];

	place_of(number, place);
	make_file(place);
}

static bool is_there(uint32_t number)
{
	struct stat status;
	char place[256];

	place_of(number, place);
	return lstat(place, &status) == 0;
}

static void settle(uid_t uid, uint32_t number)
{
	const struct guest_hello hello = hello_of(number);

	guest_offers_settle(offers, uid, &hello);
}

static bool on_left(void *context, uid_t uid, const struct guest_hello *hello)
{
	assert_ptr_equal(context, &nr_left);
	nr_left++;
	last_uid = uid;
	last = *hello;
	return !is_full;
}

/* Until the clock that dates files has moved on: what was made is then earlier. */
static void pass_a_tick(void)
{
	struct stat begin, now;

	assert_int_equal(chmod(directory, 0700) | stat(directory, &begin), 0);
	do
		assert_int_equal(chmod(directory, 0700) | stat(directory, &now), 0);
	while (now.st_ctim.tv_sec == begin.st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == begin.st_ctim.tv_nsec);
}

/* Of agents that were killed, which closes nothing. */
static struct guest_offers *killed[16];
static uint32_t nr_killed;

static void next_agent_for(bool any_user)
{
	assert_true(nr_killed < sizeof(killed) / sizeof(killed[0]));
	killed[nr_killed++] = offers;
	pass_a_tick();
	assert_int_equal(guest_offers_open(path, any_user, &offers), 0);
}

static void next_agent(void)
{
	next_agent_for(false);
}

static bool look(uint32_t max)
{
	return guest_offers_read(offers, max, on_left, &nr_left);
}

static void offers_that_nobody_can_take_stay_for_the_next_round(void **state)
{
	(void)state;
	offer(1);
	offer(2);
	next_agent();
	is_full = true;
	assert_false(look(10));
	assert_int_equal(nr_left, 2);
	assert_false(look(10));
	assert_int_equal(nr_left, 4);
	assert_true(is_there(1) && is_there(2));
	is_full = false;
	assert_false(look(10));
	assert_int_equal(nr_left, 6);
	assert_false(is_there(1) || is_there(2));
	assert_false(look(10));
	assert_int_equal(nr_left, 6);
}

static void an_offer_that_is_settled_is_not_left(void **state)
{
	(void)state;
	offer(1);
	offer(2);
	settle(geteuid(), 1);
	assert_false(is_there(1));
	assert_true(is_there(2));
	next_agent();
	assert_false(look(100));
	assert_int_equal(nr_left, 1);
	assert_int_equal(last_uid, geteuid());
	const struct guest_hello expected = hello_of(2);
	assert_memory_equal(&last, &expected, sizeof(last));
	assert_false(is_there(2));
	settle(geteuid(), 2);
	assert_false(look(100));
	assert_int_equal(nr_left, 1);
}

static void offers_since_the_start_are_left_alone(void **state)
{
	(void)state;
	next_agent();
	pass_a_tick();
	offer(1);
	assert_false(look(100));
	assert_int_equal(nr_left, 0);
	assert_true(is_there(1));
	settle(geteuid(), 1);
}

static void many_offers_are_read_in_steps(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 50; i++)
		offer(i);
	next_agent();
	assert_true(look(20));
	assert_true(nr_left >= 18 && nr_left <= 20);
	assert_true(look(20));
	assert_false(look(20));
	assert_int_equal(nr_left, 50);
}

static void an_offer_settles_for_its_own_user_alone(void **state)
{
	(void)state;
	offer(1);
	settle(OTHER, 1);
	assert_true(is_there(1));
	settle(geteuid(), 1);
	assert_false(is_there(1));
}

/* Only root can give files away. */
static void a_users_offer_is_that_users(void **state)
{
	char place[256];

	(void)state;
	offer(1);
	place_of(1, place);
	bool given = lchown(place, OTHER, OTHER) == 0;
	next_agent();
	assert_false(look(100));
	assert_int_equal(nr_left, 1);
	assert_int_equal(last_uid, given ? OTHER : geteuid());
}

static void what_is_no_offer_is_removed_and_not_followed(void **state)
{
	char place[256], target[128];
	struct stat status;

	(void)state;
	snprintf(target, sizeof(target), "%s/target", directory);
	make_file(target);
	place_of(1, place);
	assert_int_equal(symlink(target, place), 0);
	place_of(2, place);
	assert_int_equal(mkfifo(place, 0666), 0);
	place_of(3, place);
	assert_int_equal(mkdir(place, 0777), 0);
	place_of(4, place);
	assert_int_equal(link(target, place), 0);
	snprintf(place, sizeof(place), "%s/0123", folder);
	make_file(place);
	place_of(5, place);
	place[strlen(place) - 1] = 'g';
	make_file(place);
	struct guest_hello later = hello_of(6);
	later.version++;
	char name[OFFER_NAME_SIZE];
	offer_name(&later, name);
	snprintf(place, sizeof(place), "%s/%s", folder, name);
	make_file(place);
	next_agent();
	assert_false(look(100));
	assert_int_equal(nr_left, 0);
	assert_int_equal(lstat(target, &status), 0);
	assert_int_equal(status.st_nlink, 1);
	assert_int_equal(unlink(target), 0);
}

/* A user may put there what cannot be removed: it is left, and so is the directory. */
static void a_full_directory_does_no_harm(void **state)
{
	char place[256], inner[300];

	(void)state;
	place_of(1, place);
	assert_int_equal(mkdir(place, 0777), 0);
	snprintf(inner, sizeof(inner), "%s/file", place);
	make_file(inner);
	offer(2);
	next_agent();
	assert_false(look(100));
	assert_int_equal(nr_left, 1);
	guest_offers_close(offers);
	assert_int_equal(access(folder, F_OK), 0);
	assert_int_equal(unlink(inner), 0);
	assert_int_equal(rmdir(place), 0);
	assert_int_equal(guest_offers_open(path, false, &offers), 0);
}

static void all_users_directory_lies_beside_the_sockets_file_system(void **state)
{
	char target[128];
	struct stat status;

	(void)state;
	guest_offers_close(offers);
	assert_int_equal(guest_offers_open(path, true, &offers), 0);
	ssize_t size = readlink(folder, target, sizeof(target) - 1);
	assert_true(size > 0);
	target[size] = '\0';
	assert_memory_equal(target, GUEST_OFFERS_SHARED, sizeof(GUEST_OFFERS_SHARED) - 1);
	assert_int_equal(stat(folder, &status), 0);
	assert_int_equal(status.st_mode & 07777, 01733);
	offer(1);
	/* The next one has the same. */
	struct guest_offers *first = offers;
	pass_a_tick();
	assert_int_equal(guest_offers_open(path, true, &offers), 0);
	assert_false(look(100));
	assert_int_equal(nr_left, 1);
	guest_offers_close(first);
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(lstat(folder, &status), -1);
	/* What a link led to is gone: the next one makes another. */
	assert_int_equal(symlink(target, folder), 0);
	guest_offers_close(offers);
	assert_int_equal(guest_offers_open(path, true, &offers), 0);
	assert_int_equal(stat(folder, &status), 0);
	/* And an agent for one user has one of its own. */
	guest_offers_close(offers);
	assert_int_equal(guest_offers_open(path, true, &offers), 0);
	struct guest_offers *shared = offers;
	size = readlink(folder, target, sizeof(target) - 1);
	target[size] = '\0';
	assert_int_equal(guest_offers_open(path, false, &offers), 0);
	assert_int_equal(lstat(folder, &status), 0);
	assert_true(S_ISDIR(status.st_mode));
	guest_offers_close(shared);
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(access(folder, F_OK), 0);
}

static void what_is_not_ours_is_refused(void **state)
{
	struct guest_offers *refused = offers;

	(void)state;
	guest_offers_close(offers);
	offers = NULL;
	make_file(folder);
	assert_int_equal(guest_offers_open(path, false, &refused), -EPERM);
	assert_null(refused);
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(mkdir(folder, 0777), 0);
	if (chown(folder, OTHER, OTHER) == 0) {
		assert_int_equal(guest_offers_open(path, false, &refused), -EPERM);
		assert_int_equal(guest_offers_open(path, true, &refused), -EPERM);
		assert_null(refused);
	}
	assert_int_equal(rmdir(folder), 0);
}

/* Where the socket lies in /tmp, others may have made it. */
static void a_link_of_another_user_is_not_followed(void **state)
{
	struct guest_offers *refused = offers;
	char target[80];
	struct stat status;

	(void)state;
	guest_offers_close(offers);
	offers = NULL;
	snprintf(target, sizeof(target), "%s/target", directory);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, folder), 0);
	if (lchown(folder, OTHER, OTHER) == 0) {
		assert_int_equal(guest_offers_open(path, true, &refused), -EPERM);
		assert_int_equal(guest_offers_open(path, false, &refused), -EPERM);
		assert_null(refused);
		assert_int_equal(lchown(folder, geteuid(), getegid()), 0);
	}
	/* Nor one of ours that leads elsewhere. */
	assert_int_equal(guest_offers_open(path, true, &refused), 0);
	guest_offers_close(refused);
	assert_int_equal(stat(target, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_int_equal(rmdir(target), 0);
}

/* Only root can give a directory away. */
static void what_anothers_directory_in_the_links_place_holds_is_not_read(void **state)
{
	char target[128];
	struct stat status;

	(void)state;
	guest_offers_close(offers);
	assert_int_equal(guest_offers_open(path, true, &offers), 0);
	ssize_t size = readlink(folder, target, sizeof(target) - 1);
	assert_true(size > 0);
	target[size] = '\0';
	bool given = chown(target, OTHER, OTHER) == 0;
	next_agent_for(true);
	assert_int_equal(stat(folder, &status), 0);
	assert_int_equal(status.st_uid, geteuid());
	if (given)
		assert_int_equal(rmdir(target), 0);
}

static void files_of_the_other_kind_are_not_mixed(void **state)
{
	struct guest_offers *refused = NULL;

	(void)state;
	offer(1);
	assert_int_equal(guest_offers_open(path, true, &refused), -ENOTEMPTY);
	assert_null(refused);
	settle(geteuid(), 1);
}

static void a_read_only_folder_has_none(void **state)
{
	struct guest_offers *refused;

	(void)state;
	guest_offers_close(offers);
	offers = NULL;
	assert_int_equal(guest_offers_open("/proc/nowhere/agent", false, &refused), -ENOENT);
	assert_null(refused);
	assert_true(guest_offers_open("/proc/agent", false, &refused) < 0);
	assert_null(refused);
}

static void without_offers_nothing_happens(void **state)
{
	(void)state;
	const struct guest_hello hello = hello_of(1);

	guest_offers_settle(NULL, 1, &hello);
	assert_false(guest_offers_read(NULL, 1, on_left, NULL));
	guest_offers_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(offers_that_nobody_can_take_stay_for_the_next_round),
		TEST(an_offer_that_is_settled_is_not_left),
		TEST(offers_since_the_start_are_left_alone),
		TEST(many_offers_are_read_in_steps),
		TEST(an_offer_settles_for_its_own_user_alone),
		TEST(a_users_offer_is_that_users),
		TEST(what_is_no_offer_is_removed_and_not_followed),
		TEST(a_full_directory_does_no_harm),
		TEST(all_users_directory_lies_beside_the_sockets_file_system),
		TEST(what_is_not_ours_is_refused),
		TEST(a_link_of_another_user_is_not_followed),
		TEST(what_anothers_directory_in_the_links_place_holds_is_not_read),
		TEST(files_of_the_other_kind_are_not_mixed),
		TEST(a_read_only_folder_has_none),
		TEST(without_offers_nothing_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
