#include "base/output_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/output_file_test.XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	strcpy(strrchr(folder, '.'), ".XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[sizeof(folder) + 8];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return chdir("/") || system(command);
}

static void put(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void assert_text(const char *path, const char *wanted)
{
	char text[64] = "";
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_int_equal(fread(text, 1, sizeof(text) - 1, in), strlen(wanted));
	fclose(in);
	assert_string_equal(text, wanted);
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode;
}

static void a_file_is_replaced_when_it_is_whole(void **state)
{
	struct output_file file;

	(void)state;
	put("page", "before");
	assert_int_equal(chmod("page", 0640), 0);
	assert_int_equal(output_file_open(&file, "page", OUTPUT_FILE_FOLLOWS, 0666), 0);
	fputs("after", file.stream);
	assert_int_equal(fflush(file.stream), 0);
	assert_text("page", "before");
	assert_int_equal(output_file_close(&file, 0), 0);
	assert_text("page", "after");
	assert_int_equal(mode_of("page") & 0777, 0640);
	assert_int_equal(access(file.written, F_OK), -1);
}

static void what_fails_leaves_the_file_of_before(void **state)
{
	struct output_file file;

	(void)state;
	put("page", "before");
	assert_int_equal(output_file_open(&file, "page", OUTPUT_FILE_FOLLOWS, 0666), 0);
	fputs("half", file.stream);
	assert_int_equal(output_file_close(&file, -EIO), -EIO);
	assert_text("page", "before");
	assert_int_equal(access(file.written, F_OK), -1);
	assert_int_equal(output_file_open(&file, "no/page", OUTPUT_FILE_FOLLOWS, 0666), -ENOENT);
	assert_int_equal(output_file_open(&file, ".", OUTPUT_FILE_FOLLOWS, 0666), -EISDIR);
}

/* How many files the folder has. */
static int count_files(void)
{
	DIR *entries = opendir(".");
	int count = -2;

	assert_non_null(entries);
	while (readdir(entries))
		count++;
	closedir(entries);
	return count;
}

static void other_files_stay(void **state)
{
	struct output_file file;
	char other[32];

	(void)state;
	snprintf(other, sizeof(other), "page.%d", (int)getpid());
	put(other, "mine");
	snprintf(other, sizeof(other), "page.%d-0", (int)getpid());
	put(other, "mine, too");
	assert_int_equal(output_file_open(&file, "page", OUTPUT_FILE_FOLLOWS, 0666), 0);
	assert_int_equal(fflush(file.stream), 0);
	assert_int_equal(count_files(), 2); /* who is killed now leaves nothing */
	assert_int_equal(output_file_close(&file, 0), 0);
	assert_int_equal(count_files(), 3);
	assert_text(other, "mine, too");
	*strrchr(other, '-') = '\0';
	assert_text(other, "mine");
}

static void without_a_descriptor_the_file_of_before_stays(void **state)
{
	struct rlimit old, none;
	struct output_file file;

	(void)state;
	put("page", "before");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	const int error = output_file_open(&file, "page", OUTPUT_FILE_FOLLOWS, 0666);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(error, -EMFILE);
	assert_text("page", "before");
}

static void a_pipe_is_written_in_place_by_both(void **state)
{
	struct output_file file;
	char text[8] = "";

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	for (int how = OUTPUT_FILE_FOLLOWS; how <= OUTPUT_FILE_REPLACES; how++) {
		const int end = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		assert_true(end >= 0);
		assert_int_equal(output_file_open(&file, "pipe", (enum output_file_mode)how, 0600),
				 0);
		fputs("text", file.stream);
		assert_int_equal(output_file_close(&file, 0), 0);
		assert_int_equal(read(end, text, sizeof(text)), 4);
		close(end);
		assert_true(S_ISFIFO(mode_of("pipe")));
	}
}

static void a_link_is_followed_only_where_the_user_named_it(void **state)
{
	struct output_file file;

	(void)state;
	put("victim", "before");
	assert_int_equal(symlink("victim", "link"), 0);
	assert_int_equal(output_file_open(&file, "link", OUTPUT_FILE_REPLACES, 0600), 0);
	fputs("after", file.stream);
	assert_int_equal(output_file_close(&file, 0), 0);
	assert_text("victim", "before");
	assert_text("link", "after");
	assert_int_equal(mode_of("link"), S_IFREG | 0600);

	assert_int_equal(unlink("link"), 0);
	assert_int_equal(symlink("victim", "link"), 0);
	assert_int_equal(output_file_open(&file, "link", OUTPUT_FILE_FOLLOWS, 0666), 0);
	fputs("mine", file.stream);
	assert_int_equal(output_file_close(&file, 0), 0);
	assert_text("victim", "mine");
	assert_true(S_ISLNK(mode_of("link")));

	assert_int_equal(unlink("victim"), 0); /* the link leads nowhere yet */
	assert_int_equal(output_file_open(&file, "link", OUTPUT_FILE_FOLLOWS, 0666), 0);
	fputs("new", file.stream);
	assert_int_equal(output_file_close(&file, 0), 0);
	assert_text("victim", "new");
}

static void a_device_is_written_in_place(void **state)
{
	struct output_file file;

	(void)state;
	assert_int_equal(output_file_open(&file, "/dev/null", OUTPUT_FILE_FOLLOWS, 0666), 0);
	fputs("text", file.stream);
	assert_int_equal(output_file_close(&file, 0), 0);
	assert_true(S_ISCHR(mode_of("/dev/null")));
	assert_int_equal(output_file_open(&file, "/dev/full", OUTPUT_FILE_FOLLOWS, 0666), 0);
	fputs("text", file.stream);
	assert_int_equal(output_file_close(&file, 0), -ENOSPC);
	assert_true(S_ISCHR(mode_of("/dev/full")));
}

static void a_store_and_what_lies_beside_it_are_known(void **state)
{
	(void)state;
	assert_int_equal(mkdir("prof", 0700), 0);
	assert_int_equal(mkdir("prof/profile.db.events", 0700), 0);
	put("prof/profile.db", "");
	assert_int_equal(link("prof/profile.db", "other"), 0);
	assert_true(output_file_is_of_store("prof/profile.db", "prof/profile.db"));
	assert_true(output_file_is_of_store("other", "prof/profile.db"));
	assert_true(output_file_is_of_store("prof/profile.db-wal", "prof/profile.db"));
	assert_true(output_file_is_of_store("./prof/profile.db.export", "prof/profile.db"));
	assert_true(output_file_is_of_store("prof/profile.db.events/x", "prof/profile.db"));
	assert_false(output_file_is_of_store("prof/flame.html", "prof/profile.db"));
	assert_false(output_file_is_of_store("prof/profile.dbx", "prof/profile.db"));
	assert_false(output_file_is_of_store("profile.db-wal", "prof/profile.db"));
	assert_false(output_file_is_of_store("no/such/file", "prof/profile.db"));
	assert_int_equal(chdir("prof/profile.db.events"), 0);
	assert_true(output_file_is_of_store("x", "../profile.db"));
	assert_int_equal(chdir("/"), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_replaced_when_it_is_whole),
		TEST(what_fails_leaves_the_file_of_before),
		TEST(without_a_descriptor_the_file_of_before_stays),
		TEST(other_files_stay),
		TEST(a_pipe_is_written_in_place_by_both),
		TEST(a_link_is_followed_only_where_the_user_named_it),
		TEST(a_device_is_written_in_place),
		TEST(a_store_and_what_lies_beside_it_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
