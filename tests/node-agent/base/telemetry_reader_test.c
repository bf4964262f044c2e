#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "node-agent/base/telemetry_reader.h"
#include "tests/support/fake_nvml/fake_nvml.h"

#define WAIT_MS     20000u
#define INTERVAL_MS 1u
#define NS_PER_MS   1000000

static struct telemetry_reader *reader;
static bool has_threads, has_memory = true;
static pthread_t tester;
/* Waits of the reader's thread, and those that do not end at a multiple of the interval. */
static _Atomic uint32_t nr_waits, nr_off_grid;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*function)(void *), void *argument);
void *__real_calloc(size_t count, size_t size);
int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
				  const struct timespec *until);
int __real_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
				  const struct timespec *until);

int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	if (!pthread_equal(pthread_self(), tester)) {
		nr_waits++;
		nr_off_grid += until->tv_nsec % (INTERVAL_MS * NS_PER_MS) != 0;
	}
	return __real_pthread_cond_timedwait(changed, lock, until);
}

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
	tester = pthread_self();
	nr_waits = nr_off_grid = 0;
	reader = telemetry_reader_create(INTERVAL_MS);
	assert_non_null(reader);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	telemetry_reader_destroy(reader, WAIT_MS);
	reader = NULL;
	return 0;
}

static struct device_telemetry find(int device)
{
	struct device_telemetry telemetry;

	telemetry_reader_find(reader, device, clock_now_ns(), &(struct device_telemetry){0},
			      &telemetry);
	return telemetry;
}

static struct device_telemetry await_readings(int device, uint64_t readings)
{
	struct device_telemetry telemetry;

	while ((telemetry = find(device)).readings < readings)
		sched_yield();
	return telemetry;
}

static uint32_t await_refusal(int device)
{
	struct device_telemetry telemetry;

	while ((telemetry = find(device)).refusal == TELEMETRY_ANSWERS)
		sched_yield();
	assert_int_equal(telemetry.readings, 0);
	return telemetry.refusal;
}

static void a_gpu_is_read_while_it_has_users(void **state)
{
	(void)state;
	int gpu = telemetry_reader_use(reader, 0, 0x17, 0);
	assert_int_equal(telemetry_reader_use(reader, 0, 0x17, 0), gpu);
	struct device_telemetry telemetry = await_readings(gpu, 5);
	assert_int_equal(telemetry.energy_mj, (telemetry.readings - 1) * 125000);
	assert_int_equal(telemetry.observed_ns, telemetry.energy_ns);
	assert_int_equal(telemetry.observed_ns, telemetry.reason_ns[TELEMETRY_FREE]);
	assert_int_equal(telemetry.sm_cycles, 1980 * (telemetry.clock_ns / 1000));
	assert_int_equal(telemetry.gpm_refusal, TELEMETRY_ANSWERS);
	assert_int_equal(telemetry.use_known_ns[TELEMETRY_SM], telemetry.observed_ns);
	assert_int_equal(telemetry.use_ns[TELEMETRY_SM], telemetry.observed_ns / 10 * 6);
	telemetry_reader_leave(reader, gpu);
	await_readings(gpu, telemetry.readings + 2);
	telemetry_reader_leave(reader, gpu);
	while (fake_nvml.nr_open > 0) /* NVML keeps no GPU awake */
		sched_yield();
	assert_int_equal(fake_nvml.nr_samples, 0);
	uint32_t readings = fake_nvml.nr_readings;
	telemetry = find(gpu);
	assert_int_equal(telemetry_reader_use(reader, 0, 0x17, 0), gpu);
	struct device_telemetry later = await_readings(gpu, telemetry.readings + 1);
	assert_true(fake_nvml.nr_readings > readings);
	assert_int_equal(later.begin_ns, telemetry.begin_ns);
	telemetry_reader_leave(reader, gpu);
}

static void readings_are_multiples_of_the_interval_apart(void **state)
{
	(void)state;
	await_readings(telemetry_reader_use(reader, 0, 0x17, 0), 5);
	assert_true(nr_waits >= 4);
	assert_int_equal(nr_off_grid, 0);
}

/* The next time is an hour away. */
static void a_gpu_that_gets_a_user_is_read_at_once_and_no_other(void **state)
{
	(void)state;
	telemetry_reader_destroy(reader, WAIT_MS);
	reader = telemetry_reader_create(3600 * 1000);
	assert_non_null(reader);
	const int one = telemetry_reader_use(reader, 0, 0x17, 0);
	await_readings(one, 1);
	await_readings(telemetry_reader_use(reader, 0, 0x3a, 0), 1);
	assert_int_equal(find(one).readings, 1);
	telemetry_reader_leave(reader, one);
	telemetry_reader_use(reader, 0, 0x17, 0);
	await_readings(one, 2);
}

static void gpus_have_sums_of_their_own(void **state)
{
	(void)state;
	int one = telemetry_reader_use(reader, 0, 0x17, 0);
	int two = telemetry_reader_use(reader, 0, 0xfe, 0); /* NVML does not see it */
	await_readings(one, 3);
	assert_int_equal(await_refusal(two), TELEMETRY_NO_DEVICE);
}

static void parts_of_a_gpu_are_not_read(void **state)
{
	(void)state;
	fake_nvml.divided = true;
	assert_int_equal(await_refusal(telemetry_reader_use(reader, 0, 0x17, 0)),
			 TELEMETRY_DIVIDED);
}

static void what_nvml_refuses_is_said(void **state)
{
	(void)state;
	fake_nvml.gpu.result = 4;
	int gpu = telemetry_reader_use(reader, 0, 0x17, 0);
	struct device_telemetry telemetry = await_readings(gpu, 3);
	assert_int_equal(telemetry.refusal, TELEMETRY_NO_PERMISSION);
	assert_true(telemetry.observed_ns > 0);
	assert_int_equal(telemetry.clock_ns + telemetry.power_ns + telemetry.energy_ns, 0);
}

static void a_gpu_without_gpm_has_all_else(void **state)
{
	(void)state;
	fake_nvml.gpu.gpm = 3;
	int gpu = telemetry_reader_use(reader, 0, 0x17, 0);
	struct device_telemetry telemetry = await_readings(gpu, 3);
	assert_int_equal(telemetry.refusal, TELEMETRY_ANSWERS);
	assert_int_equal(telemetry.gpm_refusal, TELEMETRY_NOT_SUPPORTED);
	assert_true(telemetry.energy_ns > 0);
	assert_int_equal(telemetry.use_known_ns[TELEMETRY_SM] +
				 telemetry.traffic_known_ns[TELEMETRY_PCIE_SENT],
			 0);
}

static void without_nvml_it_is_tried_once(void **state)
{
	(void)state;
	fake_nvml.init_result = 9;
	int gpu = telemetry_reader_use(reader, 0, 0x17, 0);
	assert_int_equal(await_refusal(gpu), TELEMETRY_NO_DRIVER);
	telemetry_reader_leave(reader, gpu);
	telemetry_reader_use(reader, 0, 0x17, 0);
	telemetry_reader_destroy(reader, WAIT_MS);
	reader = NULL;
	assert_int_equal(fake_nvml.nr_inits, 1);
}

static void a_call_that_hangs_holds_up_nobody(void **state)
{
	struct device_telemetry telemetry;

	(void)state;
	fake_nvml_hang(true);
	int gpu = telemetry_reader_use(reader, 0, 0x17, 0);
	while (!fake_nvml_waits())
		sched_yield();
	assert_int_equal(find(gpu).refusal, TELEMETRY_ANSWERS);
	telemetry_reader_find(reader, gpu, clock_now_ns() + TELEMETRY_READER_HANG_NS + 1,
			      &(struct device_telemetry){0}, &telemetry);
	assert_int_equal(telemetry.refusal, TELEMETRY_HANGS);
	telemetry_reader_leave(reader, gpu);
	telemetry_reader_destroy(reader, 1);
	reader = NULL;
	fake_nvml_hang(false);
	while (fake_nvml.nr_open > 0) /* the thread goes on, and frees the reader */
		sched_yield();
}

static void more_gpus_than_there_is_room_for_have_no_number(void **state)
{
	(void)state;
	for (uint32_t bus = 0; bus < TELEMETRY_READER_DEVICES; bus++)
		assert_int_equal(telemetry_reader_use(reader, 0, bus, 0), bus);
	assert_int_equal(telemetry_reader_use(reader, 0, 0xf0, 0), -1);
}

static void without_a_thread_or_memory_nothing_is_read(void **state)
{
	(void)state;
	has_threads = false;
	assert_int_equal(await_refusal(telemetry_reader_use(reader, 0, 0x17, 0)), TELEMETRY_FAILED);
	has_memory = false;
	struct telemetry_reader *none = telemetry_reader_create(1);
	has_memory = true;
	assert_null(none);
	telemetry_reader_destroy(NULL, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_gpu_is_read_while_it_has_users),
		TEST(readings_are_multiples_of_the_interval_apart),
		TEST(a_gpu_that_gets_a_user_is_read_at_once_and_no_other),
		TEST(gpus_have_sums_of_their_own),
		TEST(parts_of_a_gpu_are_not_read),
		TEST(what_nvml_refuses_is_said),
		TEST(a_gpu_without_gpm_has_all_else),
		TEST(without_nvml_it_is_tried_once),
		TEST(a_call_that_hangs_holds_up_nobody),
		TEST(more_gpus_than_there_is_room_for_have_no_number),
		TEST(without_a_thread_or_memory_nothing_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
