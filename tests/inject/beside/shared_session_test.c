/* When another's session begins and is over, by its calls of the activity API, against a CUPTI that does nothing. */
#include "inject/beside/shared_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/cupti/cupti_library.h"

#define KERNELS CUPTI_ABI_KIND_CONCURRENT_KERNEL
#define COPIES  CUPTI_ABI_KIND_MEMCPY

static struct {
	int registers, enable;
	uint32_t nr_registered, nr_flushed;
	uint32_t nr_lent, nr_flushed_soon; /* what the guest was asked for */
	uint32_t nr_lent_before;           /* the last registration */
	bool on[64];
	bool was_on; /* in the last flush */
	cupti_buffer_complete_fn *complete;
} fake;

static int fake_register(cupti_buffer_request_fn *request, cupti_buffer_complete_fn *complete)
{
	(void)request;
	fake.nr_lent_before = fake.nr_lent;
	fake.nr_registered++;
	fake.complete = complete;
	return fake.registers;
}

static int fake_enable(uint32_t kind)
{
	if (kind < 64)
		fake.on[kind] = true;
	return fake.enable;
}

static int fake_disable(uint32_t kind)
{
	if (kind < 64)
		fake.on[kind] = false;
	return CUPTI_ABI_SUCCESS;
}

static int fake_flush(uint32_t flag)
{
	(void)flag;
	fake.nr_flushed++;
	fake.was_on = shared_session_is_on();
	return CUPTI_ABI_SUCCESS;
}

static int fake_clock(cupti_timestamp_fn *read)
{
	(void)read;
	return CUPTI_ABI_SUCCESS;
}

static uint64_t read_clock(void)
{
	return 1;
}

static const struct cupti_library library = {
	.activity_register_callbacks = fake_register,
	.activity_enable = fake_enable,
	.activity_disable = fake_disable,
	.activity_flush_all = fake_flush,
	.activity_register_timestamp = fake_clock,
};

static struct {
	int (*registers)(cupti_buffer_request_fn *request, cupti_buffer_complete_fn *complete);
	int (*enable)(uint32_t kind);
	int (*disable)(uint32_t kind);
	int (*flush)(uint32_t flag);
	int (*clock)(cupti_timestamp_fn *read);
} slot;

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	(void)buffer, (void)size, (void)max_records;
}

static void complete(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
		     size_t valid_size)
{
	(void)context, (void)stream_id, (void)buffer, (void)size, (void)valid_size;
}

static void note_lend(void)
{
	fake.nr_lent++;
}

static void note_flush(void)
{
	fake.nr_flushed_soon++;
}

static int set_up(void **state)
{
	const struct shared_session_parts parts = {.lend = note_lend, .flush_soon = note_flush};
	struct import_slot slots[SHARED_SESSION_SLOTS];

	(void)state;
	memset(&fake, 0, sizeof(fake));
	shared_session_init(&parts);
	shared_session_reset();
	shared_session_slots(&library, slots);
	*(void **)&slot.registers = slots[0].to;
	*(void **)&slot.enable = slots[1].to;
	*(void **)&slot.disable = slots[2].to;
	*(void **)&slot.flush = slots[3].to;
	*(void **)&slot.clock = slots[4].to;
	return 0;
}

static void begin(void)
{
	assert_int_equal(slot.registers(request, complete), CUPTI_ABI_SUCCESS);
	assert_int_equal(slot.enable(KERNELS), CUPTI_ABI_SUCCESS);
	assert_int_equal(slot.enable(COPIES), CUPTI_ABI_SUCCESS);
}

static void session_lasts_until_the_flush_after_its_last_kind(void **state)
{
	(void)state;
	assert_false(shared_session_is_on());
	begin();
	assert_true(shared_session_is_on());
	assert_true(shared_session_has_kind(KERNELS));
	slot.flush(0);
	assert_true(shared_session_is_on());
	slot.disable(KERNELS);
	slot.flush(0);
	assert_true(shared_session_is_on());
	assert_false(shared_session_has_kind(KERNELS));
	slot.disable(COPIES);
	assert_true(shared_session_is_on()); /* its records are not all there */
	slot.flush(1);
	assert_true(fake.was_on);
	assert_false(shared_session_is_on());
	assert_true(shared_session_has_callbacks());
	shared_session_take_back();
	assert_false(shared_session_has_callbacks());
	assert_int_equal(fake.nr_flushed, 3);
	assert_false(fake.on[KERNELS] || fake.on[COPIES]);
}

static void who_registers_once_has_callbacks_again_at_the_next_session(void **state)
{
	(void)state;
	begin();
	slot.disable(KERNELS);
	slot.disable(COPIES);
	slot.flush(1);
	shared_session_take_back();
	fake.complete = NULL;
	assert_int_equal(slot.enable(KERNELS), CUPTI_ABI_SUCCESS);
	assert_int_equal(fake.nr_registered, 2);
	assert_ptr_equal(fake.complete, complete);
	assert_true(shared_session_is_on());
	assert_int_equal(slot.enable(COPIES), CUPTI_ABI_SUCCESS);
	assert_int_equal(fake.nr_registered, 2);
}

static void flush_before_the_first_kind_ends_nothing(void **state)
{
	(void)state;
	assert_int_equal(slot.registers(request, complete), CUPTI_ABI_SUCCESS);
	slot.flush(0);
	assert_true(shared_session_is_on());
	assert_int_equal(slot.enable(KERNELS), CUPTI_ABI_SUCCESS);
	assert_true(shared_session_is_on());
}

static void kinds_without_callbacks_are_no_session(void **state)
{
	(void)state;
	assert_int_equal(slot.enable(KERNELS), CUPTI_ABI_SUCCESS);
	assert_true(fake.on[KERNELS]);
	assert_false(shared_session_is_on());
	slot.disable(KERNELS);
	slot.flush(0);
	assert_false(shared_session_has_callbacks());
}

static void what_cupti_refuses_is_no_session(void **state)
{
	(void)state;
	fake.registers = CUPTI_ABI_NOT_INITIALIZED;
	assert_int_equal(slot.registers(request, complete), CUPTI_ABI_NOT_INITIALIZED);
	assert_false(shared_session_has_callbacks());
	fake.registers = CUPTI_ABI_SUCCESS;
	fake.enable = CUPTI_ABI_NOT_SUPPORTED;
	assert_int_equal(slot.registers(request, complete), CUPTI_ABI_SUCCESS);
	assert_int_equal(slot.enable(KERNELS), CUPTI_ABI_NOT_SUPPORTED);
	assert_false(shared_session_has_kind(KERNELS));
	/* A kind that is not kept note of is CUPTI's matter. */
	fake.enable = CUPTI_ABI_SUCCESS;
	assert_int_equal(slot.enable(UINT32_MAX), CUPTI_ABI_SUCCESS);
	assert_false(shared_session_has_kind(UINT32_MAX));
	assert_int_equal(slot.disable(UINT32_MAX), CUPTI_ABI_SUCCESS);
}

static void end_of_cupti_ends_sessions(void **state)
{
	(void)state;
	begin();
	shared_session_reset();
	assert_false(shared_session_is_on());
	assert_int_equal(slot.enable(KERNELS), CUPTI_ABI_SUCCESS);
	assert_int_equal(fake.nr_registered, 1);
}

static void records_are_lent_before_a_session_and_fetched_after_it(void **state)
{
	(void)state;
	begin();
	assert_int_equal(fake.nr_lent_before, 1);
	assert_int_equal(fake.nr_lent, 1);
	slot.disable(KERNELS);
	slot.disable(COPIES);
	assert_int_equal(fake.nr_flushed_soon, 0);
	slot.flush(1);
	assert_int_equal(fake.nr_flushed_soon, 1);
	slot.flush(1); /* of a session that is over */
	shared_session_take_back();
	slot.flush(1);
	assert_int_equal(fake.nr_lent, 1);
}

static void clock_of_another_lends_the_records_that_there_are(void **state)
{
	(void)state;
	assert_int_equal(slot.clock(read_clock), CUPTI_ABI_SUCCESS);
	assert_int_equal(fake.nr_lent, 1);
	assert_int_equal(slot.clock(NULL), CUPTI_ABI_SUCCESS);
	begin();
	assert_int_equal(fake.nr_lent, 2);
	assert_int_equal(slot.clock(read_clock), CUPTI_ABI_SUCCESS);
	assert_int_equal(fake.nr_lent, 2);
	slot.disable(KERNELS);
	slot.disable(COPIES);
	slot.flush(1);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(session_lasts_until_the_flush_after_its_last_kind),
		TEST(records_are_lent_before_a_session_and_fetched_after_it),
		TEST(clock_of_another_lends_the_records_that_there_are),
		TEST(who_registers_once_has_callbacks_again_at_the_next_session),
		TEST(flush_before_the_first_kind_ends_nothing),
		TEST(kinds_without_callbacks_are_no_session),
		TEST(what_cupti_refuses_is_no_session),
		TEST(end_of_cupti_ends_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
