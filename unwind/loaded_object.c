#include "loaded_object.h"

#include <dlfcn.h>
#include <stdatomic.h>

/* As in glibc's dlfcn.h; declared here because older ones lack it. The reserved words are for
 * fields that some machines have. */
struct find_result {
	unsigned long long flags;
	void *map_start, *map_end;
	void *link_map;
	void *eh_frame;
	unsigned long long reserved[8];
};

typedef int find_function(void *address, struct find_result *result);

static _Atomic(find_function *) find;

void loaded_object_init(void)
{
	find_function *function;

	*(void **)&function = dlsym(RTLD_DEFAULT, "_dl_find_object");
	atomic_store_explicit(&find, function, memory_order_release);
}

bool loaded_object_at(uint64_t address, struct loaded_object *object)
{
	find_function *function = atomic_load_explicit(&find, memory_order_acquire);
	struct find_result result;

	*object = (struct loaded_object){0};
	if (!function || function((void *)(uintptr_t)address, &result) != 0)
		return false;
	object->start = (uint64_t)(uintptr_t)result.map_start;
	object->end = (uint64_t)(uintptr_t)result.map_end;
	object->eh_frame_hdr = (uint64_t)(uintptr_t)result.eh_frame;
	return true;
}
