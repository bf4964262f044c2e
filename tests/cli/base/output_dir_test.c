#include "cli/base/output_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

bool __wrap_shared_disk_has(const char *path);
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);

static char folder[64];
static bool is_quota_used; /* no new directory can be made */

int __wrap_mkdir(const char *path, mode_t mode)
{
	struct stat status;

	if (!is_quota_used || lstat(path, &status) == 0)
		return __real_mkdir(path, mode);
	errno = EDQUOT;
	return -1;
}

static const char *shared_folder; /* the only one on a file system of several hosts */

bool __wrap_shared_disk_has(const char *path)
{
	return shared_folder && strcmp(path, shared_folder) == 0;
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/output_dir_test.XXXXXX");
	assert_non_null(mkdtemp(folder));
	return chdir(folder);
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *file = fopen(path, "r");

	if (!file)
		fail_msg("%s is not there", path);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, expected);
}

static bool is_there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

/* A whole run whose store says text. */
static void run(const char *path, const char *text)
{
	struct output_dir output;
	char store[PATH_MAX];

	assert_int_equal(output_dir_open(&output, path), 0);
	assert_string_equal(output.path, path);
	assert_int_equal(output_dir_file(&output, OUTPUT_STORE, store), 0);
	assert_false(is_there(store));
	put(store, text);
	output_dir_close(&output, true);
	assert_int_equal(output.mark, -1);
}

static void the_newest_profile_is_where_it_was_asked_for_and_earlier_ones_have_numbers(void **state)
{
	struct output_dir output;

	(void)state;
	run("deep/prof", "one");
	run("deep/prof", "two");
	assert_int_equal(mkdir("deep/prof.3", 0700), 0);
	assert_int_equal(output_dir_open(&output, "deep/prof///"), 0);
	assert_string_equal(output.path, "deep/prof");
	assert_string_equal(output.earlier, "deep/prof.4");
	put("deep/prof/" OUTPUT_STORE, "three");
	assert_true(is_there("deep/prof/" OUTPUT_MARK));
	output_dir_close(&output, true);
	assert_false(is_there("deep/prof/" OUTPUT_MARK));
	assert_text("deep/prof/" OUTPUT_STORE, "three");
	assert_text("deep/prof.2/" OUTPUT_STORE, "one");
	assert_text("deep/prof.4/" OUTPUT_STORE, "two");
	assert_false(is_there("deep/prof.3/" OUTPUT_STORE));
}

static void all_files_of_a_profile_move_and_no_others(void **state)
{
	static const char *const ours[] = {
		OUTPUT_STORE,        OUTPUT_STORE "-wal",  OUTPUT_STORE "-shm", OUTPUT_FOLDED,
		OUTPUT_HTML,         OUTPUT_API,           OUTPUT_MEMORY,       OUTPUT_LEAKS,
		"sync.ns.folded",    "offcpu.ns.folded",   OUTPUT_NODES,        OUTPUT_PART "1",
		OUTPUT_PART "1-wal", OUTPUT_PART "2.nodes"};
	struct output_dir output;
	char path[64];

	(void)state;
	assert_int_equal(mkdir("prof", 0750), 0);
	put("prof/checkpoint.pt", "the user's");
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		snprintf(path, sizeof(path), "prof/%s", ours[i]);
		put(path, ours[i]);
	}
	assert_int_equal(output_dir_open(&output, "prof"), 0);
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		snprintf(path, sizeof(path), "prof/%s", ours[i]);
		assert_false(is_there(path));
		snprintf(path, sizeof(path), "prof.2/%s", ours[i]);
		assert_text(path, ours[i]);
	}
	assert_text("prof/checkpoint.pt", "the user's");
	output_dir_close(&output, true);
}

static void the_number_is_no_wider_open_than_the_directory(void **state)
{
	struct output_dir output;
	struct stat status;

	(void)state;
	assert_int_equal(mkdir("prof", 0700), 0);
	put("prof/" OUTPUT_STORE, "secret");
	assert_int_equal(output_dir_open(&output, "prof"), 0);
	assert_int_equal(stat("prof.2", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	output_dir_close(&output, true);
}

static void a_run_that_keeps_nothing_leaves_all_as_it_was(void **state)
{
	struct output_dir output;

	(void)state;
	run("prof", "good");
	assert_int_equal(output_dir_open(&output, "prof"), 0);
	put("prof/" OUTPUT_STORE, "empty");
	put("prof/" OUTPUT_HTML, "empty");
	output_dir_close(&output, false);
	assert_text("prof/" OUTPUT_STORE, "good");
	assert_false(is_there("prof/" OUTPUT_HTML));
	assert_false(is_there("prof.2"));

	assert_int_equal(output_dir_open(&output, "new/and/deep"), 0);
	put("new/and/deep/" OUTPUT_STORE, "empty");
	output_dir_close(&output, false);
	assert_false(is_there("new"));

	assert_int_equal(mkdir("users", 0700), 0);
	assert_int_equal(output_dir_open(&output, "users"), 0);
	output_dir_close(&output, false);
	assert_true(is_there("users"));
	output_dir_close(&output, false); /* not open: nothing */
}

static void an_earlier_profile_that_cannot_be_moved_stays_as_it_was(void **state)
{
	struct output_dir output;

	(void)state;
	run("prof", "good");
	put("prof/" OUTPUT_HTML, "good page");
	is_quota_used = true;
	assert_int_equal(output_dir_open(&output, "prof"), -EDQUOT);
	is_quota_used = false;
	assert_int_equal(output.mark, -1);
	assert_text("prof/" OUTPUT_STORE, "good");
	assert_text("prof/" OUTPUT_HTML, "good page");
	assert_false(is_there("prof/" OUTPUT_MARK));
	assert_false(is_there("prof.2"));
	output_dir_close(&output, false);
	assert_text("prof/" OUTPUT_STORE, "good");
}

static void runs_at_once_have_a_directory_each(void **state)
{
	struct output_dir one, two, three;

	(void)state;
	assert_int_equal(output_dir_open(&one, "prof"), 0);
	put("prof/" OUTPUT_STORE, "one");
	assert_int_equal(output_dir_open(&two, "prof"), 0);
	assert_string_equal(two.path, "prof.2");
	assert_string_equal(two.earlier, "");
	assert_int_equal(output_dir_open(&three, "prof"), 0);
	assert_string_equal(three.path, "prof.3");
	output_dir_close(&two, false);
	assert_false(is_there("prof.2"));
	output_dir_close(&three, true);
	assert_true(is_there("prof.3"));
	assert_text("prof/" OUTPUT_STORE, "one");
	output_dir_close(&one, true);
}

static void the_mark_of_a_run_that_was_killed_holds_nobody_up(void **state)
{
	struct output_dir output;
	int status;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		if (output_dir_open(&output, "prof") == 0)
			put("prof/" OUTPUT_STORE, "half");
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(is_there("prof/" OUTPUT_MARK));
	/* Its nodes would take the next run's profile for theirs by its text. */
	put("prof/" OUTPUT_MARK, "the dead run's");
	assert_int_equal(output_dir_open(&output, "prof"), 0);
	assert_int_equal(lseek(output.mark, 0, SEEK_END), 0);
	output_dir_close(&output, false);
	assert_text("prof/" OUTPUT_STORE, "half");
	run("prof", "whole");
	assert_text("prof.2/" OUTPUT_STORE, "half");
	assert_false(is_there("prof.2/" OUTPUT_MARK));
}

static void another_node_takes_the_place_of_a_run_that_may_live(void **state)
{
	struct output_dir first, other, third;

	(void)state;
	run("prof", "earlier");
	assert_int_equal(output_dir_open(&first, "prof"), 0);
	put("prof/" OUTPUT_STORE, "first");
	assert_int_equal(write(first.mark, "who", 3), 3);
	/* One that does nothing leaves all as it was, and so does the next one until it has something to say. */
	assert_int_equal(output_dir_take_over(&other, "prof", "", NULL), 0);
	output_dir_leave(&other);
	assert_text("prof/" OUTPUT_MARK, "who");
	assert_int_equal(output_dir_take_over(&other, "prof", "", NULL), 0);
	assert_text("prof/" OUTPUT_MARK, "who");
	put("prof/" OUTPUT_PART "1", "other");
	/* The one that lost its place leaves everything. */
	output_dir_close(&first, false);
	assert_text("prof/" OUTPUT_STORE, "first");
	assert_int_equal(output_dir_open(&third, "prof"), 0);
	assert_string_equal(third.path, "prof.3");
	output_dir_close(&third, false);
	output_dir_close(&other, true);
	assert_text("prof/" OUTPUT_PART "1", "other");
	assert_false(is_there("prof/" OUTPUT_MARK));
	assert_int_equal(output_dir_take_over(&other, "prof", ".2", NULL), 0);
	assert_string_equal(other.path, "prof.2");
	output_dir_close(&other, false);
	assert_false(is_there("prof.2/" OUTPUT_STORE));
	assert_int_equal(output_dir_take_over(&other, "prof", ".4", NULL), -ENOENT);
	assert_int_equal(other.mark, -1);
}

static void a_run_has_its_place_again_when_another_one_fails_to_take_it(void **state)
{
	const char *text = "first Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\n"
			   "endpoint tcp://10.0.0.1:4000\n"
			   "server-public rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\n"
			   "client-public Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\n"
			   "client-secret D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs\n";
	const char *name = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
	struct output_dir first, other, third;

	(void)state;
	assert_int_equal(output_dir_open(&first, "prof"), 0);
	assert_int_equal(write(first.mark, text, strlen(text)), strlen(text));
	assert_int_equal(output_dir_take_over(&other, "prof", "", NULL), 0);
	assert_true(output_dir_is_taken_over(&first, name));
	output_dir_leave(&other);
	/* Another step's mark is no place to take. */
	assert_int_equal(output_dir_take_over(&other, "prof", "", "another step's"), -ESTALE);
	assert_int_equal(other.mark, -1);
	assert_int_equal(output_dir_take_over(&other, "prof", "", name), 0);
	assert_true(output_dir_is_taken_over(&first, name));
	assert_false(output_dir_is_taken_over(&first, "another step's"));
	output_dir_leave(&other);
	assert_false(output_dir_is_taken_over(&first, name));
	assert_text("prof/" OUTPUT_MARK, "first Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID\n");
	assert_int_equal(output_dir_open(&third, "prof"), 0);
	assert_string_equal(third.path, "prof.2");
	output_dir_close(&third, false);
	output_dir_close(&first, false);
	assert_false(is_there("prof"));
}

/* "." has no name to put a number behind. */
static void where_nothing_can_be_made_beside_it_the_number_is_inside(void **state)
{
	struct output_dir one, two;

	(void)state;
	run(".", "one");
	assert_int_equal(output_dir_open(&one, "."), 0);
	assert_string_equal(one.earlier, "./2");
	assert_text("2/" OUTPUT_STORE, "one");
	assert_int_equal(output_dir_open(&two, "."), 0);
	assert_string_equal(two.path, "./3");
	output_dir_close(&two, false);
	output_dir_close(&one, false);
	assert_text(OUTPUT_STORE, "one");
	assert_false(is_there("2"));
}

static void a_directory_that_was_removed_meanwhile_is_let_alone(void **state)
{
	struct output_dir one, two;

	(void)state;
	assert_int_equal(output_dir_open(&one, "prof"), 0);
	assert_int_equal(unlink("prof/" OUTPUT_MARK), 0);
	assert_int_equal(output_dir_open(&two, "prof"), 0);
	put("prof/" OUTPUT_STORE, "two");
	output_dir_close(&one, false);
	assert_text("prof/" OUTPUT_STORE, "two");
	assert_true(is_there("prof/" OUTPUT_MARK));
	output_dir_close(&two, true);
}

static void a_place_that_cannot_be_had_is_an_error_and_leaves_nothing(void **state)
{
	struct output_dir output;
	char longest[PATH_MAX + 1];

	(void)state;
	put("file", "a file");
	assert_int_equal(output_dir_open(&output, "file"), -ENOTDIR);
	assert_int_equal(output_dir_open(&output, "new/../file/prof"), -ENOTDIR);
	assert_false(is_there("new"));
	assert_int_equal(output_dir_open(&output, ""), -ENOENT);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(output_dir_open(&output, longest), -ENAMETOOLONG);
	assert_int_equal(output.mark, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* The directory need not be there: then the one above it decides that is. */
static void a_disk_of_several_hosts_is_told_by_what_is_there(void **state)
{
	static const struct {
		const char *path, *shared;
	} cases[] = {
		{"made", "made"},
		{"made/", "made/"},
		{"made/prof", "made"},
		{"made/a/b/prof", "made"},
		{"prof", "."},
		{"a/b/prof", "."},
		{"/prof of nobody/a", "/"},
		{"/prof of nobody", "/"},
	};
	char too_long[PATH_MAX + 1];

	(void)state;
	assert_int_equal(mkdir("made", 0700), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		shared_folder = cases[i].shared;
		assert_true(output_dir_is_shared(cases[i].path));
		shared_folder = NULL;
		assert_false(output_dir_is_shared(cases[i].path));
	}
	memset(too_long, 'a', PATH_MAX);
	too_long[PATH_MAX] = '\0';
	assert_false(output_dir_is_shared(too_long));
	assert_int_equal(rmdir("made"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_disk_of_several_hosts_is_told_by_what_is_there,
						set_up, tear_down),
		TEST(the_newest_profile_is_where_it_was_asked_for_and_earlier_ones_have_numbers),
		TEST(all_files_of_a_profile_move_and_no_others),
		TEST(the_number_is_no_wider_open_than_the_directory),
		TEST(a_run_that_keeps_nothing_leaves_all_as_it_was),
		TEST(an_earlier_profile_that_cannot_be_moved_stays_as_it_was),
		TEST(runs_at_once_have_a_directory_each),
		TEST(the_mark_of_a_run_that_was_killed_holds_nobody_up),
		TEST(another_node_takes_the_place_of_a_run_that_may_live),
		TEST(a_run_has_its_place_again_when_another_one_fails_to_take_it),
		TEST(where_nothing_can_be_made_beside_it_the_number_is_inside),
		TEST(a_directory_that_was_removed_meanwhile_is_let_alone),
		TEST(a_place_that_cannot_be_had_is_an_error_and_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
