#include "proto/batch/context_list.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void contexts_are_found_by_id(void **state)
{
	struct context_list list = {0};

	(void)state;
	assert_null(context_list_find(&list, 2));
	for (uint32_t id = 2; id < 102; id++)
		assert_int_equal(
			context_list_put(&list, &(struct message_context){.context_id = id * 7919,
									  .parent_id = id}),
			0);
	assert_int_equal(list.nr_contexts, 100);
	for (uint32_t id = 2; id < 102; id++)
		assert_int_equal(context_list_find(&list, id * 7919)->parent_id, id);
	assert_null(context_list_find(&list, 1));
	context_list_fini(&list);
}

static void later_word_replaces_the_earlier_one(void **state)
{
	struct context_list list = {0};
	struct message_context context = {.context_id = 2, .nr_multiprocessors = 16};

	(void)state;
	assert_int_equal(context_list_put(&list, &context), 0);
	assert_true(list.changed);
	list.changed = false;
	context.nr_multiprocessors = 8;
	assert_int_equal(context_list_put(&list, &context), 0);
	assert_true(list.changed);
	assert_int_equal(list.nr_contexts, 1);
	assert_int_equal(context_list_find(&list, 2)->nr_multiprocessors, 8);
	context_list_fini(&list);
}

static void full_list_takes_words_on_known_contexts_alone(void **state)
{
	struct context_list list = {0};
	struct message_context context = {0};

	(void)state;
	for (; context.context_id < CONTEXT_LIST_MAX; context.context_id++)
		assert_int_equal(context_list_put(&list, &context), 0);
	list.changed = false;
	assert_int_equal(context_list_put(&list, &context), -ENOSPC);
	assert_false(list.changed);
	context.context_id = 0;
	context.parent_id = 5;
	assert_int_equal(context_list_put(&list, &context), 0);
	assert_int_equal(context_list_find(&list, 0)->parent_id, 5);
	context_list_fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_are_found_by_id),
		cmocka_unit_test(later_word_replaces_the_earlier_one),
		cmocka_unit_test(full_list_takes_words_on_known_contexts_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
