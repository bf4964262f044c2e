#include "report/names/local_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static void a_time_is_that_of_the_readers_zone(void **state)
{
	char text[LOCAL_TIME_SIZE];

	(void)state;
	setenv("TZ", "UTC-2", 1);
	tzset();
	assert_string_equal(local_time_text(1764208994250000000u, "%F %T", text),
			    "2025-11-27 04:03:14");
	assert_string_equal(local_time_text(0, "%T", text), "02:00:00");
}

static void what_has_no_room_is_a_question_mark(void **state)
{
	char text[LOCAL_TIME_SIZE];

	(void)state;
	assert_string_equal(local_time_text(0, "%F %T %F %T", text), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_is_that_of_the_readers_zone),
		cmocka_unit_test(what_has_no_room_is_a_question_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
