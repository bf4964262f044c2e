#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/kernel/address_stack.h"
#include "node-agent/symbols/kernel_symbols.h"
#include "node-agent/kernel/wait_reasons.h"

#define BASE 0xffffffff81000000ull

/* A kernel whose functions are these, and an event in them, leaf first; two user frames before. */
static struct kernel_symbols *stand_in(const char *const *functions, struct sample_event *event)
{
	char text[4096] = "";
	struct kernel_symbols *symbols;
	uint32_t nr = 0;

	memset(event, 0, sizeof(*event));
	for (; functions[nr]; nr++) {
		uint64_t start = BASE + nr * 0x100ull;

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%llx t %s\n",
			 (unsigned long long)start, functions[nr]);
		event->addresses[2 + nr] = start + 8;
	}
	event->user_size = 2 * sizeof(uint64_t);
	event->kernel_size = (uint16_t)(nr * sizeof(uint64_t));
	assert_int_equal(kernel_symbols_parse(text, strlen(text), &symbols), 0);
	return symbols;
}

/* expected: NULL is none. */
static void check_reason(struct wait_reasons *reasons, const struct sample_event *event,
			 const char *expected)
{
	const char *reason = wait_reasons_find(reasons, event);

	if (expected)
		assert_string_equal(reason, expected);
	else
		assert_null(reason);
}

static void check(const char *const *functions, const char *expected)
{
	struct sample_event event;
	struct kernel_symbols *symbols = stand_in(functions, &event);
	struct wait_reasons *reasons = wait_reasons_create(symbols);
	struct wait_reasons *nameless = wait_reasons_create(NULL);

	check_reason(reasons, &event, expected);
	check_reason(reasons, &event, expected); /* as it is remembered */
	check_reason(nameless, &event, NULL);
	event.flags = SAMPLE_EVENT_PREEMPTED;
	check_reason(reasons, &event, "preempted");
	check_reason(nameless, &event, "preempted");
	wait_reasons_destroy(nameless);
	wait_reasons_destroy(reasons);
	kernel_symbols_destroy(symbols);
}

#define CHECK(expected, ...) check((const char *const[]){__VA_ARGS__, NULL}, expected)

static void the_innermost_function_that_tells_decides(void **state)
{
	(void)state;
	CHECK("futex", "__schedule", "schedule", "futex_do_wait", "do_futex", "__x64_sys_futex");
	CHECK("pipe", "schedule", "pipe_read", "vfs_read", "ksys_read", "do_syscall_64");
	CHECK("pipe", "schedule", "anon_pipe_read", "vfs_read");
	CHECK("poll", "schedule", "schedule_hrtimeout_range", "ep_poll", "do_epoll_wait");
	CHECK("sleep", "schedule", "do_nanosleep", "hrtimer_nanosleep");
	CHECK("io", "schedule", "io_schedule", "folio_wait_bit_common", "filemap_read");
	CHECK("io", "schedule", "folio_wait_bit_common", "handle_mm_fault", "exc_page_fault");
	CHECK("page fault", "schedule", "__handle_mm_fault", "handle_mm_fault", "exc_page_fault");
	CHECK("lock", "schedule", "rwsem_down_read_slowpath", "down_read", "do_user_addr_fault");
	CHECK("child", "schedule", "do_wait", "kernel_wait4", "__do_sys_wait4");
	CHECK("socket", "schedule", "unix_stream_read_generic", "sock_recvmsg");
}

static void the_gpu_driver_waits_by_the_kernels_own_means(void **state)
{
	(void)state;
	CHECK("gpu", "schedule", "do_poll", "nvidia_poll", "do_sys_poll");
	CHECK("gpu", "schedule", "schedule_timeout", "down_timeout", "os_acquire_semaphore",
	      "nvidia_unlocked_ioctl", "__x64_sys_ioctl");
	CHECK("gpu", "schedule", "rwsem_down_read_slowpath", "uvm_va_space_down_read", "uvm_ioctl");
}

static void the_system_call_is_named_where_nothing_else_tells(void **state)
{
	(void)state;
	CHECK("ioctl", "schedule", "some_driver_wait", "some_driver_ioctl", "__x64_sys_ioctl",
	      "do_syscall_64");
	CHECK(NULL, "schedule", "some_kernel_thread");
}

static void the_schedulers_functions_go(void **state)
{
	static const char *const functions[] = {"bpf_prog_1",
						"__traceiter_sched_switch",
						"__schedule",
						"schedule",
						"futex_do_wait",
						"do_futex",
						NULL};
	struct sample_event event;
	struct kernel_symbols *symbols = stand_in(functions, &event);
	struct address_list list = {.kernel = (const uint64_t *)event.addresses + 2,
				    .nr_kernel = 6};

	struct wait_reasons *reasons = wait_reasons_create(symbols);
	struct wait_reasons *nameless = wait_reasons_create(NULL);

	(void)state;
	wait_reasons_strip(nameless, &list);
	assert_int_equal(list.nr_kernel, 6);
	wait_reasons_strip(reasons, &list);
	assert_int_equal(list.nr_kernel, 2);
	assert_string_equal(kernel_symbols_find(symbols, list.kernel[0]), "futex_do_wait");
	list.nr_kernel = 0;
	wait_reasons_strip(reasons, &list);
	assert_int_equal(list.nr_kernel, 0);
	wait_reasons_destroy(nameless);
	wait_reasons_destroy(reasons);
	kernel_symbols_destroy(symbols);
}

/* 20,000 functions in turn, each of which drives out what was known of another. */
static void more_addresses_than_there_are_places_are_told_apart(void **state)
{
	enum { FUNCTIONS = 20000, LINE = 40 };
	static const char *const names[] = {"pipe_read", "nvidia_poll", "other", "__x64_sys_read"};
	static const char *const expected[] = {"pipe", "gpu", NULL, "read"};
	char *text = malloc((size_t)FUNCTIONS * LINE);
	struct kernel_symbols *symbols;
	struct sample_event event = {.kernel_size = sizeof(uint64_t)};
	size_t size = 0;

	(void)state;
	assert_non_null(text);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		size += (size_t)snprintf(text + size, LINE, "%llx t %s\n",
					 (unsigned long long)(BASE + i * 0x100ull), names[i % 4]);
	assert_int_equal(kernel_symbols_parse(text, size, &symbols), 0);
	struct wait_reasons *reasons = wait_reasons_create(symbols);
	for (uint32_t i = 0; i < 2 * FUNCTIONS; i++) {
		event.addresses[0] = BASE + i % FUNCTIONS * 0x100ull + 8;
		check_reason(reasons, &event, expected[i % 4]);
	}
	wait_reasons_destroy(reasons);
	kernel_symbols_destroy(symbols);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_function_that_tells_decides),
		cmocka_unit_test(the_gpu_driver_waits_by_the_kernels_own_means),
		cmocka_unit_test(the_system_call_is_named_where_nothing_else_tells),
		cmocka_unit_test(the_schedulers_functions_go),
		cmocka_unit_test(more_addresses_than_there_are_places_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
