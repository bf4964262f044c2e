/* What the agent takes of a guest's metrics. Descriptions, stacks and statistics are played here. */
#include "node-agent/guests/ring_metrics.h"

#include <errno.h>
#include <string.h>

#include "proto/kernel_metric.h"
#include "proto/metric_notice.h"
#include "tests/support/cmocka_test.h"

#define NODE 7u

static int notice_answer;
static uint32_t nr_notices;
static struct message_kernel_metric rows[8];
static uint32_t nr_rows;

int __wrap_process_description_add_notice(struct process_description *description, const char *text,
					  size_t size);
int __wrap_process_description_add_notice(struct process_description *description, const char *text,
					  size_t size)
{
	assert_null(description);
	assert_int_equal(size, strlen(METRIC_NOTICE));
	assert_memory_equal(text, METRIC_NOTICE, size);
	nr_notices++;
	return notice_answer;
}

int __wrap_stack_resolver_node(struct stack_resolver *resolver, uint32_t stack_id, uint32_t cbid,
			       uint32_t *node_id);
int __wrap_stack_resolver_node(struct stack_resolver *resolver, uint32_t stack_id, uint32_t cbid,
			       uint32_t *node_id)
{
	(void)resolver;
	(void)stack_id;
	(void)cbid;
	*node_id = NODE;
	return 0;
}

int __wrap_process_statistics_take_metric(struct process_statistics *statistics,
					  const struct message_kernel_metric *row);
int __wrap_process_statistics_take_metric(struct process_statistics *statistics,
					  const struct message_kernel_metric *row)
{
	(void)statistics;
	assert_true(nr_rows < sizeof(rows) / sizeof(*rows));
	rows[nr_rows++] = *row;
	return 0;
}

static struct ring_metrics metrics;
static struct ring_outputs outputs;

static int set_up(void **state)
{
	(void)state;
	metrics = (struct ring_metrics){0};
	outputs = (struct ring_outputs){.strings = string_dictionary_create(),
					.statistics = (struct process_statistics *)rows};
	notice_answer = 1;
	nr_notices = nr_rows = 0;
	return outputs.strings ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	string_dictionary_destroy(outputs.strings);
	return 0;
}

static int name(uint32_t index, const char *text)
{
	const struct definition_metric head = {.index = index};

	return ring_metrics_name(&metrics, &outputs, &head, text, strlen(text));
}

static void a_metric_is_defined_only_with_its_notice(void **state)
{
	(void)state;
	notice_answer = -ENOMEM;
	assert_int_equal(name(0, "a.sum"), -ENOMEM);
	assert_int_equal(metrics.names[0], STRING_NONE);
	notice_answer = 1;
	assert_int_equal(name(0, "a.sum"), 0);
	assert_int_not_equal(metrics.names[0], STRING_NONE);
	assert_int_equal(nr_notices, 2);
	/* Only the first one of a number counts. */
	const uint32_t id = metrics.names[0];
	assert_int_equal(name(0, "b.sum"), 0);
	assert_int_equal(metrics.names[0], id);
	assert_int_equal(nr_notices, 2);
}

static void no_guest_writes_these_names(void **state)
{
	char text[RING_METRICS_NAME_MAX + 2] = {0};

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	assert_int_equal(name(0, text), -EINVAL);
	assert_int_equal(name(0, ""), -EINVAL);
	assert_int_equal(name(DEFINITION_METRICS_MAX, "a.sum"), -EINVAL);
	assert_int_equal(nr_notices, 0);
}

static int add(const struct definition_metric_sum *sums, uint32_t nr_sums)
{
	const struct definition_kernel_metrics head = {
		.nr_passes = 1, .nr_sums = nr_sums, .count = 4, .total_ns = 400};

	return ring_metrics_add(&metrics, &outputs, NULL, &head, 5, sums, nr_sums * sizeof(*sums));
}

static void metrics_without_a_sum_get_a_row(void **state)
{
	const struct definition_metric_sum sum = {
		.index = 1, .missing = 1, .sum = 6, .min = 1, .max = 3};

	(void)state;
	assert_int_equal(name(0, "a.sum") | name(1, "b.sum"), 0);
	assert_int_equal(add(&sum, 1), 0);
	assert_int_equal(nr_rows, 2);
	assert_int_equal(rows[0].metric, metrics.names[1]);
	assert_int_equal(rows[0].count, 3);
	assert_int_equal(rows[0].total_ns, 300);
	assert_int_equal(rows[0].stack_id, NODE);
	assert_int_equal(rows[0].sum, kernel_metric_bits(6));
	assert_int_equal(rows[1].metric, metrics.names[0]);
	assert_int_equal(rows[1].count, 0);
}

static void sums_before_one_that_makes_no_sense_are_taken(void **state)
{
	const struct definition_metric_sum sums[] = {
		{.index = 0, .sum = 6, .min = 1, .max = 3},
		{.index = 1, .sum = 6, .min = 3, .max = 1},
		{.index = 2, .sum = 6, .min = 1, .max = 3},
	};

	(void)state;
	assert_int_equal(name(0, "a.sum") | name(1, "b.sum") | name(2, "c.sum"), 0);
	assert_int_equal(add(sums, 3), -EINVAL);
	assert_int_equal(nr_rows, 1);
	assert_int_equal(rows[0].metric, metrics.names[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_metric_is_defined_only_with_its_notice),
		TEST(no_guest_writes_these_names),
		TEST(metrics_without_a_sum_get_a_row),
		TEST(sums_before_one_that_makes_no_sense_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
