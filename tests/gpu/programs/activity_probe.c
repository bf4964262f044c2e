/* What CUPTI does for two users of its activity API, of whom only the first subscribes, and what it tells of
 * streams: prints facts, checks nothing. On a real GPU and on fake CUDA alike; nothing is linked.
 *
 *   activity_probe [LIBCUPTI]
 *
 * One line a step: which user's callbacks were asked for buffers and given them, with how many records of
 * this step's work, of other work, of contexts and streams; and "foreign" buffers, which the other user had
 * handed out. Work is memsets: their size names the step. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND_MEMSET            2u
#define KIND_KERNEL            3u
#define KIND_CONTEXT           9u
#define KIND_CONCURRENT_KERNEL 10u
#define KIND_STREAM            37u
#define DOMAIN_DRIVER          1u
#define MEMSETS                10u
#define BYTES_A_STEP           4096u
#define BUFFER_BYTES           (1u << 20)
#define BUFFERS_MAX            4096

typedef void request_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void complete_fn(void *context, uint32_t stream_id, uint8_t *buffer, size_t size,
			 size_t valid);

static struct {
	int (*subscribe)(void **subscriber, void *callback, void *user);
	int (*enable_domain)(uint32_t enable, void *subscriber, uint32_t domain);
	int (*enable)(uint32_t kind);
	int (*dump)(uint32_t kind);
	int (*disable)(uint32_t kind);
	int (*register_callbacks)(request_fn *request, complete_fn *complete);
	int (*flush)(uint32_t flag);
	int (*next)(uint8_t *buffer, size_t valid, void **record);
	int (*finalize)(void);
	int (*version)(uint32_t *version);
} cupti;

static struct {
	int (*init)(unsigned int flags);
	int (*device)(int *device, int ordinal);
	int (*context)(void **context, int device);
	int (*set_current)(void *context);
	int (*allocate)(uint64_t *address, size_t size);
	int (*stream)(void **stream, unsigned int flags, int priority);
	int (*fill)(uint64_t address, unsigned char value, size_t count, void *stream);
	int (*synchronize)(void);
} cuda;

static struct user {
	const char *name;
	uint8_t *buffers[BUFFERS_MAX];
	uint32_t nr_buffers;
	uint32_t requests, completes, foreign, records, others, contexts, streams;
} users[2] = {{.name = "first"}, {.name = "second"}};

static uint32_t step;
static volatile uint32_t callbacks;
static uint64_t memory;

static void on_call(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain, (void)cbid, (void)data;
	callbacks++;
}

static void request(struct user *user, uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	memset(*buffer, 0, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
	user->requests++;
	if (user->nr_buffers < BUFFERS_MAX)
		user->buffers[user->nr_buffers++] = *buffer;
}

static uint32_t u32_at(const void *record, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)record + offset, sizeof(value));
	return value;
}

static void take(struct user *user, const void *record)
{
	uint64_t bytes;

	switch (u32_at(record, 0)) {
	case KIND_MEMSET:
		memcpy(&bytes, (const char *)record + 8, sizeof(bytes));
		if (bytes == (uint64_t)step * BYTES_A_STEP)
			user->records++;
		else
			user->others++;
		break;
	case KIND_CONTEXT:
		user->contexts++;
		printf("    context %u device %u null stream %u green %u\n", u32_at(record, 4),
		       u32_at(record, 8), u32_at(record, 12) >> 16, u32_at(record, 20) & 0xff);
		break;
	case KIND_STREAM:
		user->streams++;
		printf("    stream %u of context %u: priority %d flag %u\n", u32_at(record, 8),
		       u32_at(record, 4), (int32_t)u32_at(record, 12), u32_at(record, 16));
		break;
	default:
		user->others++;
	}
}

static void complete(struct user *user, uint8_t *buffer, size_t valid)
{
	void *record = NULL;
	bool own = false;

	user->completes++;
	for (uint32_t i = 0; i < user->nr_buffers; i++)
		own |= user->buffers[i] == buffer;
	user->foreign += !own;
	while (cupti.next(buffer, valid, &record) == 0)
		take(user, record);
}

#define CALLBACKS(number)                                                                          \
	static void request_##number(uint8_t **buffer, size_t *size, size_t *max_records)          \
	{                                                                                          \
		request(&users[number], buffer, size, max_records);                                \
	}                                                                                          \
	static void complete_##number(void *context, uint32_t stream_id, uint8_t *buffer,          \
				      size_t size, size_t valid)                                   \
	{                                                                                          \
		(void)context, (void)stream_id, (void)size;                                        \
		complete(&users[number], buffer, valid);                                           \
	}
CALLBACKS(0)
CALLBACKS(1)

static void begin(const char *what)
{
	step++;
	callbacks = 0;
	printf("step %u: %s\n", step, what);
	for (int i = 0; i < 2; i++) {
		struct user *user = &users[i];

		user->requests = user->completes = user->foreign = user->records = 0;
		user->others = user->contexts = user->streams = 0;
	}
}

static void work(void)
{
	for (uint32_t i = 0; i < MEMSETS; i++)
		if (cuda.fill(memory, 0, (size_t)step * BYTES_A_STEP, NULL) != 0)
			printf("    a memset failed\n");
	cuda.synchronize();
}

static void tell(uint32_t flag)
{
	int result = cupti.flush(flag);

	printf("  flush(%u) %d; %u callbacks of the subscriber\n", flag, result, callbacks);
	for (int i = 0; i < 2; i++)
		printf("  %-6s: requests %u, completes %u (foreign %u), records %u of %u, others "
		       "%u, "
		       "contexts %u, streams %u\n",
		       users[i].name, users[i].requests, users[i].completes, users[i].foreign,
		       users[i].records, MEMSETS, users[i].others, users[i].contexts,
		       users[i].streams);
}

static bool find(void *library, const char *name, void *function)
{
	void *address = dlsym(library, name);

	memcpy(function, &address, sizeof(address));
	if (!address)
		printf("%s is missing\n", name);
	return address != NULL;
}

static bool load(const char *path)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	void *library = dlopen(path, RTLD_NOW);

	if (!driver || !library) {
		printf("%s\n", dlerror());
		return false;
	}
	return find(library, "cuptiSubscribe", &cupti.subscribe) &&
	       find(library, "cuptiEnableDomain", &cupti.enable_domain) &&
	       find(library, "cuptiActivityEnable", &cupti.enable) &&
	       find(library, "cuptiActivityEnableAndDump", &cupti.dump) &&
	       find(library, "cuptiActivityDisable", &cupti.disable) &&
	       find(library, "cuptiActivityRegisterCallbacks", &cupti.register_callbacks) &&
	       find(library, "cuptiActivityFlushAll", &cupti.flush) &&
	       find(library, "cuptiActivityGetNextRecord", &cupti.next) &&
	       find(library, "cuptiFinalize", &cupti.finalize) &&
	       find(library, "cuptiGetVersion", &cupti.version) &&
	       find(driver, "cuInit", &cuda.init) && find(driver, "cuDeviceGet", &cuda.device) &&
	       find(driver, "cuDevicePrimaryCtxRetain", &cuda.context) &&
	       find(driver, "cuCtxSetCurrent", &cuda.set_current) &&
	       find(driver, "cuMemAlloc_v2", &cuda.allocate) &&
	       find(driver, "cuStreamCreateWithPriority", &cuda.stream) &&
	       find(driver, "cuMemsetD8Async", &cuda.fill) &&
	       find(driver, "cuCtxSynchronize", &cuda.synchronize);
}

static void start_cuda(void)
{
	void *context, *stream;
	int device = 0;

	printf("cuInit %d, ", cuda.init(0));
	printf("cuDeviceGet %d, ", cuda.device(&device, 0));
	printf("context %d, ", cuda.context(&context, device));
	printf("current %d, ", cuda.set_current(context));
	printf("memory %d\n", cuda.allocate(&memory, 64u * BYTES_A_STEP));
	for (int priority = 1; priority >= -6; priority--)
		printf("stream with priority %d, flags %d: %d\n", priority, priority & 1,
		       cuda.stream(&stream, (unsigned int)(priority & 1), priority));
}

static void replace_and_disable(void)
{
	begin("the first alone");
	printf("  enable memsets %d\n", cupti.enable(KIND_MEMSET));
	work();
	tell(0);
	begin("unflushed work of the first, then the second registers and flushes");
	work();
	printf("  register %d\n", cupti.register_callbacks(request_1, complete_1));
	tell(0);
	begin("work after the second registered, without enabling anything");
	work();
	tell(0);
	begin("the second enables memsets too");
	printf("  enable %d\n", cupti.enable(KIND_MEMSET));
	work();
	tell(0);
	begin("records of contexts on demand, while the second is registered");
	printf("  enable and dump %d\n", cupti.dump(KIND_CONTEXT));
	tell(0);
	begin("the second disables memsets");
	printf("  disable %d\n", cupti.disable(KIND_MEMSET));
	work();
	tell(1);
	begin("the first registers again, enables nothing");
	printf("  register %d\n", cupti.register_callbacks(request_0, complete_0));
	work();
	tell(0);
	begin("records of contexts on demand, while the first is registered");
	printf("  enable and dump %d\n", cupti.dump(KIND_CONTEXT));
	tell(0);
	begin("the first enables memsets again");
	printf("  enable %d\n", cupti.enable(KIND_MEMSET));
	work();
	tell(0);
}

static void finalize(void)
{
	void *subscriber;

	begin("whether an enabled kind shows in the result of an incompatible one");
	printf("  enable concurrent kernels %d\n", cupti.enable(KIND_CONCURRENT_KERNEL));
	printf("  enable kernels beside them %d\n", cupti.enable(KIND_KERNEL));
	printf("  disable kernels %d\n", cupti.disable(KIND_KERNEL));
	printf("  disable concurrent kernels %d\n", cupti.disable(KIND_CONCURRENT_KERNEL));
	printf("  enable kernels alone %d\n", cupti.enable(KIND_KERNEL));
	printf("  disable kernels %d\n", cupti.disable(KIND_KERNEL));
	begin("a second subscriber");
	printf("  subscribe %d\n", cupti.subscribe(&subscriber, (void *)on_call, NULL));
	begin("the second finalizes");
	cuda.synchronize();
	cupti.flush(1);
	printf("  finalize %d\n", cupti.finalize());
	work();
	tell(1);
	begin("subscribing after that");
	printf("  subscribe %d\n", cupti.subscribe(&subscriber, (void *)on_call, NULL));
	work();
	tell(1);
}

int main(int argc, char **argv)
{
	void *subscriber = NULL;
	uint32_t version = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!load(argc > 1 ? argv[1] : "libcupti.so.13"))
		return 2;
	cupti.version(&version);
	printf("CUPTI %u\n", version);
	begin("the first starts before CUDA");
	printf("  subscribe %d\n", cupti.subscribe(&subscriber, (void *)on_call, NULL));
	printf("  domain %d\n", cupti.enable_domain(1, subscriber, DOMAIN_DRIVER));
	printf("  register %d\n", cupti.register_callbacks(request_0, complete_0));
	printf("  enable contexts %d\n", cupti.enable(KIND_CONTEXT));
	printf("  enable streams %d\n", cupti.enable(KIND_STREAM));
	start_cuda();
	tell(0);
	replace_and_disable();
	finalize();
	return 0;
}
