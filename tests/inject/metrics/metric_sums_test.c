#include "inject/metrics/metric_sums.h"

#include "tests/support/cmocka_test.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/base/definition_writer.h"
#include "tests/inject/test_ring.h"

#define METRICS 3u

static const char names[METRICS][METRIC_OPTIONS_NAME] = {"dram__bytes.sum", "sm__throughput.max",
							 "lts__t_bytes.sum"};
static const uint32_t all[METRICS] = {0, 1, 2};
static const struct metric_subject subject = {
	.device_id = 3, .stack_id = 17, .name_id = 9, .cbid = 307, .nr_passes = 2};

static struct {
	struct test_ring ring;
	struct definition_writer writer;
	struct metric_sums *sums;
	bool no_memory;
	/* the last row that was read */
	struct definition_kernel_metrics head;
	struct definition_metric_sum of[METRICS];
} fixture;

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (fixture.no_memory)
		return MAP_FAILED;
	return __real_mmap(address, size, protection, flags, fd, offset);
}

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&fixture.ring);
	fixture.writer = DEFINITION_WRITER_INIT(fixture.ring.guest);
	fixture.sums = metric_sums_create(names, METRICS);
	assert_non_null(fixture.sums);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	metric_sums_destroy(fixture.sums);
	test_ring_fini(&fixture.ring);
	return 0;
}

static bool add(const struct metric_subject *of, uint64_t total_ns, double first, double second)
{
	const double values[] = {first, second};

	return metric_sums_add(fixture.sums, of, total_ns, all, values, 2);
}

static uint32_t define(void)
{
	return metric_sums_define(fixture.sums, &fixture.writer);
}

/* Reads the next row, after names. Returns whether there is one. */
static bool next(void)
{
	uint8_t body[512];
	uint32_t type;
	int size;

	do {
		size = test_ring_definition(&fixture.ring, &type, body, sizeof(body));
	} while (size >= 0 && type == DEFINITION_METRIC);
	if (size < 0)
		return false;
	assert_int_equal(type, DEFINITION_KERNEL_METRICS);
	memcpy(&fixture.head, body, sizeof(fixture.head));
	assert_in_range(fixture.head.nr_sums, 0, METRICS);
	assert_int_equal(size, sizeof(fixture.head) + fixture.head.nr_sums * sizeof(fixture.of[0]));
	memcpy(fixture.of, body + sizeof(fixture.head),
	       fixture.head.nr_sums * sizeof(fixture.of[0]));
	return true;
}

static void assert_sum(uint32_t i, uint32_t index, uint32_t missing, double sum, double min,
		       double max)
{
	assert_int_equal(fixture.of[i].index, index);
	assert_int_equal(fixture.of[i].missing, missing);
	assert_true(fixture.of[i].sum == sum);
	assert_true(fixture.of[i].min == min);
	assert_true(fixture.of[i].max == max);
}

static void no_memory_is_no_sums(void **state)
{
	(void)state;
	fixture.no_memory = true;
	assert_null(metric_sums_create(names, METRICS));
	fixture.no_memory = false;
	metric_sums_destroy(NULL);
}

static void names_are_defined_once_and_before_all(void **state)
{
	struct {
		struct definition_metric head;
		char text[METRIC_OPTIONS_NAME];
	} got;
	uint8_t row[512];
	uint32_t type;

	(void)state;
	assert_true(add(&subject, 100, 1, 2));
	assert_int_equal(define(), 0);
	for (uint32_t i = 0; i < METRICS; i++) {
		const int size = test_ring_definition(&fixture.ring, &type, &got, sizeof(got));

		assert_int_equal(type, DEFINITION_METRIC);
		assert_int_equal(got.head.index, i);
		assert_int_equal(size, sizeof(got.head) + strlen(names[i]));
		assert_memory_equal(got.text, names[i], strlen(names[i]));
	}
	assert_true(next());
	assert_true(add(&subject, 100, 1, 2));
	assert_int_equal(define(), 0);
	assert_int_equal(test_ring_definition(&fixture.ring, &type, row, sizeof(row)),
			 sizeof(fixture.head) + 2 * sizeof(fixture.of[0]));
	assert_int_equal(type, DEFINITION_KERNEL_METRICS);
	assert_false(next());
}

static void measurements_of_a_subject_add_up(void **state)
{
	(void)state;
	assert_true(add(&subject, 100, 4, 0));
	assert_true(add(&subject, 50, 2, 8));
	assert_true(add(&subject, 30, 3, 16));
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_int_equal(fixture.head.device_id, subject.device_id);
	assert_int_equal(fixture.head.stack_id, subject.stack_id);
	assert_int_equal(fixture.head.name_id, subject.name_id);
	assert_int_equal(fixture.head.cbid, subject.cbid);
	assert_int_equal(fixture.head.nr_passes, subject.nr_passes);
	assert_int_equal(fixture.head.count, 3);
	assert_int_equal(fixture.head.total_ns, 180);
	assert_int_equal(fixture.head.nr_sums, 2);
	assert_sum(0, 0, 0, 9, 2, 4);
	assert_sum(1, 1, 0, 24, 0, 16);
	assert_false(next());
}

static void numbers_say_which_metric_a_value_is_of(void **state)
{
	const uint32_t numbers[] = {2, 0};
	const double values[] = {7, 5};

	(void)state;
	assert_true(metric_sums_add(fixture.sums, &subject, 1, numbers, values, 2));
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_int_equal(fixture.head.nr_sums, 2);
	assert_sum(0, 0, 0, 5, 5, 5);
	assert_sum(1, 2, 0, 7, 7, 7);
}

static void devices_stacks_and_names_are_told_apart(void **state)
{
	struct metric_subject other[3] = {subject, subject, subject};

	(void)state;
	other[0].device_id++;
	other[1].stack_id++;
	other[2].name_id++;
	assert_true(add(&subject, 1, 1, 1));
	for (uint32_t i = 0; i < 3; i++)
		assert_true(add(&other[i], 10 + i, 2, 2));
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_int_equal(fixture.head.total_ns, 1);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(next());
		assert_int_equal(fixture.head.device_id, other[i].device_id);
		assert_int_equal(fixture.head.stack_id, other[i].stack_id);
		assert_int_equal(fixture.head.name_id, other[i].name_id);
		assert_int_equal(fixture.head.count, 1);
		assert_int_equal(fixture.head.total_ns, 10 + i);
	}
	assert_false(next());
}

static void values_that_are_no_numbers_are_missing(void **state)
{
	const double wrong[] = {NAN, -NAN, INFINITY, -INFINITY, -1, -DBL_MIN};
	const uint32_t nr_wrong = sizeof(wrong) / sizeof(wrong[0]);

	(void)state;
	assert_true(add(&subject, 1, wrong[0], 3));
	assert_true(add(&subject, 1, 5, 3));
	for (uint32_t i = 1; i < nr_wrong; i++)
		assert_true(add(&subject, 1, wrong[i], 3));
	assert_true(add(&subject, 1, 2, 3));
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_int_equal(fixture.head.count, nr_wrong + 2);
	assert_int_equal(fixture.head.nr_sums, 2);
	assert_sum(0, 0, nr_wrong, 7, 2, 5);
	assert_sum(1, 1, 0, 3 * (nr_wrong + 2), 3, 3);
}

static void a_metric_without_a_value_has_no_sum(void **state)
{
	(void)state;
	assert_true(add(&subject, 1, NAN, 0));
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_int_equal(fixture.head.nr_sums, 1);
	assert_sum(0, 1, 0, 0, 0, 0);
	assert_true(metric_sums_add(fixture.sums, &(struct metric_subject){.name_id = 1}, 1, NULL,
				    NULL, 0));
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_int_equal(fixture.head.count, 1);
	assert_int_equal(fixture.head.nr_sums, 0);
}

/* A sum has to be finite as well. */
static void a_value_that_the_sum_cannot_take_is_missing(void **state)
{
	(void)state;
	assert_true(add(&subject, 1, DBL_MAX, 1));
	assert_true(add(&subject, 1, DBL_MAX, 1));
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_sum(0, 0, 1, DBL_MAX, DBL_MAX, DBL_MAX);
	assert_sum(1, 1, 0, 2, 1, 1);
}

static void only_what_was_added_since_is_defined(void **state)
{
	struct metric_subject other = subject;

	(void)state;
	other.stack_id++;
	assert_int_equal(define(), 0);
	assert_false(next());
	assert_true(add(&subject, 1, 1, 1));
	assert_true(add(&other, 2, 1, 1));
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_true(next());
	assert_int_equal(define(), 0);
	assert_false(next());
	assert_true(add(&other, 2, 5, 1));
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_int_equal(fixture.head.stack_id, other.stack_id);
	assert_int_equal(fixture.head.count, 2);
	assert_int_equal(fixture.head.total_ns, 4);
	assert_sum(0, 0, 0, 6, 1, 5);
	assert_false(next());
}

static void full_sums_take_known_subjects_alone(void **state)
{
	struct metric_subject other = subject;

	(void)state;
	for (uint32_t i = 0; i < METRIC_SUMS_MAX; i++) {
		other.device_id = i % 2;
		other.stack_id = i / 2 + 1;
		assert_true(add(&other, 1, 1, 1));
	}
	other.stack_id++;
	assert_false(add(&other, 1, 1, 1));
	other.stack_id--;
	assert_true(add(&other, 1, 1, 1));
	assert_true(
		add(&(struct metric_subject){.stack_id = 1, .name_id = subject.name_id}, 1, 1, 1));
}

/* Takes all of the definition lane's room. */
static void fill_lane(void)
{
	static const char text[4096];
	const struct definition_name head = {.name_id = 1};

	for (uint32_t size = sizeof(text); size; size /= 2)
		while (definition_writer_put(&fixture.writer, DEFINITION_NAME, &head, sizeof(head),
					     text, size))
			;
}

static void empty_lane(void)
{
	static char body[DEFINITION_SIZE_MAX];
	uint32_t type;

	while (test_ring_definition(&fixture.ring, &type, body, sizeof(body)) >= 0)
		assert_int_equal(type, DEFINITION_NAME);
	test_ring_release(&fixture.ring);
}

static void what_finds_no_room_is_tried_again(void **state)
{
	struct metric_subject other = subject;

	(void)state;
	other.stack_id++;
	assert_true(add(&subject, 1, 1, 1));
	assert_true(add(&other, 2, 1, 1));
	fill_lane();
	assert_int_equal(define(), 2);
	assert_int_equal(define(), 2);
	empty_lane();
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_int_equal(fixture.head.total_ns, 1);
	assert_true(next());
	assert_int_equal(fixture.head.total_ns, 2);
	assert_true(add(&other, 2, 1, 1));
	fill_lane();
	assert_int_equal(define(), 1);
	empty_lane();
	assert_int_equal(define(), 0);
	assert_true(next());
	assert_int_equal(fixture.head.total_ns, 4);
	assert_int_equal(define(), 0);
	assert_false(next());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_memory_is_no_sums),
		TEST(names_are_defined_once_and_before_all),
		TEST(measurements_of_a_subject_add_up),
		TEST(numbers_say_which_metric_a_value_is_of),
		TEST(devices_stacks_and_names_are_told_apart),
		TEST(values_that_are_no_numbers_are_missing),
		TEST(a_metric_without_a_value_has_no_sum),
		TEST(a_value_that_the_sum_cannot_take_is_missing),
		TEST(only_what_was_added_since_is_defined),
		TEST(full_sums_take_known_subjects_alone),
		TEST(what_finds_no_room_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
