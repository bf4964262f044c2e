/* Work in parts of a GPU: two green contexts of 16 and 32 multiprocessors and the whole, each with launches from
 * functions of their own. On a real GPU and on fake CUDA alike; nothing is linked. Usage: green_parts [launches [FIFO]].
 * With a FIFO it waits, once the parts are made, until a writer has opened and closed it. Prints how many launches each
 * function made, and the multiprocessors of both parts. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTX_KERNEL(name) ".visible .entry " name "()\n{\n	ret;\n}\n"

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n" PTX_KERNEL("green_kernel");

struct resource { /* CUdevResource */
	int type;
	unsigned char padding[92];
	unsigned int multiprocessors;
	unsigned char rest[44];
};

struct part {
	void *green, *context, *stream;
	unsigned int multiprocessors;
};

static struct {
	int (*cuInit)(unsigned int flags);
	int (*cuDevicePrimaryCtxRetain)(void **context, int device);
	int (*cuCtxSetCurrent)(void *context);
	int (*cuCtxSynchronize)(void);
	int (*cuModuleLoadData)(void **module, const void *image);
	int (*cuModuleGetFunction)(void **function, void *module, const char *name);
	int (*cuLaunchKernel)(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
			      unsigned int block_y, unsigned int block_z, unsigned int shared, void *stream, void **params, void **extra);
	int (*cuDeviceGetDevResource)(int device, struct resource *resource, int type);
	int (*cuDevSmResourceSplitByCount)(struct resource *result, unsigned int *nr_groups, const struct resource *input,
					   struct resource *remaining, unsigned int flags, unsigned int least);
	int (*cuDevResourceGenerateDesc)(void **description, struct resource *resources, unsigned int nr);
	int (*cuGreenCtxCreate)(void **green, void *description, int device, unsigned int flags);
	int (*cuGreenCtxDestroy)(void *green);
	int (*cuCtxFromGreenCtx)(void **context, void *green);
	int (*cuGreenCtxStreamCreate)(void **stream, void *green, unsigned int flags, int priority);
	int (*cuStreamDestroy_v2)(void *stream);
} cuda;

static void *function, *primary;

static void find(void *driver, const char *name, void *slot)
{
	void *symbol = dlsym(driver, name);

	if (!symbol) {
		fprintf(stderr, "green_parts: no %s\n", name);
		exit(77);
	}
	memcpy(slot, &symbol, sizeof(symbol));
}

static void require(int result, const char *call)
{
	if (result == 0)
		return;
	fprintf(stderr, "green_parts: %s: %d\n", call, result);
	exit(1);
}

#define DO(name, ...) require(cuda.name(__VA_ARGS__), #name)

static void load(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	if (!driver) {
		fprintf(stderr, "green_parts: %s\n", dlerror());
		exit(77);
	}
#define FIND(name) find(driver, #name, &cuda.name)
	FIND(cuInit);
	FIND(cuDevicePrimaryCtxRetain);
	FIND(cuCtxSetCurrent);
	FIND(cuCtxSynchronize);
	FIND(cuModuleLoadData);
	FIND(cuModuleGetFunction);
	FIND(cuLaunchKernel);
	FIND(cuDeviceGetDevResource);
	FIND(cuDevSmResourceSplitByCount);
	FIND(cuDevResourceGenerateDesc);
	FIND(cuGreenCtxCreate);
	FIND(cuGreenCtxDestroy);
	FIND(cuCtxFromGreenCtx);
	FIND(cuGreenCtxStreamCreate);
	FIND(cuStreamDestroy_v2);
}

static void create(struct part *part, unsigned int least, int priority)
{
	struct resource all, some;
	unsigned int nr_groups = 1;
	void *description;

	DO(cuDeviceGetDevResource, 0, &all, 1);
	DO(cuDevSmResourceSplitByCount, &some, &nr_groups, &all, NULL, 0, least);
	part->multiprocessors = some.multiprocessors;
	DO(cuDevResourceGenerateDesc, &description, &some, 1);
	DO(cuGreenCtxCreate, &part->green, description, 0, 1);
	DO(cuCtxFromGreenCtx, &part->context, part->green);
	DO(cuGreenCtxStreamCreate, &part->stream, part->green, 1, priority);
}

static void launch(long times, void *stream)
{
	for (long i = 0; i < times; i++)
		DO(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

static __attribute__((noipa)) void on_whole(long times)
{
	launch(times, NULL);
	DO(cuCtxSynchronize);
}

/* From the primary context, into a stream of the part. */
static __attribute__((noipa)) void in_first_part(const struct part *part, long times)
{
	launch(times, part->stream);
	DO(cuCtxSynchronize);
}

/* The part is the thread's own context. */
static __attribute__((noipa)) void in_second_part(const struct part *part, long times)
{
	DO(cuCtxSetCurrent, part->context);
	launch(times, NULL);
	DO(cuCtxSynchronize);
	DO(cuCtxSetCurrent, primary);
}

static void await(const char *path)
{
	FILE *fifo = fopen(path, "r");

	while (fifo && fgetc(fifo) != EOF)
		;
	if (fifo)
		fclose(fifo);
}

static void destroy(const struct part *part)
{
	DO(cuStreamDestroy_v2, part->stream);
	DO(cuGreenCtxDestroy, part->green);
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 100;
	struct part first, second;
	void *module;

	load();
	DO(cuInit, 0);
	DO(cuDevicePrimaryCtxRetain, &primary, 0);
	DO(cuCtxSetCurrent, primary);
	DO(cuModuleLoadData, &module, ptx);
	DO(cuModuleGetFunction, &function, module, "green_kernel");
	create(&first, 16, -1);
	create(&second, 32, 0);
	if (argc > 2)
		await(argv[2]);
	on_whole(times);
	in_first_part(&first, 2 * times);
	in_second_part(&second, 3 * times);
	destroy(&first);
	destroy(&second);
	on_whole(times);
	printf("on_whole %ld in_first_part %ld in_second_part %ld SMs %u %u\n", 2 * times, 2 * times, 3 * times, first.multiprocessors,
	       second.multiprocessors);
	return 0;
}
