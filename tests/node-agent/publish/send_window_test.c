#include "tests/support/cmocka_test.h"

#include <errno.h>

#include "node-agent/publish/send_window.h"

static void frames_are_kept_until_acknowledged(void **state)
{
	struct send_window *window = send_window_create();
	size_t size;

	(void)state;
	for (uint32_t i = 1; i <= 1000; i++) {
		assert_int_equal(send_window_push(window, (const uint8_t *)&i, sizeof(i), i), 0);
		assert_int_equal(send_window_last_seq(window), i);
		if (i % 3 == 0)
			assert_int_equal(send_window_ack(window, i / 3), 0);
	}
	assert_int_equal(send_window_acked_seq(window), 333);
	assert_int_equal(send_window_oldest_ns(window), 334);
	assert_int_equal(send_window_size(window), 667 * sizeof(uint32_t));
	for (uint32_t i = 334; i <= 1000; i++) {
		const uint8_t *frame = send_window_frame(window, i, &size);

		assert_int_equal(size, sizeof(i));
		assert_memory_equal(frame, &i, sizeof(i));
	}
	assert_null(send_window_frame(window, 333, &size));
	assert_null(send_window_frame(window, 1001, &size));
	send_window_ack(window, 1000);
	assert_int_equal(send_window_oldest_ns(window), 0);
	send_window_destroy(window);
}

static void an_acknowledgement_out_of_range_changes_nothing(void **state)
{
	struct send_window *window = send_window_create();
	uint8_t frame[10] = {0};

	(void)state;
	send_window_push(window, frame, sizeof(frame), 1);
	send_window_push(window, frame, sizeof(frame), 1);
	assert_int_equal(send_window_ack(window, 3), -ERANGE);
	assert_int_equal(send_window_ack(window, 1), 0);
	assert_int_equal(send_window_ack(window, 0), -ERANGE);
	assert_int_equal(send_window_ack(window, 1), 0);
	assert_int_equal(send_window_acked_seq(window), 1);
	assert_int_equal(send_window_size(window), 10);
	send_window_destroy(window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_kept_until_acknowledged),
		cmocka_unit_test(an_acknowledgement_out_of_range_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
