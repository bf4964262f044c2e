#include "inject/cupti/buffer_pool.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int all_zero(const uint8_t *buffer)
{
	return buffer[0] == 0 && memcmp(buffer, buffer + 1, BUFFER_POOL_BYTES - 1) == 0;
}

static void buffers_are_zeroed_and_distinct(void **state)
{
	struct buffer_pool *pool = buffer_pool_create(BUFFER_POOL_MAX, BUFFER_POOL_BYTES);
	uint8_t *first = buffer_pool_claim(pool), *second = buffer_pool_claim(pool);

	(void)state;
	assert_ptr_not_equal(first, second);
	assert_true(all_zero(first) && all_zero(second));
	assert_int_equal((uintptr_t)first % 8, 0);
	buffer_pool_destroy(pool);
}

static void used_bytes_are_zeroed_when_a_buffer_comes_back(void **state)
{
	struct buffer_pool *pool = buffer_pool_create(BUFFER_POOL_MAX, BUFFER_POOL_BYTES);
	uint8_t *buffer = buffer_pool_claim(pool);

	(void)state;
	memset(buffer, 0x55, 5000);
	assert_int_equal(buffer_pool_give_back(pool, buffer, 5000), 0);
	assert_ptr_equal(buffer_pool_claim(pool), buffer);
	assert_true(all_zero(buffer));
	buffer_pool_destroy(pool);
}

static void pool_grows_to_its_limit_and_then_says_so(void **state)
{
	struct buffer_pool *pool = buffer_pool_create(BUFFER_POOL_MAX, BUFFER_POOL_BYTES);
	uint8_t *buffers[BUFFER_POOL_MAX];

	(void)state;
	for (uint32_t i = 0; i < BUFFER_POOL_MAX; i++) {
		buffers[i] = buffer_pool_claim(pool);
		assert_non_null(buffers[i]);
		buffers[i][0] = buffers[i][BUFFER_POOL_BYTES - 1] = 1;
	}
	assert_null(buffer_pool_claim(pool));
	assert_int_equal(buffer_pool_give_back(pool, buffers[200], BUFFER_POOL_BYTES), 0);
	assert_ptr_equal(buffer_pool_claim(pool), buffers[200]);
	assert_true(all_zero(buffers[200]));
	buffer_pool_destroy(pool);
}

static void pool_says_when_it_becomes_crowded_and_not_too_often(void **state)
{
	struct buffer_pool *pool = buffer_pool_create(BUFFER_POOL_MAX, BUFFER_POOL_BYTES);
	uint32_t first = 0, times = 0;

	(void)state;
	for (uint32_t i = 0; i < BUFFER_POOL_MAX; i++) {
		if (!buffer_pool_is_crowded(pool, buffer_pool_claim(pool)))
			continue;
		if (times++ == 0)
			first = i;
	}
	assert_int_equal(first, BUFFER_POOL_MAX / 4);
	assert_int_equal(times, BUFFER_POOL_MAX * 3 / 4 / 64);
	buffer_pool_destroy(pool);
}

static bool is_in_memory(const uint8_t *buffer)
{
	unsigned char page;

	assert_int_equal(mincore((void *)(uintptr_t)buffer, 4096, &page), 0);
	return page & 1;
}

/* A buffer of a thread that ended soon is not worth a system call; one that was filled is. */
static void only_what_was_much_used_goes_back_to_the_system(void **state)
{
	struct buffer_pool *pool = buffer_pool_create(BUFFER_POOL_MAX, BUFFER_POOL_BYTES);
	uint8_t *buffers[BUFFER_POOL_READY + 1], *last;

	(void)state;
	for (uint32_t i = 0; i <= BUFFER_POOL_READY; i++)
		buffers[i] = buffer_pool_claim(pool);
	last = buffers[BUFFER_POOL_READY];
	last[0] = last[4095] = 1;
	assert_int_equal(buffer_pool_give_back(pool, last, 4096), 0);
	assert_true(is_in_memory(last));
	assert_ptr_equal(buffer_pool_claim(pool), last);
	assert_true(all_zero(last));
	memset(last, 1, BUFFER_POOL_BYTES);
	assert_int_equal(buffer_pool_give_back(pool, last, BUFFER_POOL_BYTES), 0);
	assert_false(is_in_memory(last));
	buffer_pool_destroy(pool);
}

static void trim_takes_the_memory_of_what_is_not_out(void **state)
{
	struct buffer_pool *pool = buffer_pool_create(BUFFER_POOL_MAX, BUFFER_POOL_BYTES);
	uint8_t *out = buffer_pool_claim(pool), *back = buffer_pool_claim(pool);

	(void)state;
	out[0] = back[0] = 1;
	assert_int_equal(buffer_pool_give_back(pool, back, 1), 0);
	assert_true(is_in_memory(back));
	buffer_pool_trim(pool);
	assert_false(is_in_memory(back));
	assert_int_equal(out[0], 1);
	assert_ptr_equal(buffer_pool_claim(pool), back);
	assert_true(all_zero(back));
	buffer_pool_destroy(pool);
}

static void forked_child_does_not_have_the_buffers(void **state)
{
	struct buffer_pool *pool = buffer_pool_create(BUFFER_POOL_MAX, BUFFER_POOL_BYTES);
	uint8_t *buffer = buffer_pool_claim(pool);
	int status;

	(void)state;
	buffer[0] = 1;
	pid_t child = fork();
	if (child == 0) {
		unsigned char page;

		_exit(mincore(buffer, 4096, &page) < 0 && errno == ENOMEM ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	buffer_pool_destroy(pool);
}

static void small_pool_has_few_small_buffers(void **state)
{
	const uint32_t bytes = BUFFER_POOL_BYTES_MIN;
	struct buffer_pool *pool = buffer_pool_create(BUFFER_POOL_MIN, bytes);
	uint8_t *first = buffer_pool_claim(pool), *last = first;

	(void)state;
	assert_int_equal(buffer_pool_bytes(pool), bytes);
	for (uint32_t i = 1; i < BUFFER_POOL_MIN; i++) {
		last = buffer_pool_claim(pool);
		assert_non_null(last);
		last[0] = last[bytes - 1] = 1;
	}
	assert_null(buffer_pool_claim(pool));
	assert_int_equal(last - first, (BUFFER_POOL_MIN - 1) * bytes);
	assert_int_equal(buffer_pool_give_back(pool, last, bytes), 0);
	assert_int_equal(buffer_pool_give_back(pool, last + bytes, 0), -EINVAL);
	buffer_pool_reclaim(pool);
	assert_ptr_equal(buffer_pool_claim(pool), first);
	buffer_pool_destroy(pool);
}

static void foreign_buffer_is_refused(void **state)
{
	struct buffer_pool *pool = buffer_pool_create(BUFFER_POOL_MAX, BUFFER_POOL_BYTES);
	uint8_t *buffer = buffer_pool_claim(pool), other;

	(void)state;
	assert_int_equal(buffer_pool_give_back(pool, buffer + 8, 0), -EINVAL);
	assert_int_equal(buffer_pool_give_back(pool, &other, 0), -EINVAL);
	assert_int_equal(buffer_pool_give_back(
				 pool, buffer + (size_t)BUFFER_POOL_MAX * BUFFER_POOL_BYTES, 0),
			 -EINVAL);
	buffer_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_are_zeroed_and_distinct),
		cmocka_unit_test(used_bytes_are_zeroed_when_a_buffer_comes_back),
		cmocka_unit_test(pool_grows_to_its_limit_and_then_says_so),
		cmocka_unit_test(pool_says_when_it_becomes_crowded_and_not_too_often),
		cmocka_unit_test(only_what_was_much_used_goes_back_to_the_system),
		cmocka_unit_test(trim_takes_the_memory_of_what_is_not_out),
		cmocka_unit_test(forked_child_does_not_have_the_buffers),
		cmocka_unit_test(small_pool_has_few_small_buffers),
		cmocka_unit_test(foreign_buffer_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
