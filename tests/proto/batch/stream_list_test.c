#include "proto/batch/stream_list.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void streams_are_found_by_context_and_id_and_kept_in_order(void **state)
{
	struct stream_list list = {0};

	(void)state;
	assert_null(stream_list_find(&list, 1, 7));
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t id = i * 7919 % 1000; /* each once, in no order */

		assert_int_equal(
			stream_list_put(&list, &(struct message_stream){.context_id = id % 3,
									.stream_id = id,
									.name = id + 1}),
			0);
	}
	assert_int_equal(list.nr_streams, 1000);
	for (uint32_t id = 0; id < 1000; id++) {
		assert_int_equal(stream_list_find(&list, id % 3, id)->name, id + 1);
		assert_null(stream_list_find(&list, (id + 1) % 3, id));
	}
	for (uint32_t i = 1; i < 1000; i++)
		assert_true(list.streams[i - 1].context_id < list.streams[i].context_id ||
			    list.streams[i - 1].stream_id < list.streams[i].stream_id);
	stream_list_fini(&list);
}

static void later_word_replaces_the_earlier_one(void **state)
{
	struct stream_list list = {0};
	struct message_stream stream = {.context_id = 1, .stream_id = 7, .priority = -1};

	(void)state;
	assert_false(list.changed);
	assert_int_equal(stream_list_put(&list, &stream), 0);
	assert_true(list.changed);
	list.changed = false;
	stream.priority = -2;
	assert_int_equal(stream_list_put(&list, &stream), 0);
	assert_true(list.changed);
	assert_int_equal(list.nr_streams, 1);
	assert_int_equal(stream_list_find(&list, 1, 7)->priority, -2);
	stream_list_fini(&list);
}

static void full_list_takes_no_further_stream(void **state)
{
	struct stream_list list = {0};
	struct message_stream stream = {.context_id = 1};

	(void)state;
	for (stream.stream_id = 0; stream.stream_id < STREAM_LIST_MAX; stream.stream_id++)
		assert_int_equal(stream_list_put(&list, &stream), 0);
	assert_int_equal(stream_list_put(&list, &stream), -ENOSPC);
	stream.stream_id = 5;
	assert_int_equal(stream_list_put(&list, &stream), 0);
	stream_list_fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_found_by_context_and_id_and_kept_in_order),
		cmocka_unit_test(later_word_replaces_the_earlier_one),
		cmocka_unit_test(full_list_takes_no_further_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
