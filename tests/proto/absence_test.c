#include "proto/absence.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/handshake.h"

static void assert_text(uint32_t error, uint64_t file_limit, uint64_t memory_limit,
			const char *words)
{
	const struct guest_absence absence = {
		.error = error, .file_limit_bytes = file_limit, .memory_limit_bytes = memory_limit};
	char text[ABSENCE_SIZE];

	assert_non_null(strstr(absence_text(&absence, text, sizeof(text)), words));
	assert_true(absence_is_failed(text));
	assert_false(absence_is_chosen(text));
	assert_true(strlen(text) < sizeof(text) - 1);
	assert_null(strchr(text, ';')); /* reports would replace it */
}

static void each_limit_is_named_with_its_value(void **state)
{
	(void)state;
	assert_text(EFBIG, 8192, UINT64_MAX, "(ulimit -f, 8192 bytes)");
	assert_text(ENOMEM, UINT64_MAX, 4096, "(ulimit -v, 4096 bytes");
	assert_text(EAGAIN, UINT64_MAX, UINT64_MAX, "(ulimit -l)");
	assert_text(EMFILE, UINT64_MAX, UINT64_MAX, "(ulimit -n)");
}

static void what_a_limit_must_be_is_said_where_it_is_known(void **state)
{
	struct guest_absence absence = {.error = EFBIG,
					.file_limit_bytes = 8192,
					.memory_limit_bytes = UINT64_MAX,
					.needed_mib = 12};
	char text[ABSENCE_SIZE];

	(void)state;
	assert_non_null(
		strstr(absence_text(&absence, text, sizeof(text)), "raise it to 12 MiB or more"));
	absence.error = ENOMEM;
	absence.memory_limit_bytes = UINT64_MAX - 1; /* the longest text */
	absence.needed_mib = UINT32_MAX;
	assert_non_null(strstr(absence_text(&absence, text, sizeof(text)),
			       "raise it to 4294967295 MiB or more"));
	absence.needed_mib = 0;
	absence_text(&absence, text, sizeof(text));
	assert_string_equal(text + strlen(text) - strlen("raise it"), "raise it");
}

static void what_no_limit_explains_has_the_systems_words(void **state)
{
	(void)state;
	assert_text(ENOSYS, UINT64_MAX, UINT64_MAX, "memfd_create() is not allowed");
	assert_text(ENOMEM, UINT64_MAX, UINT64_MAX, "Cannot allocate memory");
	assert_text(12345, UINT64_MAX, UINT64_MAX, "could not be made");
}

static void the_other_words_are_told_apart(void **state)
{
	(void)state;
	assert_true(absence_is_failed(ABSENCE_FULL));
	assert_true(absence_is_chosen(ABSENCE_CHOSEN "x"));
	assert_false(absence_is_failed("CUPTI 13: libcupti.so"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_limit_is_named_with_its_value),
		cmocka_unit_test(what_a_limit_must_be_is_said_where_it_is_known),
		cmocka_unit_test(what_no_limit_explains_has_the_systems_words),
		cmocka_unit_test(the_other_words_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
