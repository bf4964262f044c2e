#include "proto/ring/ring_guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE (4u << 12)

/* Memory that ended behind the back of whoever mapped it: each access is a fault. */
static uint8_t *gone_memory(void)
{
	int fd = memfd_create("gone", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, SIZE), 0);
	uint8_t *base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(base != MAP_FAILED);
	memset(base, 'x', SIZE);
	assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
	return base;
}

static void a_fault_makes_zeros_of_what_is_guarded(void **state)
{
	volatile uint8_t *base = gone_memory();
	struct ring_guard guard;

	(void)state;
	ring_guard_add(&guard, (uint8_t *)base, SIZE);
	assert_false(ring_guard_faulted(&guard));
	assert_int_equal(base[5000], 0);
	assert_true(ring_guard_faulted(&guard));
	base[100] = 1; /* goes nowhere */
	ring_guard_remove(&guard);
	munmap((void *)base, SIZE);
}

static void each_guard_is_for_its_own_memory(void **state)
{
	volatile uint8_t *one = gone_memory(), *other = gone_memory();
	struct ring_guard guards[2];

	(void)state;
	ring_guard_add(&guards[0], (uint8_t *)one, SIZE);
	ring_guard_add(&guards[1], (uint8_t *)other, SIZE);
	assert_int_equal(one[0], 0);
	assert_true(ring_guard_faulted(&guards[0]));
	assert_false(ring_guard_faulted(&guards[1]));
	other[SIZE - 1] = 1;
	assert_true(ring_guard_faulted(&guards[1]));
	ring_guard_remove(&guards[0]);
	ring_guard_remove(&guards[1]);
	munmap((void *)one, SIZE);
	munmap((void *)other, SIZE);
}

static int end_of(void (*body)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		signal(SIGBUS, SIG_DFL); /* cmocka has a handler, and so have sanitizers */
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch_unguarded(void)
{
	volatile uint8_t *base = gone_memory();
	struct ring_guard guard;

	ring_guard_add(&guard, (uint8_t *)base, SIZE / 2);
	base[SIZE - 1] = 1;
}

static void touch_removed(void)
{
	volatile uint8_t *base = gone_memory();
	struct ring_guard guard;

	ring_guard_add(&guard, (uint8_t *)base, SIZE);
	ring_guard_remove(&guard);
	base[0] = 1;
}

static void send_signal(void)
{
	struct ring_guard guard;

	ring_guard_add(&guard, gone_memory(), SIZE);
	raise(SIGBUS);
}

static void faults_elsewhere_end_the_process(void **state)
{
	(void)state;
	assert_int_equal(end_of(touch_unguarded), SIGBUS);
	assert_int_equal(end_of(touch_removed), SIGBUS);
	assert_int_equal(end_of(send_signal), SIGBUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_makes_zeros_of_what_is_guarded),
		cmocka_unit_test(each_guard_is_for_its_own_memory),
		cmocka_unit_test(faults_elsewhere_end_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
