/* Finds out whether a CUDA driver with CUPTI keeps what the profiler relies on, real or fake alike.
 *
 *   cuda_conformance [LIBCUPTI [LIBCUDART]]
 *
 * Loads libcuda.so.1, LIBCUPTI (default: libcupti.so.13, .12, .so) and, if there is one, LIBCUDART;
 * subscribes itself, so run it without an injection library. Prints "ok N - ...", "not ok N - ..."
 * and "# fact: ..." lines. Exit status: 0 all hold, 1 one does not, 2 nothing could be run. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance_api.h"
#include "conformance_call.h"
#include "conformance_checks.h"
#include "conformance_cuda.h"
#include "conformance_graphs.h"
#include "conformance_green.h"
#include "conformance_inner.h"
#include "conformance_log.h"
#include "conformance_memory.h"
#include "conformance_ranges.h"
#include "conformance_timeline.h"

#define DEVICES_MAX        16
#define THREADS_PER_DEVICE 2
#define STREAMS            3
#define KERNELS            3
#define LAUNCHES           360 /* a multiple of KERNELS * STREAMS */
#define COPY_BYTES         8192u
#define FILL_BYTES         4096u

#define DEFINE_FUNCTION(name, arguments) int(*name) arguments;
DRIVER_FUNCTIONS(DEFINE_FUNCTION)
CUPTI_FUNCTIONS(DEFINE_FUNCTION)

#define PTX_KERNEL(name)                                                                           \
	".visible .entry " name "(.param .u64 out, .param .u32 count)\n"                           \
	"{\n"                                                                                      \
	"	.reg .pred %p<2>;\n	.reg .b32 %r<3>;\n	.reg .f32 %f<2>;\n	.reg "                         \
	".b64 %rd<3>;\n"                                                                           \
	"	ld.param.u64 %rd1, [out];\n	ld.param.u32 %r1, [count];\n"                                \
	"	cvta.to.global.u64 %rd2, %rd1;\n	mov.f32 %f1, 0f3F000000;\n"                             \
	"again:\n"                                                                                 \
	"	fma.rn.f32 %f1, %f1, %f1, %f1;\n	sub.u32 %r1, %r1, 1;\n"                                 \
	"	setp.ne.u32 %p1, %r1, 0;\n	@%p1 bra again;\n"                                            \
	"	st.global.f32 [%rd2], %f1;\n	ret;\n"                                                     \
	"}\n"

static const char ptx[] =
	".version 7.0\n.target sm_52\n.address_size 64\n" PTX_KERNEL("conformance_short")
		PTX_KERNEL("conformance_medium") PTX_KERNEL("conformance_long");
static const char other_ptx[] =
	".version 7.0\n.target sm_52\n.address_size 64\n" PTX_KERNEL("conformance_lazy");
static const char *const kernel_names[KERNELS] = {"conformance_short", "conformance_medium",
						  "conformance_long"};
static const uint32_t kernel_loops[KERNELS] = {10, 1000, 20000};

struct device {
	int ordinal;
	void *context;
	uint32_t context_id;
	void *functions[KERNELS];
	device_address memory;
};

struct worker {
	const struct device *device;
	uint32_t stream_ids[STREAMS];
	pthread_t thread;
};

static struct device devices[DEVICES_MAX];
static int nr_devices;
static struct worker workers[DEVICES_MAX * THREADS_PER_DEVICE];

static bool find(void *library, const char *name, void *slot)
{
	void *symbol = library ? dlsym(library, name) : NULL;

	if (!symbol)
		printf("# %s is missing\n", name);
	memcpy(slot, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static void *open_first(const char *given, const char *const *names)
{
	void *library = given ? dlopen(given, RTLD_NOW) : NULL;

	for (; !given && !library && *names; names++)
		library = dlopen(*names, RTLD_NOW);
	return library;
}

static void *cupti;

static bool load(const char *cupti_path)
{
	static const char *const cupti_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
						  NULL};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	bool complete = true;

	cupti = open_first(cupti_path, cupti_names);
	if (!driver || !cupti) {
		printf("# %s\n", dlerror());
		return false;
	}
#define FIND_IN_DRIVER(name, arguments) complete &= find(driver, #name, &name);
#define FIND_IN_CUPTI(name, arguments)  complete &= find(cupti, #name, &name);
	DRIVER_FUNCTIONS(FIND_IN_DRIVER)
	CUPTI_FUNCTIONS(FIND_IN_CUPTI)
	return complete;
}

static void prepare_device(struct device *device, int ordinal)
{
	char name[64] = "";
	void *module = NULL;

	device->ordinal = ordinal;
	CALL(cuDeviceGetName, name, sizeof(name), ordinal);
	fact("device %d is %s", ordinal, name);
	CALL(cuDevicePrimaryCtxRetain, &device->context, ordinal);
	CALL(cuCtxSetCurrent, device->context);
	CALL(cuptiGetContextId, device->context, &device->context_id);
	CALL(cuModuleLoadData, &module, ptx);
	for (int k = 0; k < KERNELS; k++)
		CALL(cuModuleGetFunction, &device->functions[k], module, kernel_names[k]);
	CALL(cuMemAlloc_v2, &device->memory, 2 * COPY_BYTES);
}

static int launch(const struct device *device, int kernel, unsigned int threads, void *stream)
{
	device_address out = device->memory;
	uint32_t loops = kernel_loops[kernel];
	void *params[] = {&out, &loops};

	return cuLaunchKernel(device->functions[kernel], 4, 1, 1, threads, 1, 1, 0, stream, params,
			      NULL);
}

static void *launch_on_a_thread(void *argument)
{
	struct worker *worker = argument;
	const struct device *device = worker->device;
	void *streams[STREAMS];

	CALL(cuCtxSetCurrent, device->context);
	for (int s = 0; s < STREAMS; s++) {
		CALL(cuStreamCreate, &streams[s], 0);
		CALL(cuptiGetStreamIdEx, device->context, streams[s], 0, &worker->stream_ids[s]);
	}
	for (int i = 0; i < LAUNCHES; i++)
		CALL(launch, device, i % KERNELS, 64, streams[i / KERNELS % STREAMS]);
	CALL(cuCtxSynchronize);
	return NULL;
}

/* On the default stream of the first device: two copies in, one within, one out, a memset each way.
 */
static void copy_and_fill(const struct device *device)
{
	static char host[COPY_BYTES];

	CALL(cuCtxSetCurrent, device->context);
	CALL(cuMemcpyHtoD_v2, device->memory, host, COPY_BYTES);
	CALL(cuMemcpyHtoDAsync_v2, device->memory, host, COPY_BYTES / 2, NULL);
	CALL(cuMemcpyDtoDAsync_v2, device->memory + COPY_BYTES, device->memory, COPY_BYTES, NULL);
	CALL(cuMemcpyDtoH_v2, host, device->memory, COPY_BYTES / 4);
	CALL(cuMemsetD8Async, device->memory, 7, FILL_BYTES, NULL);
	CALL(cuMemsetD32_v2, device->memory, 7, FILL_BYTES / 2);
	CALL(cuCtxSynchronize);
}

static uint32_t count_transfers(const struct conformance_log *log, uint32_t kind,
				uint32_t copy_kind, uint64_t bytes)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < log->nr_records; i++)
		count += log->records[i].kind == kind && log->records[i].copy_kind == copy_kind &&
			 log->records[i].bytes == bytes;
	return count;
}

static void check_transfers(const struct conformance_log *log)
{
	check(count_transfers(log, KIND_MEMCPY, COPY_HTOD, COPY_BYTES) == 1 &&
		      count_transfers(log, KIND_MEMCPY, COPY_HTOD, COPY_BYTES / 2) == 1,
	      "copies to the device have their kind and bytes");
	check(count_transfers(log, KIND_MEMCPY, COPY_DTOD, COPY_BYTES) == 1,
	      "a copy within the device has its kind and bytes");
	check(count_transfers(log, KIND_MEMCPY, COPY_DTOH, COPY_BYTES / 4) == 1,
	      "a copy to the host has its kind and bytes");
	check(count_transfers(log, KIND_MEMSET, 0, FILL_BYTES) == 1 &&
		      count_transfers(log, KIND_MEMSET, 0, FILL_BYTES * 2) == 1,
	      "memsets have their bytes");
	checks_transfers(log);
}

static void check_counts(const struct conformance_log *log)
{
	uint32_t wrong = 0;

	for (int d = 0; d < nr_devices; d++) {
		for (int k = 0; k < KERNELS; k++) {
			uint32_t count = 0;

			for (uint32_t i = 0; i < log->nr_records; i++)
				count += log->records[i].kind == KIND_KERNEL &&
					 log->records[i].device_id == (uint32_t)d &&
					 log->records[i].context_id == devices[d].context_id &&
					 strcmp(log->records[i].name, kernel_names[k]) == 0;
			wrong += count != LAUNCHES / KERNELS * THREADS_PER_DEVICE;
		}
	}
	check(wrong == 0,
	      "each device ran each kernel as often as it was launched, on its context (%u did "
	      "not)",
	      wrong);
}

static void check_streams(const struct conformance_log *log)
{
	uint32_t wrong = 0, equal = 0;

	for (int w = 0; w < nr_devices * THREADS_PER_DEVICE; w++) {
		const struct worker *worker = &workers[w];

		for (int s = 0; s < STREAMS; s++) {
			uint32_t count = 0;

			for (uint32_t i = 0; i < log->nr_records; i++)
				count += log->records[i].kind == KIND_KERNEL &&
					 log->records[i].context_id == worker->device->context_id &&
					 log->records[i].stream_id == worker->stream_ids[s];
			wrong += count != LAUNCHES / STREAMS;
			for (int other = 0; other < s; other++)
				equal += worker->stream_ids[s] == worker->stream_ids[other];
		}
	}
	check(equal == 0, "streams of one context have different ids (%u have not)", equal);
	check(wrong == 0,
	      "records carry the id that cuptiGetStreamIdEx gives (%u streams have a wrong count)",
	      wrong);
	fact("the first streams created have ids %u, %u and %u", workers[0].stream_ids[0],
	     workers[0].stream_ids[1], workers[0].stream_ids[2]);
}

static void ignore_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
}

static void start_up(void)
{
	void *second = NULL;
	uint32_t version = 0;
	int driver_version = 0;

	check(conformance_log_subscribe() == 0, "CUPTI can be subscribed to before cuInit");
	int refused = cuptiSubscribe(&second, ignore_callback, NULL);
	check(refused == MULTIPLE_SUBSCRIBERS, "a second subscriber is refused with 39 (%d)",
	      refused);
	refused = cuptiEnableCallback(1, conformance_subscriber, DOMAIN_RESOURCE, 63);
	check(refused != 0, "a resource callback that does not exist is refused (%d)", refused);
	check(conformance_log_enable_activity() == 0, "activity can be enabled before cuInit");
	CALL(cuInit, 0);
	check(conformance_log_read().init_finished == 1, "CU_INIT_FINISHED comes once (%u)",
	      conformance_log_read().init_finished);
	CALL(cuptiGetVersion, &version);
	CALL(cuDriverGetVersion, &driver_version);
	fact("CUPTI %u, driver API %d", version, driver_version);
	CALL(cuDeviceGetCount, &nr_devices);
	nr_devices = nr_devices < DEVICES_MAX ? nr_devices : DEVICES_MAX;
	for (int d = 0; d < nr_devices; d++)
		prepare_device(&devices[d], d);
	check(conformance_log_read().contexts_created == (uint32_t)nr_devices,
	      "CONTEXT_CREATED comes for each context (%u of %d)",
	      conformance_log_read().contexts_created, nr_devices);
}

static void run_all_devices(void)
{
	for (int w = 0; w < nr_devices * THREADS_PER_DEVICE; w++) {
		workers[w].device = &devices[w % nr_devices];
		if (pthread_create(&workers[w].thread, NULL, launch_on_a_thread, &workers[w]) != 0)
			abort();
	}
	for (int w = 0; w < nr_devices * THREADS_PER_DEVICE; w++)
		pthread_join(workers[w].thread, NULL);
}

static void check_main_run(void)
{
	uint64_t before_ns = 0, after_ns = 0;
	size_t dropped = 0;

	CALL(cuptiGetTimestamp, &before_ns);
	run_all_devices();
	copy_and_fill(&devices[0]);
	int refused = launch(&devices[0], 0, 4096, NULL);
	check(refused != 0, "a launch with 4096 threads a block is refused (%d)", refused);
	CALL(cuCtxSynchronize);
	CALL(cuptiGetTimestamp, &after_ns);
	check(conformance_log_flush() == 0, "a forced flush succeeds");

	const struct conformance_log log = conformance_log_read();
	checks_callbacks(&log);
	checks_correlation(&log, 1);
	check_counts(&log);
	check_streams(&log);
	check_transfers(&log);
	checks_times(&log, before_ns, after_ns);
	CALL(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped);
	check(dropped == 0, "CUPTI dropped nothing (%zu)", dropped);
	fact("buffers: %u requested (%u inside a driver call), %u completed (%u by the flushing "
	     "thread)",
	     log.requested, log.requested_while_launching, log.completed, log.completed_by_flusher);
	fact("a kernel record has %u bytes", log.kernel_record_bytes);
}

/* Copies by the runtime API: its callback and the driver's inside share an id. */
static void check_runtime(const char *path)
{
	static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so",
					    NULL};
	void *library = open_first(path, names);
	int (*runtime_memset)(void *, int, size_t);
	uint32_t nested = 0, runtime = 0;

	if (!library || !find(library, "cudaMemset", &runtime_memset)) {
		fact("no CUDA runtime was found: nested calls were not looked at");
		return;
	}
	conformance_log_clear();
	CALL(cuptiEnableDomain, 1, conformance_subscriber, DOMAIN_RUNTIME);
	CALL(cuCtxSetCurrent, devices[0].context);
	CALL(runtime_memset, (void *)(uintptr_t)devices[0].memory, 0, FILL_BYTES);
	CALL(cuptiEnableDomain, 0, conformance_subscriber, DOMAIN_RUNTIME);
	const struct conformance_log log = conformance_log_read();
	for (uint32_t i = 0; i < log.nr_calls; i++) {
		runtime += log.calls[i].domain == DOMAIN_RUNTIME && log.calls[i].site == SITE_EXIT;
		for (uint32_t d = 0; d < log.nr_calls; d++)
			nested += log.calls[i].domain == DOMAIN_RUNTIME &&
				  log.calls[i].site == SITE_EXIT &&
				  log.calls[d].domain == DOMAIN_DRIVER &&
				  log.calls[d].site == SITE_EXIT &&
				  log.calls[d].correlation_id == log.calls[i].correlation_id;
	}
	check(runtime > 0 && nested > 0,
	      "a runtime call and the driver call in it share an id (%u, %u)", runtime, nested);
}

/* Ends tracing as the profiler does at the end of a capture window, and begins anew. */
static void check_finalize(void)
{
	CALL(cuCtxSetCurrent, devices[0].context);
	CALL(launch, &devices[0], 0, 64, NULL);
	conformance_log_finalize_at_exit();
	CALL(cuCtxSynchronize);
	check(conformance_log_finalize_result() == 0,
	      "cuptiFinalize succeeds in an EXIT callback (%d)", conformance_log_finalize_result());
	const struct conformance_log before = conformance_log_read();
	fact("after cuptiFinalize: %u buffers requested, %u completed", before.requested,
	     before.completed);
	conformance_log_clear();
	CALL(launch, &devices[0], 0, 64, NULL);
	CALL(cuCtxSynchronize);
	check(conformance_log_read().nr_calls == 0, "after cuptiFinalize no callback comes");

	check(conformance_log_subscribe() == 0 && conformance_log_enable_activity() == 0,
	      "after cuptiFinalize CUPTI can be subscribed to again");
	for (int i = 0; i < LAUNCHES; i++)
		CALL(launch, &devices[0], i % KERNELS, 64, NULL);
	CALL(cuCtxSynchronize);
	CALL(conformance_log_flush);
	const struct conformance_log after = conformance_log_read();
	checks_correlation(&after, 0);
	fact("the first id after cuptiFinalize is %u",
	     after.nr_calls ? after.calls[0].correlation_id : 0);
}

static void check_graphs(void)
{
	const struct device *device = &devices[0];
	const struct graph_subject subject = {
		.context = device->context,
		.functions = {device->functions[0], device->functions[1]},
		.names = {kernel_names[0], kernel_names[1]},
		.memory = device->memory,
		.bytes = COPY_BYTES,
	};

	conformance_graphs_run(&subject);
	conformance_inner_run(&subject);
}

static void check_memory(void)
{
	const struct memory_subject subject = {
		.device = devices[0].ordinal,
		.context = devices[0].context,
		.context_id = devices[0].context_id,
		.driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD),
	};

	conformance_memory_run(&subject);
}

static void check_timeline(void)
{
	const struct device *device = &devices[0];
	const struct timeline_subject subject = {
		.context = device->context,
		.context_id = device->context_id,
		.ordinal = device->ordinal,
		.function = device->functions[0],
		.memory = device->memory,
		.ptx = other_ptx,
		.kernel_name = "conformance_lazy",
	};

	conformance_timeline_run(&subject);
}

static void check_ranges(void)
{
	const struct device *device = &devices[0];
	const struct ranges_subject subject = {
		.cupti = cupti,
		.context = device->context,
		.device_id = (uint32_t)device->ordinal,
		.functions = {device->functions[0], device->functions[1], device->functions[2]},
		.memory = device->memory,
		.bytes = COPY_BYTES,
	};

	conformance_ranges_run(&subject);
}

int main(int argc, char **argv)
{
	/* What was found out is not lost if a library crashes. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!load(argc > 1 && argv[1][0] ? argv[1] : NULL))
		return 2;
	start_up();
	if (nr_devices == 0) {
		printf("# there is no device\n");
		return 2;
	}
	check_main_run();
	check_runtime(argc > 2 ? argv[2] : NULL);
	conformance_api_run(devices[0].context, devices[0].functions[0], devices[0].memory);
	conformance_green_run(devices[0].context, devices[0].functions[0], devices[0].memory);
	check_graphs();
	check_memory();
	check_timeline();
	check_finalize();
	check_ranges(); /* behind it, because the guest never finalizes CUPTI once it has counted */
	check(conformance_call_failed() == 0, "no other call failed (%u did)",
	      conformance_call_failed());
	return checks_status();
}
