#include "proto/sparse_memory.h"

#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE      4096u
#define NR_PAGES  256u
#define BYTES     (NR_PAGES * PAGE)
#define READWRITE (PROT_READ | PROT_WRITE)

static uint32_t nr_resident(void *base)
{
	unsigned char pages[NR_PAGES];
	uint32_t nr = 0;

	assert_int_equal(mincore(base, BYTES, pages), 0);
	for (uint32_t i = 0; i < NR_PAGES; i++)
		nr += pages[i] & 1;
	return nr;
}

/* Locks mappings to come. Not every process may: then mappings are not locked, and the tests hold as well. */
static void lock_future(void)
{
	(void)mlockall(MCL_FUTURE);
}

static void a_mapping_is_empty_whatever_is_locked(void **state)
{
	(void)state;
	lock_future();

	uint8_t *base = sparse_memory_map(BYTES, READWRITE);
	assert_non_null(base);
	assert_in_range(nr_resident(base), 0, 1);
	assert_int_equal(base[BYTES - 1], 0);
	base[BYTES - 1] = 1;
	assert_in_range(nr_resident(base), 1, 2);
	munmap(base, BYTES);
	munlockall();
}

static void a_file_is_shared(void **state)
{
	int fd = memfd_create("sparse", MFD_CLOEXEC);
	uint8_t byte = 0;

	(void)state;
	assert_int_equal(ftruncate(fd, BYTES), 0);
	lock_future();

	uint8_t *base = sparse_memory_map_file(BYTES, fd);
	assert_non_null(base);
	assert_in_range(nr_resident(base), 0, 1);
	base[BYTES - 1] = 7;
	assert_int_equal(pread(fd, &byte, 1, BYTES - 1), 1);
	assert_int_equal(byte, 7);
	munmap(base, BYTES);
	munlockall();
	close(fd);
}

static void what_is_opened_after_a_lock_is_empty(void **state)
{
	uint8_t *base = sparse_memory_map(BYTES, PROT_NONE);

	(void)state;
	assert_non_null(base);
	(void)mlockall(MCL_CURRENT);
	assert_int_equal(sparse_memory_open(base, BYTES / 2), 0);
	assert_int_equal(nr_resident(base), 0);
	base[BYTES / 2 - 1] = 1;
	assert_int_equal(nr_resident(base), 1);
	munmap(base, BYTES);
	munlockall();
}

static void what_cannot_be_opened_has_an_error(void **state)
{
	(void)state;
	assert_int_equal(sparse_memory_open((void *)(uintptr_t)PAGE, PAGE), -ENOMEM);
}

static void a_locked_mapping_is_cleared(void **state)
{
	uint8_t *base = sparse_memory_map(BYTES, READWRITE);

	(void)state;
	assert_non_null(base);
	for (int locked = 0; locked < 2; locked++) {
		memset(base, 'x', BYTES);
		if (locked)
			(void)mlock(base, BYTES);
		sparse_memory_clear(base, BYTES);
		assert_int_equal(nr_resident(base), 0);
		assert_int_equal(base[0] | base[BYTES - 1], 0);
	}
	munmap(base, BYTES);
}

static void a_mapping_is_replaced_by_zeros(void **state)
{
	uint8_t *base = sparse_memory_map(BYTES, READWRITE);

	(void)state;
	assert_non_null(base);
	memset(base, 'x', BYTES);
	lock_future();
	assert_true(sparse_memory_replace(base, BYTES));
	assert_in_range(nr_resident(base), 0, 1);
	assert_int_equal(base[0] | base[BYTES - 1], 0);
	base[BYTES - 1] = 1;
	munmap(base, BYTES);
	munlockall();
}

/* With a sanitizer mlockall() and munlock() do nothing, so there is no limit to try. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LIMIT_TEST cmocka_unit_test(a_limit_on_locked_memory_does_not_count),

/* In a child, without the privilege that lifts the limit: more than the limit can be mapped, which mmap() refuses. */
static int map_beyond_the_limit(void)
{
	const struct rlimit limit = {16 * PAGE, 16 * PAGE};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (setrlimit(RLIMIT_MEMLOCK, &limit) < 0 || syscall(SYS_capset, &header, none) < 0 ||
	    mlockall(MCL_FUTURE) < 0)
		return 1;
	if (mmap(NULL, BYTES, READWRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ||
	    errno != EAGAIN)
		return 2;
	return sparse_memory_map(BYTES, READWRITE) ? 0 : 3;
}

static void a_limit_on_locked_memory_does_not_count(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(map_beyond_the_limit());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
#else
#define LIMIT_TEST
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_mapping_is_empty_whatever_is_locked),
					   cmocka_unit_test(a_file_is_shared),
					   cmocka_unit_test(what_is_opened_after_a_lock_is_empty),
					   cmocka_unit_test(what_cannot_be_opened_has_an_error),
					   cmocka_unit_test(a_locked_mapping_is_cleared),
					   cmocka_unit_test(a_mapping_is_replaced_by_zeros),
					   LIMIT_TEST};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
