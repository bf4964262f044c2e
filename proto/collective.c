#include "collective.h"

static const struct {
	const char *name;
	uint32_t size;
} types[COLLECTIVE_TYPES] = {
	[COLLECTIVE_INT8] = {"int8", 1},
	[COLLECTIVE_UINT8] = {"uint8", 1},
	[COLLECTIVE_INT32] = {"int32", 4},
	[COLLECTIVE_UINT32] = {"uint32", 4},
	[COLLECTIVE_INT64] = {"int64", 8},
	[COLLECTIVE_UINT64] = {"uint64", 8},
	[COLLECTIVE_FLOAT16] = {"float16", 2},
	[COLLECTIVE_FLOAT32] = {"float32", 4},
	[COLLECTIVE_FLOAT64] = {"float64", 8},
	[COLLECTIVE_BFLOAT16] = {"bfloat16", 2},
	[COLLECTIVE_FLOAT8_E4M3] = {"float8_e4m3", 1},
	[COLLECTIVE_FLOAT8_E5M2] = {"float8_e5m2", 1},
};

uint64_t collective_hash(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * COLLECTIVE_HASH_PRIME;
	return hash;
}

uint64_t collective_key(const void *unique_id)
{
	uint64_t hash =
		collective_hash(COLLECTIVE_HASH_START, unique_id, COLLECTIVE_UNIQUE_ID_SIZE);

	return hash ? hash : 1;
}

uint32_t collective_type_size(uint32_t data_type)
{
	return data_type < COLLECTIVE_TYPES ? types[data_type].size : 0;
}

uint64_t collective_bytes(uint32_t function, uint32_t data_type, uint64_t count)
{
	return function == COLLECTIVE_GROUP ? 0 : count * collective_type_size(data_type);
}

const char *collective_function_name(uint32_t function)
{
	static const char *const names[COLLECTIVE_FUNCTIONS] = {
		[COLLECTIVE_ALL_REDUCE] = "all_reduce",
		[COLLECTIVE_BROADCAST] = "broadcast",
		[COLLECTIVE_REDUCE] = "reduce",
		[COLLECTIVE_ALL_GATHER] = "all_gather",
		[COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
		[COLLECTIVE_SEND] = "send",
		[COLLECTIVE_RECV] = "recv",
		[COLLECTIVE_ALL_TO_ALL] = "all_to_all",
		[COLLECTIVE_GATHER] = "gather",
		[COLLECTIVE_SCATTER] = "scatter",
		[COLLECTIVE_GROUP] = "group",
	};

	return function < COLLECTIVE_FUNCTIONS ? names[function] : "unknown";
}

const char *collective_type_name(uint32_t data_type)
{
	if (data_type == COLLECTIVE_TYPE_NONE)
		return "";
	return data_type < COLLECTIVE_TYPES ? types[data_type].name : "unknown";
}

const char *collective_op_name(uint32_t reduce_op)
{
	static const char *const names[COLLECTIVE_OP_AVG + 1] = {"sum", "prod", "max", "min",
								 "avg"};

	if (reduce_op == COLLECTIVE_OP_NONE)
		return "";
	if (reduce_op == COLLECTIVE_OP_CUSTOM)
		return "custom";
	return reduce_op <= COLLECTIVE_OP_AVG ? names[reduce_op] : "unknown";
}

const char *communicator_origin_name(uint32_t origin)
{
	static const char *const names[COMMUNICATOR_ORIGINS] = {
		[COMMUNICATOR_UNIQUE_ID] = "unique id",
		[COMMUNICATOR_SPLIT] = "split",
		[COMMUNICATOR_INIT_ALL] = "init all",
		[COMMUNICATOR_MIDDLE] = "seen in the middle",
		[COMMUNICATOR_SHRINK] = "shrink",
		[COMMUNICATOR_PROFILER] = "profiler",
	};

	return origin < COMMUNICATOR_ORIGINS ? names[origin] : "unknown";
}
