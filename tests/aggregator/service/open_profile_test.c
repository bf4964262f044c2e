#include "tests/support/cmocka_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aggregator/service/open_profile.h"
#include "aggregator/store/store_life.h"
#include "base/log.h"

#define S 1000000000ull

static char line[512];
static uint32_t nr_lines;

void __wrap_log_write(enum log_level level, const char *format, ...);

void __wrap_log_write(enum log_level level, const char *format, ...)
{
	va_list arguments;

	(void)level;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	nr_lines++;
}

static void slow_commits_get_a_line_and_another_one_when_they_are_over(void **state)
{
	struct open_profile profile = {.place = "n1:/scratch/profile.db"};

	(void)state;
	nr_lines = 0;
	open_profile_note_commit(&profile, 2 * S, 100 * S);
	assert_int_equal(nr_lines, 0);
	open_profile_note_commit(&profile, OPEN_PROFILE_SLOW_NS, 101 * S);
	open_profile_note_commit(&profile, OPEN_PROFILE_SLOW_NS, 102 * S);
	assert_int_equal(nr_lines, 1);
	assert_string_equal(line, "the disk of n1:/scratch/profile.db takes 2.0 s for a commit, or "
				  "this machine has other work: agents keep their data meanwhile");
	open_profile_note_commit(&profile, 1, 103 * S);
	assert_int_equal(nr_lines, 1);
	open_profile_note_commit(&profile, 1, 102 * S + SLOW_SPELL_CALM_NS);
	assert_int_equal(nr_lines, 2);
	assert_string_equal(line, "the disk of n1:/scratch/profile.db is fast again: a commit took "
				  "at most 2.0 s");
}

/* The store is costly, so that commits store messages alone for a while. */
static void a_reader_makes_the_next_commit_whole(void **state)
{
	char folder[] = "/tmp/flamegrid-open-profile-XXXXXX", path[64];
	const struct open_profile_options options = {.store_path = path};
	struct open_profile profile = {0};

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/profile.db", folder);
	assert_int_equal(open_profile_open(&profile, &options, NULL), 0);
	profile.schedule = (struct commit_schedule){.changed = true, .whole_ns = 1000 * S};
	store_life_want(path);
	profile.schedule.wanted_ns = 3 * S;
	assert_int_equal(open_profile_commit(&profile, 2 * S), 0);
	assert_true(profile.schedule.behind);
	assert_true(store_life_is_wanted(path));
	assert_int_equal(open_profile_commit(&profile, 3 * S), 0);
	assert_false(profile.schedule.behind);
	assert_false(store_life_is_wanted(path));
	store_life_want(path);
	open_profile_close(&profile);
	assert_false(store_life_is_wanted(path));
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_makes_the_next_commit_whole),
		cmocka_unit_test(slow_commits_get_a_line_and_another_one_when_they_are_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
