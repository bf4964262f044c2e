#include "occupancy.h"

#include <errno.h>
#include <string.h>

#define REGISTERS_OF_WARP 256u /* the unit in which a warp gets registers */
#define REGISTERS_MAX     255u /* of one thread */
#define PARTITIONS        4u   /* of a multiprocessor */
#define UNLIMITED         UINT32_MAX

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint32_t blocks_by_registers(const struct device_limits *limits,
				    const struct occupancy_launch *launch, uint64_t warps)
{
	uint64_t of_warp =
		round_up((uint64_t)launch->registers * limits->warp_size, REGISTERS_OF_WARP);

	if (of_warp == 0)
		return UNLIMITED;
	/* The hardware admits a block as if all partitions gave it equally many registers. */
	if (launch->registers > REGISTERS_MAX ||
	    of_warp * round_up(warps, PARTITIONS) > limits->block_registers)
		return 0;
	return (uint32_t)(limits->sm_registers / PARTITIONS / of_warp * PARTITIONS / warps);
}

static uint32_t blocks_by_shared(const struct device_limits *limits,
				 const struct occupancy_launch *launch)
{
	uint64_t unit = limits->compute_major >= 8 ? 128 : 256;
	uint64_t bytes = round_up(launch->shared_bytes + limits->block_reserved_bytes, unit);
	uint64_t most = limits->block_shared_optin_bytes > limits->block_shared_bytes
				? limits->block_shared_optin_bytes
				: limits->block_shared_bytes;

	if (bytes == 0)
		return UNLIMITED;
	if (bytes > round_up(most + limits->block_reserved_bytes, unit))
		return 0;
	return (uint32_t)(limits->sm_shared_bytes / bytes);
}

int occupancy_of(const struct device_limits *limits, const struct occupancy_launch *launch,
		 struct occupancy *occupancy)
{
	*occupancy = (struct occupancy){0};
	if (limits->compute_major < 7 || !limits->warp_size || !limits->sm_threads ||
	    !limits->sm_blocks || !limits->sm_registers || !limits->block_registers)
		return -ENOTSUP;
	if (launch->block_threads == 0)
		return -EINVAL;

	uint64_t warps = round_up(launch->block_threads, limits->warp_size) / limits->warp_size;
	uint32_t warps_max = limits->sm_threads / limits->warp_size;
	const struct {
		enum occupancy_limit limit;
		uint32_t blocks;
	} bounds[] = {
		{OCCUPANCY_WARPS,
		 launch->block_threads > limits->block_threads ? 0 : (uint32_t)(warps_max / warps)},
		{OCCUPANCY_BLOCKS, limits->sm_blocks},
		{OCCUPANCY_REGISTERS, blocks_by_registers(limits, launch, warps)},
		{OCCUPANCY_SHARED, blocks_by_shared(limits, launch)},
	};

	occupancy->blocks = UNLIMITED;
	occupancy->warps_max = warps_max;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		if (bounds[i].blocks > occupancy->blocks)
			continue;
		if (bounds[i].blocks < occupancy->blocks)
			occupancy->limits = 0;
		occupancy->blocks = bounds[i].blocks;
		occupancy->limits |= bounds[i].limit;
	}
	occupancy->warps = (uint32_t)(occupancy->blocks * warps);
	return 0;
}

const char *occupancy_limits_text(uint32_t limits, char *text)
{
	static const struct {
		enum occupancy_limit limit;
		const char *name;
	} names[] = {
		{OCCUPANCY_WARPS, "warps"},
		{OCCUPANCY_BLOCKS, "blocks"},
		{OCCUPANCY_REGISTERS, "registers"},
		{OCCUPANCY_SHARED, "shared memory"},
	};

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(limits & names[i].limit))
			continue;
		if (text[0])
			strcat(text, ", ");
		strcat(text, names[i].name);
	}
	return text;
}
