/* Counting of API calls on threads of this program; what the helper thread would do is done here. */
#include "inject/launch/api_statistics.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/launch/api_thread.h"
#include "inject/cupti/cupti_library.h"
#include "inject/base/definition_writer.h"
#include "inject/launch/launch_thread.h"
#include "tests/inject/test_ring.h"

#define ALLOC   2u /* cbids of the runtime */
#define LAUNCH  3u
#define INNER   2u /* and one of the driver */
#define THREADS 40u
#define CALLS   500u

static struct test_ring ring;
static struct definition_writer definitions;

static int name_of(uint32_t domain, uint32_t cbid, const char **name)
{
	static const char *const names[2][4] = {
		{"INVALID", NULL, "cuInner", NULL},
		{"INVALID", NULL, "cudaAlloc_v3020", "cudaLaunch_v7000"}};

	if (cbid >= 4 || !names[domain - 1][cbid])
		return 1;
	*name = names[domain - 1][cbid];
	return CUPTI_ABI_SUCCESS;
}

static const struct cupti_library library = {.get_callback_name = name_of};

/* Since the last time; -1: nothing was said of this function and error. */
static struct definition_api_statistic said[3][8];
static uint32_t nr_said;

static void read_definitions(void)
{
	uint8_t body[256];
	uint32_t type;
	int size;

	nr_said = 0;
	memset(said, 0, sizeof(said));
	while ((size = test_ring_definition(&ring, &type, body, sizeof(body))) >= 0) {
		struct definition_api_statistic head;

		assert_int_equal(type, DEFINITION_API_STATISTIC);
		memcpy(&head, body, sizeof(head));
		assert_true(head.domain <= 2 && head.cbid < 4);
		said[head.domain][head.cbid + (head.error ? 4 : 0)] = head;
		nr_said++;
	}
}

static void publish(void)
{
	api_statistics_publish(&definitions, false);
	read_definitions();
}

static const struct definition_api_statistic *sums(uint32_t domain, uint32_t cbid)
{
	return &said[domain][cbid];
}

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&ring);
	definitions = DEFINITION_WRITER_INIT(ring.guest);
	api_statistics_init(ring.guest, &library, "all", 0, &definitions);
	assert_true(api_statistics_on);
	publish();
	return 0;
}

/* Tables outlive a test: what is left in them is taken over before the next one begins. */
static int tear_down(void **state)
{
	(void)state;
	for (struct api_thread *thread = api_thread_first(); thread; thread = thread->next)
		if (thread->state == API_THREAD_ENDED)
			api_thread_free(thread);
	test_ring_fini(&ring);
	return 0;
}

static void enter(uint32_t domain, uint32_t cbid, uint32_t correlation_id)
{
	const struct cupti_callback_data data = {.site = CUPTI_ABI_API_ENTER,
						 .correlation_id = correlation_id};

	api_statistics_enter(domain, cbid, &data);
}

static void leave(uint32_t domain, uint32_t cbid, uint32_t correlation_id, int result)
{
	const struct cupti_callback_data data = {.site = CUPTI_ABI_API_EXIT,
						 .return_value = &result,
						 .correlation_id = correlation_id};

	api_statistics_exit(domain, cbid, &data);
}

/* Each test on a thread of its own, which has ended when it is over. */
static void on_thread(void *(*body)(void *argument))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, body, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *call_nested(void *argument)
{
	enter(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, 7);
	enter(CUPTI_ABI_DOMAIN_DRIVER, INNER, 7);
	leave(CUPTI_ABI_DOMAIN_DRIVER, INNER, 7, 0);
	enter(CUPTI_ABI_DOMAIN_DRIVER, INNER, 7);
	leave(CUPTI_ABI_DOMAIN_DRIVER, INNER, 7, 0);
	leave(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, 7, 0);
	return argument;
}

static void a_call_and_the_calls_within_are_rows_of_their_own(void **state)
{
	(void)state;
	on_thread(call_nested);
	publish();
	assert_int_equal(sums(2, ALLOC)->count, 1);
	assert_int_equal(sums(1, INNER)->count, 2);
	assert_true(sums(1, INNER)->total_ns <= sums(2, ALLOC)->total_ns);
	assert_true(sums(1, INNER)->min_ns * 2 <= sums(1, INNER)->total_ns);
	assert_true(sums(1, INNER)->max_ns * 2 >= sums(1, INNER)->total_ns);
	assert_int_equal(nr_said, 2);
}

static void *call_itself(void *argument)
{
	enter(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, 1);
	enter(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, 1);
	leave(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, 1, 0);
	leave(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, 1, 0);
	return argument;
}

static void a_call_within_itself_counts_twice(void **state)
{
	(void)state;
	on_thread(call_itself);
	publish();
	assert_int_equal(sums(2, ALLOC)->count, 2);
	assert_true(sums(2, ALLOC)->min_ns <= sums(2, ALLOC)->max_ns);
}

static void *call_without_ends(void *argument)
{
	enter(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, 1);
	for (uint32_t i = 0; i < 10 * API_THREAD_DEPTH; i++)
		enter(CUPTI_ABI_DOMAIN_DRIVER, INNER, 2 + i);
	enter(CUPTI_ABI_DOMAIN_RUNTIME, LAUNCH, 5000);
	enter(CUPTI_ABI_DOMAIN_DRIVER, INNER, 5000);
	leave(CUPTI_ABI_DOMAIN_RUNTIME, LAUNCH, 5000, 0);
	/* Began, but too long ago; never began; another one's end. */
	leave(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, 1, 0);
	leave(CUPTI_ABI_DOMAIN_RUNTIME, LAUNCH, 6000, 0);
	leave(CUPTI_ABI_DOMAIN_DRIVER, INNER, 5000, 0);
	return argument;
}

static void calls_without_an_end_or_a_beginning_do_not_count(void **state)
{
	(void)state;
	on_thread(call_without_ends);
	publish();
	assert_int_equal(sums(2, LAUNCH)->count, 1);
	assert_int_equal(nr_said, 1);
}

static void *call_in_vain(void *argument)
{
	const int results[] = {0, 2, 600, 2, 0};

	for (uint32_t i = 0; i < 5; i++) {
		enter(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, i + 1);
		leave(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, i + 1, results[i]);
	}
	return argument;
}

static void errors_are_counted_and_not_ready_is_none(void **state)
{
	(void)state;
	on_thread(call_in_vain);
	publish();
	assert_int_equal(sums(2, ALLOC)->count, 5);
	assert_int_equal(sums(2, ALLOC)->errors, 2);
	assert_int_equal(sums(2, ALLOC + 4)->error, 2);
	assert_int_equal(sums(2, ALLOC + 4)->count, 2);
	assert_int_equal(nr_said, 2);
}

static void *call_with_many_errors(void *argument)
{
	for (uint32_t i = 1; i <= API_THREAD_FAILURES + 10; i++) {
		enter(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, i);
		leave(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, i, (int)(1000 + i));
	}
	return argument;
}

static void errors_beyond_the_table_are_lost_and_said(void **state)
{
	(void)state;
	on_thread(call_with_many_errors);
	publish();
	assert_int_equal(sums(2, ALLOC)->errors, API_THREAD_FAILURES + 10);
	assert_int_equal(nr_said, 1 + API_THREAD_FAILURES);
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_STATISTIC_LOST).count,
			 10);
}

static void *call_many(void *argument)
{
	for (uint32_t i = 1; i <= CALLS; i++) {
		enter(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, i);
		leave(CUPTI_ABI_DOMAIN_RUNTIME, ALLOC, i, i % 100 == 0 ? 2 : 0);
	}
	return argument;
}

static void many_threads_add_up_while_somebody_reads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_many, NULL), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		publish();
		if (nr_said && sums(2, ALLOC)->count) {
			const struct definition_api_statistic *now = sums(2, ALLOC);

			assert_true(now->min_ns * now->count <= now->total_ns);
			assert_true(now->max_ns * now->count >= now->total_ns);
		}
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
	publish();
	on_thread(call_many);
	publish();
	assert_int_equal(sums(2, ALLOC)->count, (THREADS + 1) * CALLS);
	assert_int_equal(sums(2, ALLOC)->errors, (THREADS + 1) * (CALLS / 100));
	assert_int_equal(sums(2, ALLOC + 4)->count, (THREADS + 1) * (CALLS / 100));
}

static uint32_t nr_tables(void)
{
	uint32_t nr = 0;

	for (struct api_thread *thread = api_thread_first(); thread; thread = thread->next)
		nr++;
	return nr;
}

static void threads_one_after_another_share_a_table(void **state)
{
	(void)state;
	on_thread(call_nested);
	publish();
	uint32_t before = nr_tables();
	for (uint32_t i = 0; i < 20; i++) {
		on_thread(call_nested);
		publish();
		assert_int_equal(sums(2, ALLOC)->count, i + 2);
	}
	assert_int_equal(nr_tables(), before);
}

static void *call_ignored(void *argument)
{
	launch_thread_ignore();
	return call_nested(argument);
}

static void what_the_guest_calls_itself_does_not_count(void **state)
{
	(void)state;
	on_thread(call_ignored);
	publish();
	assert_int_equal(nr_said, 0);
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_STATISTIC_LOST).count,
			 0);
}

static void only_what_changed_is_said_again(void **state)
{
	(void)state;
	on_thread(call_nested);
	publish();
	assert_int_equal(nr_said, 2);
	publish();
	assert_int_equal(nr_said, 0);
	on_thread(call_in_vain);
	publish();
	assert_int_equal(nr_said, 2);
	assert_int_equal(sums(2, ALLOC)->count, 6);
}

static void what_finds_no_room_at_the_end_is_lost(void **state)
{
	uint8_t filler[4096] = {0};

	(void)state;
	on_thread(call_in_vain);
	while (definition_writer_put(&definitions, DEFINITION_NOTICE, filler, sizeof(filler), NULL,
				     0))
		;
	while (definition_writer_put(&definitions, DEFINITION_NOTICE, filler, 8, NULL, 0))
		;
	api_statistics_publish(&definitions, false);
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_STATISTIC_LOST).count,
			 0);
	api_statistics_publish(&definitions, true);
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_STATISTIC_LOST).count,
			 5 + 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_call_and_the_calls_within_are_rows_of_their_own),
		TEST(a_call_within_itself_counts_twice),
		TEST(calls_without_an_end_or_a_beginning_do_not_count),
		TEST(errors_are_counted_and_not_ready_is_none),
		TEST(errors_beyond_the_table_are_lost_and_said),
		TEST(many_threads_add_up_while_somebody_reads),
		TEST(threads_one_after_another_share_a_table),
		TEST(what_the_guest_calls_itself_does_not_count),
		TEST(only_what_changed_is_said_again),
		TEST(what_finds_no_room_at_the_end_is_lost),
	};

	assert_int_equal(launch_thread_init(LAUNCH_THREADS_KEPT), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
