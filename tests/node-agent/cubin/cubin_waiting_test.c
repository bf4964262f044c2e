/* Cubins whose line tables a worker makes: what they are meanwhile, and what the two threads share. */
#include "node-agent/cubin/cubin_table.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cubin_fixture.h"
#include "held_worker.h"
#include "node-agent/cubin/cubin_cache.h"

#define CRC    77u
#define USER   4711u
#define ROUNDS 300u

static struct held_worker worker;
static struct cubin_cache *cache;
static struct cubin_table *table;
static uint8_t *image; /* kernel "a" at line 10 */
static uint32_t size;

static int begin(void **state)
{
	(void)state;
	worker = (struct held_worker){0};
	image = fixture_kernel_image(10, true, &size);
	cache = cubin_cache_create(&(struct cubin_worker){held_worker_give, &worker});
	assert_non_null(cache);
	table = cubin_table_create(cache, USER);
	assert_non_null(table);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cubin_table_destroy(table);
	held_worker_run(&worker);
	assert_int_equal(cubin_cache_count(cache), 0);
	cubin_cache_destroy(cache);
	free(image);
	return 0;
}

static void assert_counts(uint64_t with_lines, uint64_t damaged, uint64_t refused, uint64_t waiting)
{
	struct cubin_counts counts;

	cubin_table_count(table, &counts);
	assert_int_equal(counts.with_lines, with_lines);
	assert_int_equal(counts.damaged, damaged);
	assert_int_equal(counts.refused, refused);
	assert_int_equal(counts.waiting, waiting);
	assert_int_equal(counts.without_lines, 0);
}

static uint32_t line_of(uint64_t crc)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];

	return cubin_code_find(cubin_table_code(table, crc, "a"), 16, frames) ? frames[0].line : 0;
}

static void add(uint64_t crc)
{
	assert_int_equal(cubin_table_chunk(table, crc, size, 0, image, size), 0);
}

static void a_cubin_has_lines_once_the_worker_has_made_them(void **state)
{
	(void)state;
	add(CRC);
	assert_int_equal(worker.user, USER);
	cubin_table_step(table);
	assert_int_equal(cubin_table_state(table, CRC), CUBIN_WAITING);
	assert_int_equal(line_of(CRC), 0);
	assert_counts(0, 0, 0, 1);
	add(CRC); /* again: changes nothing */
	assert_int_equal(held_worker_run(&worker), 1);
	assert_int_equal(cubin_table_state(table, CRC), CUBIN_WAITING);
	cubin_table_step(table);
	assert_int_equal(cubin_table_state(table, CRC), CUBIN_WITH_LINES);
	assert_int_equal(line_of(CRC), 10);
	assert_counts(1, 0, 0, 0);
}

static void several_wait_and_are_done_in_any_order(void **state)
{
	static uint8_t none[100];
	struct agent_task *tasks[3];

	(void)state;
	add(1);
	assert_int_equal(cubin_table_chunk(table, 2, sizeof(none), 0, none, sizeof(none)), 0);
	add(3);
	for (int i = 0; i < 3; i++)
		tasks[i] = held_worker_take(&worker);
	tasks[1]->run(tasks[1], true);
	cubin_table_step(table);
	assert_counts(0, 1, 0, 2);
	add(4);
	tasks[2]->run(tasks[2], true);
	cubin_table_step(table);
	assert_counts(1, 1, 0, 2);
	assert_int_equal(line_of(3), 10);
	assert_int_equal(cubin_cache_count(cache), 1);
	tasks[0]->run(tasks[0], true);
	assert_int_equal(held_worker_run(&worker), 1);
	cubin_table_step(table);
	assert_counts(3, 1, 0, 0);
	assert_int_equal(line_of(1) + line_of(4), 20);
	assert_int_equal(cubin_cache_count(cache), 1);
}

static void what_waits_counts_with_its_bytes(void **state)
{
	const uint32_t nr_zeros = 1u << 20;
	uint8_t *zeros = calloc(1, nr_zeros);
	/* The bits that say which bytes are there take an eighth. */
	const uint32_t rest = (CUBIN_TABLE_SIZE_MAX - 3 * (CUBIN_SIZE_MAX / 8 * 9)) / 9 * 8 - 4096;

	(void)state;
	assert_non_null(zeros);
	assert_int_equal(cubin_table_chunk(table, 1, nr_zeros, 0, zeros, nr_zeros), 0);
	for (uint64_t crc = 10; crc < 13; crc++)
		assert_int_equal(cubin_table_chunk(table, crc, CUBIN_SIZE_MAX, 0, image, 1), 0);
	assert_int_equal(cubin_table_chunk(table, 2, rest, 0, image, 1), -EFBIG);
	assert_counts(0, 0, 1, 1);
	held_worker_run(&worker);
	cubin_table_step(table);
	assert_counts(0, 1, 1, 0);
	assert_int_equal(cubin_table_chunk(table, 3, rest, 0, image, 1), 0);
	free(zeros);
}

static void what_is_given_up_is_refused_and_takes_no_room(void **state)
{
	const uint32_t nr_zeros = 48u << 20;
	uint8_t *zeros = calloc(1, nr_zeros);

	(void)state;
	assert_non_null(zeros);
	for (uint64_t crc = 1; crc <= 10; crc++) {
		assert_int_equal(cubin_table_chunk(table, crc, nr_zeros, 0, zeros, nr_zeros), 0);
		cubin_table_give_up(table, crc);
		assert_int_equal(cubin_table_state(table, crc), CUBIN_REFUSED);
		cubin_table_give_up(table, crc);
	}
	assert_counts(0, 0, 10, 0);
	cubin_table_give_up(table, 99); /* nobody has heard of it */
	add(CRC);
	assert_int_equal(held_worker_run(&worker), 11);
	cubin_table_step(table);
	cubin_table_give_up(table, CRC); /* too late */
	assert_counts(1, 0, 10, 0);
	assert_int_equal(line_of(CRC), 10);
	free(zeros);
}

static void a_worker_that_takes_nothing_or_ends_refuses(void **state)
{
	struct agent_task *task;

	(void)state;
	worker.fails = true;
	assert_int_equal(cubin_table_chunk(table, 1, size, 0, image, size), -ENOMEM);
	assert_counts(0, 0, 1, 0);
	worker.fails = false;
	add(2);
	task = held_worker_take(&worker);
	task->run(task, false);
	cubin_table_step(table);
	assert_counts(0, 0, 2, 0);
	assert_int_equal(cubin_table_state(table, 2), CUBIN_REFUSED);
}

static void a_task_may_outlive_the_table_and_the_cache(void **state)
{
	struct cubin_cache *other =
		cubin_cache_create(&(struct cubin_worker){held_worker_give, &worker});
	struct cubin_table *of = cubin_table_create(other, USER);

	(void)state;
	for (uint64_t crc = 1; crc <= 3; crc++)
		assert_int_equal(cubin_table_chunk(of, crc, size, 0, image, size), 0);
	struct agent_task *first = held_worker_take(&worker);
	first->run(first, true); /* nobody takes its table */
	cubin_table_destroy(of);
	assert_int_equal(cubin_cache_count(other), 0);
	cubin_cache_destroy(other);
	assert_int_equal(held_worker_run(&worker), 2);
}

/* ---- two threads */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct held_worker worker;
	bool ends;
} shared = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {.begin = 0}, false};

static int give_shared(void *context, uid_t user, struct agent_task *task)
{
	pthread_mutex_lock(&shared.lock);
	int r = held_worker_give(context, user, task);
	pthread_cond_signal(&shared.changed);
	pthread_mutex_unlock(&shared.lock);
	return r;
}

static void *work(void *argument)
{
	struct agent_task *task = NULL;

	(void)argument;
	do {
		pthread_mutex_lock(&shared.lock);
		while (!(task = held_worker_take(&shared.worker)) && !shared.ends)
			pthread_cond_wait(&shared.changed, &shared.lock);
		pthread_mutex_unlock(&shared.lock);
		if (task)
			task->run(task, true);
	} while (task);
	return NULL;
}

/* Of each four cubins one is given up, one is left with its table, and two are waited for. */
static void play_round(struct cubin_cache *of, uint8_t *const images[2], const uint32_t sizes[2])
{
	struct cubin_table *left = cubin_table_create(of, USER);

	assert_non_null(left);
	assert_int_equal(cubin_table_chunk(left, 9, sizes[0], 0, images[0], sizes[0]), 0);
	for (uint64_t crc = 0; crc < 3; crc++)
		assert_int_equal(cubin_table_chunk(table, crc, sizes[crc % 2], 0, images[crc % 2],
						   sizes[crc % 2]),
				 0);
	cubin_table_give_up(table, 2);
	cubin_table_destroy(left);
	while (cubin_table_state(table, 0) == CUBIN_WAITING ||
	       cubin_table_state(table, 1) == CUBIN_WAITING)
		cubin_table_step(table);
	assert_int_equal(line_of(0), 20);
	assert_int_equal(line_of(1), 21);
}

static void two_workers_and_the_loop_share_tables(void **state)
{
	struct cubin_cache *of =
		cubin_cache_create(&(struct cubin_worker){give_shared, &shared.worker});
	uint32_t sizes[2];
	uint8_t *images[2] = {fixture_kernel_image(20, true, &sizes[0]),
			      fixture_kernel_image(21, true, &sizes[1])};
	pthread_t threads[2];

	(void)state;
	assert_non_null(of);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		cubin_table_destroy(table);
		table = cubin_table_create(of, USER);
		play_round(of, images, sizes);
	}
	cubin_table_destroy(table);
	table = NULL;
	pthread_mutex_lock(&shared.lock);
	shared.ends = true;
	pthread_cond_broadcast(&shared.changed);
	pthread_mutex_unlock(&shared.lock);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(cubin_cache_count(of), 0);
	cubin_cache_destroy(of);
	free(images[0]);
	free(images[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_cubin_has_lines_once_the_worker_has_made_them),
		TEST(several_wait_and_are_done_in_any_order),
		TEST(what_waits_counts_with_its_bytes),
		TEST(what_is_given_up_is_refused_and_takes_no_room),
		TEST(a_worker_that_takes_nothing_or_ends_refuses),
		TEST(a_task_may_outlive_the_table_and_the_cache),
		TEST(two_workers_and_the_loop_share_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
