#include "demo_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEMO_DRIVER_DEFINE(name, arguments) int(*name) arguments;
DEMO_DRIVER_FUNCTIONS(DEMO_DRIVER_DEFINE)

static int find(void *library, const char *name, void *slot)
{
	void *symbol = dlsym(library, name);

	memcpy(slot, &symbol, sizeof(symbol));
	if (symbol)
		return 0;
	fprintf(stderr, "demo: the driver has no %s\n", name);
	return -ENOENT;
}

int demo_driver_load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!library) {
		fprintf(stderr, "demo: %s\n", dlerror());
		return -ENOENT;
	}
#define DEMO_DRIVER_FIND(name, arguments)                                                          \
	if (find(library, #name, &name) != 0)                                                      \
		return -ENOENT;
	DEMO_DRIVER_FUNCTIONS(DEMO_DRIVER_FIND)
	return 0;
}

void demo_driver_require(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "demo: %s failed with CUDA error %d\n", what, result);
	exit(1);
}
