/* Built twice: as a libcupti, and as the libnvperf_host beside it. The first opens the second by its name alone, as
 * CUPTI does. A toolkit's own, which the loader may know, lacks the function. */
#include <dlfcn.h>
#include <stdbool.h>

bool host_part_is_found(void);

bool host_part_is_found(void)
{
	void *handle = dlopen("libnvperf_host.so", RTLD_NOW | RTLD_LOCAL);

	return handle && dlsym(handle, "host_part_is_found");
}
