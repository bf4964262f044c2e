#include "aggregator/core/launch_expiry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "aggregator/core/launch_history.h"

#define LAUNCHES_MAX 32u

static void add(struct launch_history *history, uint32_t correlation_id, uint16_t flags)
{
	const struct launch launch = {.correlation_id = correlation_id,
				      .flags = (uint16_t)(LAUNCH_USED | flags),
				      .order = correlation_id};

	assert_int_equal(launch_history_add(history, &launch), 0);
}

static void the_oldest_expire_and_only_the_unanswered_are_told(void **state)
{
	struct launch_history history;
	uint64_t nr_unanswered = 0;

	(void)state;
	assert_int_equal(launch_history_init(&history, 2, true), 0);
	for (uint32_t id = 1; id <= LAUNCHES_MAX; id++)
		add(&history, id, id == 1 ? LAUNCH_HOST : id == 2 ? LAUNCH_MATCHED : 0);
	assert_int_equal(launch_expiry_run(&history, LAUNCHES_MAX, &nr_unanswered), 0);
	assert_int_equal(history.nr_outstanding, LAUNCHES_MAX); /* no more than may be */
	add(&history, LAUNCHES_MAX + 1, 0);
	assert_int_equal(launch_expiry_run(&history, LAUNCHES_MAX, &nr_unanswered), 0);
	assert_int_equal(history.nr_outstanding, 30); /* a sixteenth of 32, and the one too many */
	assert_int_equal(nr_unanswered, 1);
	assert_null(launch_history_find(&history, 0, 3));
	assert_non_null(launch_history_find(&history, 0, 4));
	launch_history_fini(&history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_expire_and_only_the_unanswered_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
