/* NVTX ranges of all kinds around launches, by the real headers of NVTX: for a test that knows which
 * path each launch must have. Kernels are called after what is open.
 *
 *   nvtx_program ranges | depth | steps N | names N | streams | threads N | xla N
 *
 * Prints what NVTX's functions returned where the test looks at it. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "fake_cuda.h"

/* Fake CUDA keeps kernels, as a real one would keep code. */
static struct kept {
	struct fake_cuda_kernel kernel;
	struct kept *next;
} * all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

static struct fake_cuda_kernel *keep(void)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	pthread_mutex_lock(&all_lock);
	kept->next = all;
	all = kept;
	pthread_mutex_unlock(&all_lock);
	return &kept->kernel;
}

static void launch_on(const char *name, cudaStream_t stream)
{
	struct fake_cuda_kernel *kernel = keep();

	*kernel = (struct fake_cuda_kernel)FAKE_CUDA_KERNEL_INIT(strdup(name),
								 FAKE_CUDA_FIXED_NS(1000));
	if (cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, stream) !=
	    cudaSuccess)
		abort();
}

static void launch(const char *name)
{
	launch_on(name, NULL);
}

static nvtxEventAttributes_t attributes(void)
{
	return (nvtxEventAttributes_t){.version = NVTX_VERSION,
				       .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
}

static void nested(void)
{
	int levels[4];

	levels[0] = nvtxRangePushA("epoch 3");
	levels[1] = nvtxRangePushA("forward");
	nvtxMarkA("a mark is no range");
	launch("in_epoch_3_forward");
	levels[2] = nvtxRangePop();
	launch("in_epoch_3");
	levels[3] = nvtxRangePop();
	launch("in_nothing");
	printf("levels %d %d %d %d\n", levels[0], levels[1], levels[2], levels[3]);
}

static void unbalanced(void)
{
	int first = nvtxRangePop(), second = nvtxRangePop();

	nvtxRangePushA("after pops");
	launch("in_after_pops");
	nvtxRangePop();
	printf("unbalanced %d %d\n", first, second);
}

static void domains(void)
{
	nvtxDomainHandle_t library = nvtxDomainCreateA("library");
	nvtxEventAttributes_t event = attributes();

	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	event.message.registered = nvtxDomainRegisterStringA(library, "registered op");
	nvtxRangePushA("step");
	nvtxDomainRangePushEx(library, &event);
	launch("in_step_library_op");
	nvtxRangePop();
	launch("in_library_op");
	printf("domain %d\n", nvtxDomainRangePop(library));

	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = "ascii op";
	nvtxDomainRangePushEx(nvtxDomainCreateW(L"Bücherei"), &event);
	launch("in_wide_domain");
	nvtxDomainRangePop(nvtxDomainCreateW(L"Bücherei"));
	nvtxDomainDestroy(library);
}

static void texts(void)
{
	nvtxEventAttributes_t event = attributes();
	char overlong[1000];

	nvtxRangePushW(L"größe λ 🚀");
	launch("in_unicode");
	nvtxRangePop();

	event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
	event.message.unicode = L"wide";
	nvtxRangePushEx(&event);
	launch("in_wide");
	nvtxRangePop();

	event = attributes();
	event.category = 7;
	nvtxRangePushEx(&event);
	launch("in_category");
	nvtxRangePop();

	memset(overlong, 'x', sizeof(overlong) - 1);
	overlong[sizeof(overlong) - 1] = '\0';
	nvtxRangePushA(overlong);
	launch("in_overlong");
	nvtxRangePop();

	nvtxRangePushA("semi;colon\nline");
	launch("in_separators");
	nvtxRangePop();
}

static void *end_range(void *range)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)range);
	launch("in_ending_thread");
	return NULL;
}

static void started(void)
{
	nvtxRangeId_t outer = nvtxRangeStartA("started"), inner;
	pthread_t thread;

	nvtxRangePushA("pushed");
	inner = nvtxRangeStartA("inner");
	launch("in_started_pushed_inner");
	nvtxRangeEnd(outer);
	launch("in_pushed_inner");
	pthread_create(&thread, NULL, end_range, &inner);
	pthread_join(thread, NULL);
	launch("in_pushed");
	nvtxRangeEnd(inner); /* a second time */
	nvtxRangePop();
	launch("in_nothing");
}

static void *work(void *user)
{
	const long *number = user;
	char name[32], kernel[32];

	snprintf(name, sizeof(name), "thread %ld", *number);
	snprintf(kernel, sizeof(kernel), "in_thread_%ld", *number);
	nvtxRangePushA(name);
	for (int i = 0; i < 100; i++) {
		nvtxRangePushA("inner");
		launch(kernel);
		nvtxRangePop();
	}
	return NULL; /* and leaves its range open */
}

static void threads(long nr)
{
	pthread_t *ids = calloc((size_t)nr, sizeof(*ids));
	long *numbers = calloc((size_t)nr, sizeof(*numbers));

	nvtxRangePushA("main");
	for (long i = 0; i < nr; i++) {
		numbers[i] = i;
		pthread_create(&ids[i], NULL, work, &numbers[i]);
	}
	for (long i = 0; i < nr; i++)
		pthread_join(ids[i], NULL);
	launch("in_main");
	nvtxRangePop();
	free(ids);
	free(numbers);
}

static void numbered(const char *format, long nr)
{
	char name[64];

	for (long i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), format, i);
		nvtxRangePushA(name);
		launch("in_numbered");
		nvtxRangePop();
	}
}

static void depth(void)
{
	char name[32];

	for (int i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "level %c%c", 'a' + i / 10, 'a' + i % 10);
		nvtxRangePushA(name);
	}
	launch("in_depth_70");
	for (int i = 0; i < 6; i++)
		nvtxRangePop();
	launch("in_depth_64");
	for (int i = 0; i < 63; i++)
		nvtxRangePop();
	launch("in_depth_1");
	nvtxRangePop();
}

static void streams(void)
{
	cudaStream_t prefetch, plain, urgent;

	cudaStreamCreateWithFlags(&plain, cudaStreamNonBlocking);
	cudaStreamCreateWithPriority(&prefetch, cudaStreamNonBlocking, -1);
	cudaStreamCreateWithPriority(&urgent, cudaStreamDefault, -3);
	nvtxNameCudaStreamA(prefetch, "prefetch");
	launch("on_default");
	launch_on("on_plain", plain);
	launch_on("on_prefetch", prefetch);
	launch_on("on_urgent", urgent);
	nvtxNameCudaStreamW(plain, L"größe");
	nvtxNameCudaStreamA((cudaStream_t)(uintptr_t)0x12345678u, "no stream");
}

/* Work goes on when the range "measured" has ended. */
static void window(long nr)
{
	launch("before");
	for (int round = 0; round < 2; round++) {
		nvtxRangePushA("measured");
		launch("in_measured");
		nvtxRangePushA("inner");
		launch("in_inner");
		nvtxRangePop();
		nvtxRangePop();
		for (long i = 0; i < nr; i++)
			launch("between");
		nvtxRangePushA("measured too");
		launch("in_other");
		nvtxRangePop();
	}
	cudaDeviceSynchronize();
	launch("after");
}

/* Steps of a training, with something between. */
static void training(long nr)
{
	for (long i = 1; i <= nr; i++) {
		char name[32];

		snprintf(name, sizeof(name), "in_step_%ld", i);
		launch("between");
		nvtxRangePushA("step");
		launch(name);
		cudaDeviceSynchronize();
		nvtxRangePop();
	}
}

/* As XLA does it: each operation registers its title, its code, and its places, which are in the payload. */
struct operation {
	nvtxStringHandle_t title, code, places;
};

static void push_operation(nvtxDomainHandle_t domain, uint64_t schema,
			   const struct operation *operation)
{
	const nvtxPayloadData_t payload = {schema, sizeof(*operation), operation};
	nvtxEventAttributes_t event = attributes();

	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	event.message.registered = operation->title;
	event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	event.reserved0 = 1;
	event.payload.ullValue = (uint64_t)(uintptr_t)&payload;
	nvtxDomainRangePushEx(domain, &event);
}

static void xla(long nr)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("TSL");
	const nvtxPayloadSchemaEntry_t entries[] = {
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE,
		 .name = "HLO",
		 .offset = 8},
		{.type = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE,
		 .name = "Source locations",
		 .offset = 16}};
	const nvtxPayloadSchemaAttr_t schema = {.fieldMask =
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
							NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
						.entries = entries,
						.numEntries = 2};
	uint64_t id = nvtxPayloadSchemaRegister(domain, &schema);
	nvtxEventAttributes_t event = attributes();

	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = "XlaModule:#hlo_module=jit_step,program_id=7#";
	nvtxDomainRangePushEx(domain, &event);
	for (long i = 0; i < nr; i++) {
		struct operation operation;
		char text[256];

		snprintf(text, sizeof(text),
			 "Thunk:#name=jit(step)/add,hlo_op=fusion.%ld,unique_hlo_op_id=%ld#", i % 2,
			 i);
		operation.title = nvtxDomainRegisterStringA(domain, text);
		operation.code = nvtxDomainRegisterStringA(
			domain, "fusion.1 = f32[] fusion(a.1), kind=kLoop");
		snprintf(text, sizeof(text),
			 "\n- /home/u/train.py:%ld:3[layer] add\n- /home/u/train.py:9:1[loss]\n",
			 100 + i);
		operation.places = nvtxDomainRegisterStringA(domain, i == 1 ? "\n" : text);
		push_operation(domain, id, &operation);
		launch("in_operation");
		push_operation(domain, id, &operation);
		launch("in_both");
		nvtxDomainRangePop(domain);
		nvtxDomainRangePop(domain);
	}
	event.message.ascii = "Thunk:#hlo_op=copy.1#";
	nvtxDomainRangePushEx(domain, &event);
	launch("in_copy");
	nvtxDomainRangePop(domain);
	launch("in_module");
	nvtxDomainRangePop(domain);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "ranges";
	long nr = argc > 2 ? atol(argv[2]) : 1;

	/* Before CUDA starts. */
	nvtxRangePushA("setup");
	launch("in_setup");
	nvtxRangePop();
	if (strcmp(what, "ranges") == 0) {
		nested();
		unbalanced();
		domains();
		texts();
		started();
	} else if (strcmp(what, "depth") == 0) {
		depth();
	} else if (strcmp(what, "steps") == 0) {
		numbered("step %ld", nr);
	} else if (strcmp(what, "names") == 0) {
		numbered("step %ld of many", nr);
	} else if (strcmp(what, "threads") == 0) {
		threads(nr);
	} else if (strcmp(what, "streams") == 0) {
		streams();
	} else if (strcmp(what, "window") == 0) {
		window(nr);
	} else if (strcmp(what, "training") == 0) {
		training(nr);
	} else if (strcmp(what, "xla") == 0) {
		xla(nr);
	}
	cudaDeviceSynchronize();
	return 0;
}
