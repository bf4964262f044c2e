#include "record_ring_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/definition.h"

const struct record_ring_sizes record_ring_fixture_small = {
	.launch_lanes = 4,
	.launch_lane_records = 64,
	.activity_records = 64,
	.definition_bytes = 2 * DEFINITION_SIZE_MAX,
	.stacks = 16,
	.stack_words = 256,
	.codes = 4,
	.code_words = 64,
};

struct record_ring_fixture record_ring_fixture_open(const struct record_ring_sizes *sizes)
{
	struct record_ring_fixture pair;

	assert_int_equal(record_ring_create(sizes, &pair.guest, &pair.fd), 0);
	assert_int_equal(record_ring_map(pair.fd, &pair.agent), 0);
	return pair;
}

void record_ring_fixture_close(struct record_ring_fixture *pair)
{
	record_ring_unmap(pair->agent);
	record_ring_destroy(pair->guest);
	close(pair->fd);
}
