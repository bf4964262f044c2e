#include "unwind/process_memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <cmocka.h>

#define PAGE 4096u

static int forbidden; /* errno of process_vm_readv(); 0: it works */

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
				const struct iovec *remote, unsigned long nr_remote,
				unsigned long flags);
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
				const struct iovec *remote, unsigned long nr_remote,
				unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
				const struct iovec *remote, unsigned long nr_remote,
				unsigned long flags)
{
	if (forbidden == 0)
		return __real_process_vm_readv(pid, local, nr_local, remote, nr_remote, flags);
	errno = forbidden;
	return -1;
}

static void check_reading(void)
{
	const size_t size = 3u << 20;
	uint8_t *copy = calloc(1, size + PAGE); /* first: it might fill the hole */
	uint8_t *memory =
		mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t address = (uint64_t)(uintptr_t)memory;

	assert_ptr_not_equal(memory, MAP_FAILED);
	for (size_t i = 0; i < size; i++)
		memory[i] = (uint8_t)(i * 31 >> 3);
	assert_int_equal(munmap(memory + size, PAGE), 0);
	assert_int_equal(process_memory_read(address, copy, size), size);
	assert_memory_equal(copy, memory, size);
	errno = 77;
	assert_int_equal(process_memory_read(address + size - 10, copy, 100), 10);
	assert_memory_equal(copy, memory + size - 10, 10);
	assert_int_equal(process_memory_read(address + size, copy, 100), 0);
	assert_int_equal(process_memory_read(16, copy, 100), 0);
	assert_int_equal(process_memory_read(UINT64_MAX - 3, copy, 100), 0);
	assert_int_equal(errno, 77);
	free(copy);
	munmap(memory, size);
}

static void readable_bytes_are_copied_up_to_the_first_that_is_not(void **state)
{
	(void)state;
	forbidden = 0;
	check_reading();
}

static void forbidden_call_is_replaced_by_the_memory_file(void **state)
{
	(void)state;
	forbidden = EPERM;
	check_reading();
	forbidden = ENOSYS;
	check_reading();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readable_bytes_are_copied_up_to_the_first_that_is_not),
		cmocka_unit_test(forbidden_call_is_replaced_by_the_memory_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
