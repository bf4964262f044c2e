#include "memory_account_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

int memory_account_fixture_set_up(void **state)
{
	struct memory_account_fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->options.track_changes = true;
	fixture->account = memory_account_create(&fixture->options);
	*state = fixture;
	return fixture->account ? 0 : -1;
}

int memory_account_fixture_tear_down(void **state)
{
	struct memory_account_fixture *fixture = *state;

	memory_account_destroy(fixture->account);
	free(fixture);
	return 0;
}

void memory_account_fixture_limit(struct memory_account_fixture *fixture,
				  struct memory_account_options options)
{
	fixture->options = options;
	fixture->options.track_changes = true;
	memory_account_destroy(fixture->account);
	fixture->account = memory_account_create(&fixture->options);
	assert_non_null(fixture->account);
}

struct memory_event memory_account_fixture_event(uint64_t time_ns, uint64_t address)
{
	return (struct memory_event){
		.time_ns = time_ns,
		.address = address,
		.correlation_id = (uint32_t)time_ns,
		.stack_id = 1,
		.tid = 7,
		.kind = MEMORY_KIND_DEVICE,
		.matched = 1,
	};
}

void memory_account_fixture_add(struct memory_account_fixture *fixture,
				const struct memory_event *event)
{
	assert_int_equal(memory_account_add(fixture->account, event), 0);
}

void memory_account_fixture_alloc(struct memory_account_fixture *fixture, uint64_t time_ns,
				  uint64_t address, uint64_t bytes, uint32_t stack_id)
{
	struct memory_event event = memory_account_fixture_event(time_ns, address);

	event.bytes = bytes;
	event.stack_id = stack_id;
	memory_account_fixture_add(fixture, &event);
}

void memory_account_fixture_free(struct memory_account_fixture *fixture, uint64_t time_ns,
				 uint64_t address)
{
	struct memory_event event = memory_account_fixture_event(time_ns, address);

	event.is_free = 1;
	memory_account_fixture_add(fixture, &event);
}

void memory_account_fixture_finish(struct memory_account_fixture *fixture)
{
	assert_int_equal(memory_account_finish(fixture->account), 0);
	assert_int_equal(memory_account_waiting(fixture->account), 0);
}

struct memory_sums memory_account_fixture_sums(const struct memory_account_fixture *fixture,
					       uint32_t device_id, enum memory_space space)
{
	uint32_t count;
	const struct memory_sums *sums = memory_account_sums(fixture->account, &count);

	for (uint32_t i = 0; i < count; i++)
		if (sums[i].device_id == device_id && sums[i].space == space)
			return sums[i];
	return (struct memory_sums){0};
}

struct memory_sums memory_account_fixture_device(const struct memory_account_fixture *fixture)
{
	return memory_account_fixture_sums(fixture, 0, MEMORY_SPACE_DEVICE);
}

struct memory_row memory_account_fixture_row(const struct memory_account_fixture *fixture,
					     uint32_t stack_id)
{
	uint32_t count;
	const struct memory_row *rows = memory_account_rows(fixture->account, &count);
	struct memory_row sum = {0};

	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].key.stack_id != stack_id)
			continue;
		sum.live_count += rows[i].live_count;
		sum.live_bytes += rows[i].live_bytes;
		sum.peak_count += rows[i].peak_count;
		sum.peak_bytes += rows[i].peak_bytes;
	}
	return sum;
}
