#include "memory_kind.h"

static const struct {
	const char *name;
	enum memory_space space;
} kinds[MEMORY_KINDS] = {
	[MEMORY_KIND_UNKNOWN] = {"unknown", MEMORY_SPACE_HOST},
	[MEMORY_KIND_PAGEABLE] = {"pageable", MEMORY_SPACE_HOST},
	[MEMORY_KIND_PINNED] = {"pinned", MEMORY_SPACE_HOST},
	[MEMORY_KIND_DEVICE] = {"device", MEMORY_SPACE_DEVICE},
	[MEMORY_KIND_ARRAY] = {"array", MEMORY_SPACE_DEVICE},
	[MEMORY_KIND_MANAGED] = {"managed", MEMORY_SPACE_MANAGED},
	[MEMORY_KIND_DEVICE_STATIC] = {"static", MEMORY_SPACE_DEVICE},
	[MEMORY_KIND_MANAGED_STATIC] = {"managed static", MEMORY_SPACE_MANAGED},
	[MEMORY_KIND_POOL] = {"pool", MEMORY_SPACE_DEVICE},
};

const char *memory_kind_name(uint32_t kind)
{
	return kinds[kind < MEMORY_KINDS ? kind : MEMORY_KIND_UNKNOWN].name;
}

enum memory_space memory_kind_space(uint32_t kind)
{
	return kinds[kind < MEMORY_KINDS ? kind : MEMORY_KIND_UNKNOWN].space;
}
