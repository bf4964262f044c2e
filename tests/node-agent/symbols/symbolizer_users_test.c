/* Several users' names at once: what one user's files do to the names of others. A file is slow where a wrapped function
 * waits for the test. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "node-agent/symbols/perf_map.h"
#include "node-agent/symbols/symbolizer.h"

#define WAIT_S         30
#define SLOW_USER      60000u
#define UNKNOWN_MODULE 1000u /* no place is known of it: its names wait in root's line */

/* No limit: a wrapped function waits for as long as the test needs. */
static const struct symbolizer_options options = {.file_limit_ms = 3600000};

static sem_t entered, go;
static unsigned int nr_refreshed;

/* A wrapped function calls this in the middle of a user's file. */
static void be_slow(void)
{
	sem_post(&entered);
	while (sem_wait(&go) && errno == EINTR)
		;
}

static void wait_until_entered(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	assert_int_equal(sem_timedwait(&entered, &until), 0);
}

static int set_up(void **state)
{
	(void)state;
	return sem_init(&entered, 0, 0) || sem_init(&go, 0, 0) ? -1 : 0;
}

static struct symbolizer_result next_result(struct symbolizer *symbolizer)
{
	struct pollfd ready = {.fd = symbolizer_fd(symbolizer), .events = POLLIN};
	struct symbolizer_result result;

	while (symbolizer_collect(symbolizer, &result, 1) == 0)
		assert_int_equal(poll(&ready, 1, WAIT_S * 1000), 1);
	return result;
}

/* Root's line is served while the files of others are slow. */
static void expect_root_is_served(struct symbolizer *symbolizer, uint32_t frame_id)
{
	assert_int_equal(symbolizer_request(symbolizer, frame_id, UNKNOWN_MODULE, 0), 0);
	assert_int_equal(next_result(symbolizer).frame_id, frame_id);
}

/* ---- perf maps ---------------------------------------------------------------------------------- */

void __real_perf_map_refresh(struct perf_map *map);
void __wrap_perf_map_refresh(struct perf_map *map);
const char *__real_perf_map_find(const struct perf_map *map, uint64_t address);
const char *__wrap_perf_map_find(const struct perf_map *map, uint64_t address);

void __wrap_perf_map_refresh(struct perf_map *map)
{
	nr_refreshed++;
	__real_perf_map_refresh(map);
}

const char *__wrap_perf_map_find(const struct perf_map *map, uint64_t address)
{
	be_slow();
	return __real_perf_map_find(map, address);
}

static void write_map(const char *path, const char *line)
{
	FILE *file = fopen(path, "a");

	assert_non_null(file);
	assert_true(fputs(line, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Each request sees what the process had written when the request was made; no other user's requests matter. */
static void a_perf_map_is_read_once_for_all_requests_that_wait(void **state)
{
	enum { REQUESTS = 10, OTHERS = 100 };
	struct symbolizer_module module = {.module_id = 1,
					   .kind = SYMBOLIZER_PERF_MAP,
					   .owner = SLOW_USER,
					   .pid = getpid(),
					   .path = "generated"};
	struct symbolizer *symbolizer;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	write_map(path, "1000 10 first\n");
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_request(symbolizer, 0, 1, 0x1000), 0);
	wait_until_entered();
	assert_int_equal(nr_refreshed, 1);
	write_map(path, "2000 10 second\n");
	for (uint32_t id = 1; id <= REQUESTS; id++)
		assert_int_equal(symbolizer_request(symbolizer, id, 1, 0x2000), 0);

	for (uint32_t id = 0; id <= REQUESTS; id++) {
		expect_root_is_served(symbolizer, OTHERS + id);
		sem_post(&go);
		struct symbolizer_result result = next_result(symbolizer);

		assert_int_equal(result.frame_id, id);
		assert_string_equal(result.name, id == 0 ? "first" : "second");
		if (id < REQUESTS)
			wait_until_entered();
	}
	assert_int_equal(nr_refreshed, 2);
	symbolizer_stop(symbolizer, WAIT_S * 1000);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_perf_map_is_read_once_for_all_requests_that_wait, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
