/* Against what NVIDIA's calculator says of these configurations. */
#include "report/statistics/occupancy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct device_limits v100 = {7,     0,    80,    32,    2048,  32, 65536,
					  98304, 1024, 65536, 49152, 98304, 0};
static const struct device_limits t4 = {7,     5,    40,    32,    1024,  16, 65536,
					65536, 1024, 65536, 49152, 65536, 0};
static const struct device_limits a100 = {8,      0,    108,   32,    2048,   32,  65536,
					  167936, 1024, 65536, 49152, 166912, 1024};
static const struct device_limits rtx3090 = {8,      6,    82,    32,    1536,   16,  65536,
					     102400, 1024, 65536, 49152, 101376, 1024};
static const struct device_limits h200 = {9,      0,    132,   32,    2048,   32,  65536,
					  233472, 1024, 65536, 49152, 232448, 1024};
static const struct device_limits b200 = {10,     0,    148,   32,    2048,   32,  65536,
					  233472, 1024, 65536, 49152, 232448, 1024};
static const struct device_limits rtx5090 = {12,     0,    170,   32,    1536,   24,  65536,
					     102400, 1024, 65536, 49152, 101376, 1024};

struct row {
	const struct device_limits *device;
	uint64_t threads;
	uint32_t registers;
	uint64_t shared_bytes;
	uint32_t blocks, warps, limits;
};

#define W OCCUPANCY_WARPS
#define B OCCUPANCY_BLOCKS
#define R OCCUPANCY_REGISTERS
#define S OCCUPANCY_SHARED

static const struct row rows[] = {
	/* Nothing but threads. */
	{&h200, 1024, 32, 0, 2, 64, W | R},
	{&h200, 256, 32, 0, 8, 64, W | R},
	{&h200, 256, 16, 0, 8, 64, W},
	{&h200, 32, 16, 0, 32, 32, B},
	{&h200, 64, 32, 0, 32, 64, W | B | R},
	{&rtx3090, 1024, 32, 0, 1, 32, W},
	{&rtx3090, 512, 32, 0, 3, 48, W},
	{&t4, 1024, 64, 0, 1, 32, W | R},
	{&rtx5090, 64, 16, 0, 24, 48, W | B},
	/* Warps that are not full. */
	{&h200, 33, 16, 0, 32, 64, W | B},
	{&h200, 100, 16, 0, 16, 64, W},
	{&h200, 1, 16, 0, 32, 32, B},
	/* Registers: 256 at a time, a quarter of them to each partition. */
	{&h200, 256, 33, 0, 6, 48, R},
	{&h200, 256, 40, 0, 6, 48, R},
	{&h200, 256, 64, 0, 4, 32, R},
	{&h200, 256, 128, 0, 2, 16, R},
	{&h200, 256, 255, 0, 1, 8, R},
	{&h200, 1024, 64, 0, 1, 32, R},
	{&h200, 1024, 65, 0, 0, 0, R},
	{&h200, 96, 168, 0, 4, 12, R},
	{&a100, 128, 72, 0, 7, 28, R},
	{&v100, 384, 48, 0, 3, 36, R},
	{&b200, 256, 128, 0, 2, 16, R},
	/* Shared memory: the driver's share, and 128 bytes (256 before 8.0) at a time. */
	{&h200, 128, 16, 232448, 1, 4, S},
	{&h200, 128, 16, 232449, 0, 0, S},
	{&h200, 128, 16, 115712, 2, 8, S},
	{&h200, 128, 16, 115713, 1, 4, S},
	{&h200, 128, 16, 13568, 16, 64, W | S},
	{&h200, 128, 16, 13569, 15, 60, S},
	{&a100, 256, 32, 49152, 3, 24, S},
	{&a100, 256, 32, 166912, 1, 8, S},
	{&v100, 256, 32, 32768, 3, 24, S},
	{&v100, 256, 32, 24577, 3, 24, S},
	{&v100, 256, 32, 24576, 4, 32, S},
	{&t4, 128, 32, 16384, 4, 16, S},
	{&rtx3090, 256, 32, 24576, 4, 32, S},
	{&rtx5090, 256, 40, 101376, 1, 8, S},
	/* Too many threads in a block. */
	{&h200, 1025, 16, 0, 0, 0, W},
	{&h200, UINT32_MAX, 16, 0, 0, 0, W | R},
};

static void known_configurations_have_their_occupancy(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		const struct occupancy_launch launch = {row->threads, row->registers,
							row->shared_bytes};
		struct occupancy occupancy;

		assert_int_equal(occupancy_of(row->device, &launch, &occupancy), 0);
		if (occupancy.blocks != row->blocks || occupancy.warps != row->warps ||
		    occupancy.limits != row->limits)
			fail_msg("row %d: %u blocks, %u warps, limits %u", (int)i, occupancy.blocks,
				 occupancy.warps, occupancy.limits);
		assert_int_equal(occupancy.warps_max, row->device->sm_threads / 32);
	}
}

static void what_is_not_known_has_none(void **state)
{
	const struct device_limits kepler = {.compute_major = 3,
					     .compute_minor = 5,
					     .warp_size = 32,
					     .sm_threads = 2048,
					     .sm_blocks = 16,
					     .sm_registers = 65536,
					     .block_threads = 1024,
					     .block_registers = 65536};
	const struct occupancy_launch launch = {256, 32, 0}, empty = {0, 32, 0};
	struct occupancy occupancy = {.blocks = 7};

	(void)state;
	assert_int_equal(occupancy_of(&(struct device_limits){0}, &launch, &occupancy), -ENOTSUP);
	assert_int_equal(occupancy.blocks, 0);
	assert_int_equal(occupancy_of(&kepler, &launch, &occupancy), -ENOTSUP);
	assert_int_equal(occupancy_of(&h200, &empty, &occupancy), -EINVAL);
}

static void limits_are_named_one_after_another(void **state)
{
	char text[64];

	(void)state;
	assert_string_equal(occupancy_limits_text(0, text), "");
	assert_string_equal(occupancy_limits_text(S, text), "shared memory");
	assert_string_equal(occupancy_limits_text(W | B | R | S, text),
			    "warps, blocks, registers, shared memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_configurations_have_their_occupancy),
		cmocka_unit_test(what_is_not_known_has_none),
		cmocka_unit_test(limits_are_named_one_after_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
