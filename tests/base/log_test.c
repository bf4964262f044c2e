#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_test.h"

#define WRITES_MAX 8

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);

static char written[WRITES_MAX][LOG_LINE_MAX + 1];
static int nr_writes;
static bool fails;

/* What goes to stderr is kept, a call a line. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	if (fd != STDERR_FILENO)
		return __real_write(fd, data, size);
	errno = EIO;
	if (fails)
		return -1;
	assert_true(nr_writes < WRITES_MAX && size <= LOG_LINE_MAX);
	memcpy(written[nr_writes], data, size);
	written[nr_writes++][size] = '\0';
	return (ssize_t)size;
}

static int set_up(void **state)
{
	(void)state;
	nr_writes = 0;
	fails = false;
	unsetenv("JOURNAL_STREAM");
	log_begin("flamegrid-agent", NULL, LOG_LEVEL_NOTICE);
	return 0;
}

static void a_line_has_the_programs_name_and_is_one_write(void **state)
{
	(void)state;
	log_warning("%s: %d of %d", "ranks", 3, 4);
	log_begin("flamegrid", "run", LOG_LEVEL_NOTICE);
	log_error("no command given");
	assert_int_equal(nr_writes, 2);
	assert_string_equal(written[0], "flamegrid-agent: ranks: 3 of 4\n");
	assert_string_equal(written[1], "flamegrid: run: no command given\n");
}

static void a_level_shows_itself_and_the_graver_ones(void **state)
{
	(void)state;
	for (int shown = LOG_LEVEL_ERROR; shown <= LOG_LEVEL_DEBUG; shown++) {
		nr_writes = 0;
		log_set_level((enum log_level)shown);
		log_error("a");
		log_warning("a");
		log_notice("a");
		log_info("a");
		log_debug("a");
		assert_int_equal(nr_writes, shown - LOG_LEVEL_ERROR + 1);
	}
}

static void the_journal_gets_the_level_before_the_line(void **state)
{
	struct stat status;
	char stream[64];

	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &status), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)status.st_dev,
		 (unsigned long long)status.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_begin("flamegrid-agent", NULL, LOG_LEVEL_DEBUG);
	log_error("a");
	log_warning("a");
	log_notice("a");
	log_info("a");
	log_debug("a");
	for (int i = 0; i < nr_writes; i++) {
		char expected[64];

		snprintf(expected, sizeof(expected), "<%d>flamegrid-agent: a\n", 3 + i);
		assert_string_equal(written[i], expected);
	}
	assert_int_equal(nr_writes, 5);
	assert_string_equal(log_mark(LOG_LEVEL_ERROR), "<3>");
	assert_string_equal(log_mark(LOG_LEVEL_DEBUG), "<7>");
}

static void a_stream_that_is_not_the_journals_gets_none(void **state)
{
	static const char *const others[] = {"", "0:0", "1", "8:x", "8:1 "};
	struct stat status;
	char stream[64];

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		nr_writes = 0;
		setenv("JOURNAL_STREAM", others[i], 1);
		log_begin("flamegrid-agent", NULL, LOG_LEVEL_NOTICE);
		log_error("a");
		assert_string_equal(written[0], "flamegrid-agent: a\n");
	}
	assert_int_equal(fstat(STDERR_FILENO, &status), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)status.st_dev,
		 (unsigned long long)status.st_ino + 1);
	setenv("JOURNAL_STREAM", stream, 1);
	log_begin("flamegrid-agent", NULL, LOG_LEVEL_NOTICE);
	log_error("a");
	assert_string_equal(written[1], "flamegrid-agent: a\n");
}

static void text_of_others_makes_no_lines_of_its_own(void **state)
{
	(void)state;
	log_notice("%s", "a job\nflamegrid-agent: \033[31mall is "
			 "well\x7f\tè\xc2\x9b\xe2\x80\xae\xd8\x9c\xe2\x81\xa6€");
	log_notice("%s", "no text: \x9b[31m\xc2 \xff è");
	assert_int_equal(nr_writes, 2);
	assert_string_equal(written[1], "flamegrid-agent: no text: ?[31m? ? è\n");
	assert_string_equal(
		written[0],
		"flamegrid-agent: a job?flamegrid-agent: ?[31mall is well??è??????????€\n");
}

static void a_line_that_is_too_long_is_cut(void **state)
{
	static char text[2 * LOG_LINE_MAX];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	log_notice("%s", text);
	assert_int_equal(strlen(written[0]), LOG_LINE_MAX);
	assert_string_equal(written[0] + LOG_LINE_MAX - 2, "x\n");
}

static void errno_stays_as_it_was(void **state)
{
	(void)state;
	fails = true;
	errno = ENOENT;
	log_error("nobody reads it");
	assert_int_equal(errno, ENOENT);
	fails = false;
	log_error("%m");
	assert_int_equal(errno, ENOENT);
	assert_string_equal(written[0], "flamegrid-agent: No such file or directory\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_line_has_the_programs_name_and_is_one_write, set_up),
		cmocka_unit_test_setup(a_level_shows_itself_and_the_graver_ones, set_up),
		cmocka_unit_test_setup(the_journal_gets_the_level_before_the_line, set_up),
		cmocka_unit_test_setup(a_stream_that_is_not_the_journals_gets_none, set_up),
		cmocka_unit_test_setup(text_of_others_makes_no_lines_of_its_own, set_up),
		cmocka_unit_test_setup(a_line_that_is_too_long_is_cut, set_up),
		cmocka_unit_test_setup(errno_stays_as_it_was, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
