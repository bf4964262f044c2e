#include "report_plane.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "report_kind.h"

#include "base/error_text.h"
#include "report/resource/resource.h"

static const enum report_plane of_kind[REPORT_KINDS] = {
	[RECORD_GPU_KERNEL] = REPORT_PLANE_GPU,      [RECORD_GPU_MEMCPY] = REPORT_PLANE_GPU,
	[RECORD_GPU_MEMSET] = REPORT_PLANE_GPU,      [RECORD_GPU_GRAPH] = REPORT_PLANE_GPU,
	[RECORD_GPU_SYNC] = REPORT_PLANE_SYNC,       [RECORD_GPU_OVERHEAD] = REPORT_PLANE_OVERHEAD,
	[RECORD_GPU_UNIFIED] = REPORT_PLANE_UNIFIED, [RECORD_GPU_MODULE] = REPORT_PLANE_MODULES,
	[RECORD_GPU_ALLOC] = REPORT_PLANE_MEMORY,    [RECORD_GPU_FREE] = REPORT_PLANE_MEMORY,
	[REPORT_KIND_CPU] = REPORT_PLANE_CPU,        [REPORT_KIND_OFF_CPU] = REPORT_PLANE_OFF_CPU,
	[REPORT_KIND_CALL] = REPORT_PLANE_CALLS,     [REPORT_KIND_IDLE] = REPORT_PLANE_IDLE,
	[REPORT_KIND_STALL] = REPORT_PLANE_STALLS,   [REPORT_KIND_ENERGY] = REPORT_PLANE_ENERGY,
	[REPORT_KIND_USE] = REPORT_PLANE_USE,
};

static const struct {
	const char *name, *label, *options;
} planes[REPORT_PLANES] = {
	[REPORT_PLANE_GPU] = {"gpu", "GPU work"},
	[REPORT_PLANE_SYNC] = {"sync", "host waits", "--record sync"},
	[REPORT_PLANE_OVERHEAD] = {"overhead", "overhead", "--record overhead"},
	[REPORT_PLANE_UNIFIED] = {"um", "unified memory", "--record um"},
	[REPORT_PLANE_MODULES] = {"modules", "loads of GPU code", "--record modules"},
	[REPORT_PLANE_MEMORY] = {"memory", "allocations", "--record memory"},
	[REPORT_PLANE_CPU] = {"cpu", "host threads on the CPU", "--cpu-hz 99"},
	[REPORT_PLANE_OFF_CPU] = {"offcpu", "host threads off the CPU", "--off-cpu 1ms"},
	[REPORT_PLANE_CALLS] = {"calls", "CUDA calls", "--host-calls on"},
	[REPORT_PLANE_IDLE] = {"idle", "GPUs idle", "--cpu-hz 99 --off-cpu 1ms"},
	[REPORT_PLANE_STALLS] = {"stalls", "stalls in kernels", "--record stalls"},
	[REPORT_PLANE_ENERGY] = {"energy", "energy of GPUs"},
	[REPORT_PLANE_USE] = {"use", "use of GPUs"},
};

enum report_plane report_plane_of(uint32_t kind)
{
	assert(kind < REPORT_KINDS);
	return of_kind[kind];
}

const char *report_plane_name(enum report_plane plane)
{
	return planes[plane].name;
}

const char *report_plane_label(enum report_plane plane)
{
	return planes[plane].label;
}

const char *report_plane_options(enum report_plane plane)
{
	return planes[plane].options;
}

/* 0: unknown name. */
static uint32_t bits_of(const char *name, size_t size)
{
	for (uint32_t i = 0; i < REPORT_PLANES; i++)
		if (strlen(planes[i].name) == size && memcmp(planes[i].name, name, size) == 0)
			return 1u << i;
	return size == strlen("all") && memcmp(name, "all", size) == 0 ? REPORT_PLANES_ALL : 0;
}

int report_planes_parse(const char *text, uint32_t *set)
{
	uint32_t wanted = 0;

	*set = 0;
	for (;;) {
		size_t size = strcspn(text, ",");
		uint32_t bits = bits_of(text, size);

		if (bits == 0)
			return -EINVAL;
		wanted |= bits;
		if (text[size] == '\0')
			break;
		text += size + 1;
	}
	*set = wanted;
	return 0;
}

/* more: what may be asked for beside times. */
static int take(uint32_t *set, const char *name, const char *value, const char *more, char **error)
{
	if (report_planes_parse(value, set) < 0)
		return error_text_set(error, -EINVAL,
				      "--%s %s: must be all, or of gpu, sync, overhead, um, "
				      "modules, cpu, offcpu, calls, idle, stalls%s",
				      name, value, more);
	if (!(*set & 1u << REPORT_PLANE_MEMORY))
		return 0;
	return error_text_set(error, -EINVAL,
			      "--%s %s: memory has an option of its own: report --memory peak, "
			      "live, allocs or frees",
			      name, value);
}

int report_planes_take(void *context, const char *name, const char *value, char **error)
{
	uint32_t *set = context;
	int result = take(set, name, value, "; or energy, or use", error);

	if (result == 0 && *set & REPORT_PLANES_RESOURCES && report_planes_count(*set) > 1)
		return error_text_set(error, -EINVAL,
				      "--%s %s: energy and use are no time, so each stands by "
				      "itself",
				      name, value);
	return result;
}

int report_planes_take_times(void *context, const char *name, const char *value, char **error)
{
	return take(context, name, value, "", error);
}

uint32_t report_planes_count(uint32_t set)
{
	return (uint32_t)__builtin_popcount(set);
}

uint32_t report_planes_resources(uint32_t set)
{
	return (set & 1u << REPORT_PLANE_ENERGY ? RESOURCES_OF_ENERGY : 0) |
	       (set & 1u << REPORT_PLANE_USE ? RESOURCES_OF_USE : 0);
}

bool report_planes_have_bytes(uint32_t set)
{
	return set == 0 || set & (1u << REPORT_PLANE_GPU | 1u << REPORT_PLANE_UNIFIED |
				  1u << REPORT_PLANE_MEMORY);
}

bool report_planes_are_sampled(uint32_t set)
{
	const uint32_t sampled =
		1u << REPORT_PLANE_CPU | 1u << REPORT_PLANE_OFF_CPU | 1u << REPORT_PLANE_STALLS;

	return set && !(set & ~sampled);
}
