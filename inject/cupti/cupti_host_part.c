#include "cupti_host_part.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cupti_search.h"

#define NAME "libnvperf_host.so"

void cupti_host_part_map(const void *function)
{
	char path[CUPTI_SEARCH_PATH_MAX + sizeof(NAME)];
	Dl_info info;

	if (!dladdr(function, &info) || !info.dli_fname)
		return;
	const char *slash = strrchr(info.dli_fname, '/');
	const int size = slash ? (int)(slash + 1 - info.dli_fname) : 0;
	if (snprintf(path, sizeof(path), "%.*s" NAME, size, info.dli_fname) < (int)sizeof(path))
		dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
}
