#include "cli/base/newest_profile.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "aggregator/store/store_life.h"

static char directory[64];

static int set_up(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/newest_profile_test.XXXXXX");
	return mkdtemp(directory) ? chdir(directory) : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return chdir("/") || system(command);
}

/* Makes a file that was last written to at that second. */
static void make_file(const char *path, const char *text, time_t time_s)
{
	const struct timespec times[2] = {{.tv_sec = time_s}, {.tv_sec = time_s}};
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static void make_profile(const char *name, time_t time_s)
{
	char path[PATH_MAX];

	assert_int_equal(mkdir(name, 0700), 0);
	snprintf(path, sizeof(path), "%s/profile.db", name);
	make_file(path, "", time_s);
}

static char told[1024];

static void tell(const char *path, const char *reason)
{
	size_t used = strlen(told);

	snprintf(told + used, sizeof(told) - used, "%s: %s\n", path, reason);
}

static void assert_newest(uint32_t nr, const char *expected)
{
	char path[PATH_MAX];
	uint64_t age_s;

	assert_int_equal(newest_profile_find(".", tell, path, &age_s), nr);
	assert_string_equal(path, expected);
	assert_true(nr == 0 || age_s > 0);
}

static void an_empty_directory_has_none(void **state)
{
	(void)state;
	assert_newest(0, "");
	assert_int_equal(mkdir("flamegrid-profile", 0700), 0); /* without a store */
	make_profile(".hidden", 1000);
	assert_newest(0, "");
	make_profile("other", 1000);
	assert_newest(1, "other");
}

static void the_newest_store_wins(void **state)
{
	(void)state;
	make_profile("flamegrid-profile", 3000);
	make_profile("flamegrid-profile.2", 2000);
	assert_newest(2, "flamegrid-profile");
	make_profile("flamegrid-profile-17", 4000);
	assert_newest(3, "flamegrid-profile-17");
	make_file("profile.db", "", 5000);
	assert_newest(4, "profile.db");
}

static void the_log_of_a_live_store_counts(void **state)
{
	(void)state;
	make_profile("flamegrid-profile", 3000);
	make_profile("flamegrid-profile-17", 4000);
	make_file("flamegrid-profile/profile.db-wal", "pages", 5000);
	assert_newest(2, "flamegrid-profile");
}

static void of_equal_times_the_first_name_wins(void **state)
{
	(void)state;
	make_profile("flamegrid-profile-b", 3000);
	make_profile("flamegrid-profile-a", 3000);
	assert_newest(2, "flamegrid-profile-a");
}

static void set_time(const char *path, time_t time_s)
{
	const struct timespec times[2] = {{.tv_sec = time_s}, {.tv_sec = time_s}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Makes a store, and plays a launch into it. */
static void make_store(const char *name, bool has_work, time_t time_s)
{
	char path[PATH_MAX];
	struct database *database;
	struct store *store;

	assert_int_equal(mkdir(name, 0700), 0);
	snprintf(path, sizeof(path), "%s/profile.db", name);
	assert_int_equal(store_open(path, NULL, &store, NULL), 0);
	store_close(store);
	assert_int_equal(database_open(path, false, &database, NULL), 0);
	if (has_work)
		assert_int_equal(database_execute(database, "INSERT INTO totals VALUES "
							    "(1,0,0,0,0,0,0,0,0,0,0,1,1,0,NULL)"),
				 0);
	database_close(database);
	set_time(path, time_s);
}

static void what_shows_nothing_is_left_out_and_told(void **state)
{
	(void)state;
	make_store("flamegrid-profile", true, 1000);
	make_store("flamegrid-profile.2", false, 2000);
	make_profile("flamegrid-profile.3", 3000);
	make_file("flamegrid-profile.3/profile.db", "no database at all, but a text", 3000);
	*told = '\0';
	assert_newest(3, "flamegrid-profile");
	assert_string_equal(told, "flamegrid-profile.3: it is damaged, or no profile\n"
				  "flamegrid-profile.2: nothing was recorded in it\n");
}

static void a_profile_that_is_written_comes_last_but_before_none(void **state)
{
	(void)state;
	make_store("flamegrid-profile", true, 1000);
	make_store("flamegrid-profile.2", false, 3000);
	make_store("flamegrid-profile.3", true, 2000);
	int fd = open("flamegrid-profile.3/profile.db", O_RDWR | O_CLOEXEC);
	store_life_begin(fd);
	*told = '\0';
	assert_newest(3, "flamegrid-profile");
	assert_non_null(strstr(told, "flamegrid-profile.3: it is still being written\n"));
	assert_int_equal(unlink("flamegrid-profile/profile.db"), 0);
	*told = '\0';
	assert_newest(2, "flamegrid-profile.3");
	assert_string_equal(told, "flamegrid-profile.2: nothing was recorded in it\n");
	close(fd);
}

static void the_newest_that_is_written_is_live(void **state)
{
	char path[PATH_MAX];

	(void)state;
	make_store("flamegrid-profile", true, 3000);
	assert_false(newest_profile_live(".", path));
	assert_string_equal(path, "");
	make_store("flamegrid-profile.2", false, 1000);
	make_store("flamegrid-profile.3", false, 2000);
	const int second = open("flamegrid-profile.2/profile.db", O_RDWR | O_CLOEXEC);
	const int third = open("flamegrid-profile.3/profile.db", O_RDWR | O_CLOEXEC);
	store_life_begin(second);
	assert_true(newest_profile_live(".", path));
	assert_string_equal(path, "flamegrid-profile.2");
	store_life_begin(third);
	assert_true(newest_profile_live(".", path));
	assert_string_equal(path, "flamegrid-profile.3");
	close(second);
	close(third);
}

static void ages_are_in_the_largest_unit(void **state)
{
	char text[NEWEST_PROFILE_AGE_SIZE];

	(void)state;
	assert_string_equal(newest_profile_age(0, text), "0 seconds ago");
	assert_string_equal(newest_profile_age(1, text), "1 second ago");
	assert_string_equal(newest_profile_age(119, text), "1 minute ago");
	assert_string_equal(newest_profile_age(7200, text), "2 hours ago");
	assert_string_equal(newest_profile_age(86400, text), "1 day ago");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_directory_has_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_newest_store_wins, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_log_of_a_live_store_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_equal_times_the_first_name_wins, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_shows_nothing_is_left_out_and_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_profile_that_is_written_comes_last_but_before_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_newest_that_is_written_is_live, set_up,
						tear_down),
		cmocka_unit_test(ages_are_in_the_largest_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
