#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "node-agent/base/link_reader.h"
#include "proto/batch/message.h"
#include "tests/support/fake_nvml/fake_nvml.h"

#define WAIT_MS    20000u
#define H100_BYTES (18 * 26562000000ull)

static struct link_reader *reader;
static bool has_threads, has_memory = true;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument)
{
	return has_threads ? __real_pthread_create(thread, attributes, function, argument) : EAGAIN;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return has_memory ? __real_calloc(count, size) : NULL;
}

static int set_up(void **state)
{
	(void)state;
	fake_nvml_reset();
	has_threads = true;
	reader = link_reader_create();
	assert_non_null(reader);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	link_reader_destroy(reader, WAIT_MS);
	return 0;
}

static int find(uint32_t bus, struct nvml_link *link)
{
	int error;

	while ((error = link_reader_find(reader, 0, bus, 0, link)) == -EAGAIN)
		sched_yield();
	return error;
}

static void each_gpu_is_read_once(void **state)
{
	struct nvml_link link;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(find(0x17, &link), 0);
		assert_int_equal(link.kind, DEVICE_LINK_NVLINK);
		assert_int_equal(link.bytes_per_second, H100_BYTES);
	}
	assert_int_equal(find(0x18, &link), 0);
	link_reader_destroy(reader, WAIT_MS);
	reader = NULL;
	assert_int_equal(fake_nvml.nr_finds, 2);
	assert_int_equal(fake_nvml.nr_open, 0);
}

static void what_nvml_does_not_tell_is_not_known(void **state)
{
	struct nvml_link link = {DEVICE_LINK_PCIE, 1};

	(void)state;
	assert_int_equal(find(0xfe, &link), -ENODATA);
	assert_int_equal(link.kind, DEVICE_LINK_NONE);
	assert_int_equal(link.bytes_per_second, 0);
	assert_int_equal(find(0x17, &link), 0);
}

static void without_nvml_nothing_is_known(void **state)
{
	struct nvml_link link;

	(void)state;
	fake_nvml.init_result = 9;
	assert_int_equal(find(0x17, &link), -ENODATA);
	assert_int_equal(find(0x17, &link), -ENODATA);
	link_reader_destroy(reader, WAIT_MS);
	reader = NULL;
	assert_int_equal(fake_nvml.nr_inits, 1);
}

static void a_driver_that_hangs_holds_up_nobody(void **state)
{
	struct nvml_link link;

	(void)state;
	fake_nvml_hang(true);
	assert_int_equal(link_reader_find(reader, 0, 0x17, 0, &link), -EAGAIN);
	while (!fake_nvml_waits())
		sched_yield();
	assert_int_equal(link_reader_find(reader, 0, 0x17, 0, &link), -EAGAIN);
	assert_int_equal(link_reader_find(reader, 0, 0x18, 0, &link), -EAGAIN);
	link_reader_destroy(reader, 1);
	reader = NULL;
	fake_nvml_hang(false);
	while (fake_nvml.nr_open > 0) /* the thread goes on, and frees the reader */
		sched_yield();
}

static void a_reader_that_is_stopped_reads_nothing_more(void **state)
{
	struct nvml_link link;

	(void)state;
	fake_nvml_hang(true);
	for (uint32_t bus = 0x20; bus < 0x28; bus++)
		assert_int_equal(link_reader_find(reader, 0, bus, 0, &link), -EAGAIN);
	while (!fake_nvml_waits())
		sched_yield();
	link_reader_destroy(reader, 0);
	reader = NULL;
	fake_nvml_hang(false);
	while (fake_nvml.nr_open > 0)
		sched_yield();
	assert_int_equal(fake_nvml.nr_finds, 1);
}

static void more_gpus_than_there_is_room_for_are_not_known(void **state)
{
	struct nvml_link link;

	(void)state;
	for (uint32_t bus = 0; bus < LINK_READER_DEVICES; bus++)
		find(bus, &link);
	assert_int_equal(link_reader_find(reader, 0, 0xff, 0, &link), -ENODATA);
}

static void without_a_thread_it_is_tried_again(void **state)
{
	struct nvml_link link;

	(void)state;
	has_threads = false;
	assert_int_equal(link_reader_find(reader, 0, 0x17, 0, &link), -ENODATA);
	has_threads = true;
	assert_int_equal(find(0x17, &link), 0);
}

static void creating_fails_without_memory(void **state)
{
	(void)state;
	has_memory = false;
	struct link_reader *none = link_reader_create();
	has_memory = true;
	assert_null(none);
	link_reader_destroy(NULL, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_gpu_is_read_once),
		TEST(what_nvml_does_not_tell_is_not_known),
		TEST(without_nvml_nothing_is_known),
		TEST(a_driver_that_hangs_holds_up_nobody),
		TEST(more_gpus_than_there_is_room_for_are_not_known),
		TEST(without_a_thread_it_is_tried_again),
		TEST(creating_fails_without_memory),
		TEST(a_reader_that_is_stopped_reads_nothing_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
