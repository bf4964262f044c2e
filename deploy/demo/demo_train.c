/* A program shaped like training a small transformer: a host thread and three streams for every
 * GPU, kernels of known names and durations, copies in both directions. It computes nothing of use.
 * The first GPU's thread marks the steps, as flamegrid.h says.
 *
 *   flamegrid-demo-train [STEPS]     (default 700: two to four seconds)
 *
 * Runs on any CUDA driver, fake ones included. At the end it prints, for comparison with a profile,
 * what it launched: "launched DEVICE KERNEL COUNT", and "copied DEVICE KIND COUNT". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "demo_driver.h"
#include "demo_kernels.h"

#include "api/flamegrid.h"

/* These functions keep their names and frames. */
#if __has_attribute(noipa)
#define NAMED __attribute__((noipa))
#else
#define NAMED __attribute__((noinline))
#endif
#define DEVICES_MAX   64
#define LAYERS        3
#define DEFAULT_STEPS 700
#define BATCH_BYTES   (1u << 20)
#define WEIGHT_BYTES  (4u << 20)
#define BUCKET_BYTES  (2u << 20)

/* Keeps a call from becoming a jump, so that its caller stays on the stack. */
#define STAY() __asm__ volatile("")

enum { COPY_TO_DEVICE, COPY_TO_HOST, COPY_INSIDE, FILL, TRANSFERS };

struct trainer {
	int device;
	int steps;
	pthread_t thread;
	void *functions[DEMO_KERNELS];
	void *compute, *loader, *exchange;   /* streams */
	void *batch_ready, *gradients_ready; /* events */
	device_address batch, activations, weights, gradients;
	void *host_batch, *host_loss; /* pinned */
	unsigned long launched[DEMO_KERNELS];
	unsigned long moved[TRANSFERS];
};

static void launch(struct trainer *trainer, enum demo_kernel kernel, device_address data,
		   void *stream)
{
	const struct demo_kernel_shape *shape = &demo_kernel_shapes[kernel];
	uint32_t rounds = shape->rounds;
	void *params[] = {&data, &rounds};

	REQUIRE(cuLaunchKernel, trainer->functions[kernel], shape->grid, 1, 1, shape->block, 1, 1,
		0, stream, params, NULL);
	trainer->launched[kernel]++;
	STAY();
}

NAMED static void load_batch(struct trainer *trainer)
{
	REQUIRE(cuMemcpyHtoDAsync_v2, trainer->batch, trainer->host_batch, BATCH_BYTES,
		trainer->loader);
	trainer->moved[COPY_TO_DEVICE]++;
	REQUIRE(cuEventRecord, trainer->batch_ready, trainer->loader);
	REQUIRE(cuStreamWaitEvent, trainer->compute, trainer->batch_ready, 0);
	STAY();
}

NAMED static void embed_tokens(struct trainer *trainer)
{
	launch(trainer, DEMO_EMBEDDING, trainer->activations, trainer->compute);
	STAY();
}

NAMED static void attention_layer(struct trainer *trainer)
{
	launch(trainer, DEMO_LAYER_NORM, trainer->activations, trainer->compute);
	launch(trainer, DEMO_GEMM, trainer->activations, trainer->compute);
	launch(trainer, DEMO_SOFTMAX, trainer->activations, trainer->compute);
	launch(trainer, DEMO_GEMM, trainer->activations, trainer->compute);
	STAY();
}

NAMED static void mlp_layer(struct trainer *trainer)
{
	launch(trainer, DEMO_LAYER_NORM, trainer->activations, trainer->compute);
	launch(trainer, DEMO_GEMM, trainer->activations, trainer->compute);
	launch(trainer, DEMO_RELU, trainer->activations, trainer->compute);
	launch(trainer, DEMO_GEMM, trainer->activations, trainer->compute);
	STAY();
}

NAMED static void forward(struct trainer *trainer)
{
	embed_tokens(trainer);
	for (int layer = 0; layer < LAYERS; layer++) {
		attention_layer(trainer);
		mlp_layer(trainer);
	}
	STAY();
}

NAMED static void compute_loss(struct trainer *trainer)
{
	launch(trainer, DEMO_LOSS, trainer->activations, trainer->compute);
	launch(trainer, DEMO_REDUCE, trainer->activations, trainer->compute);
	STAY();
}

NAMED static void zero_gradients(struct trainer *trainer)
{
	REQUIRE(cuMemsetD32Async, trainer->gradients, 0, WEIGHT_BYTES / 4, trainer->compute);
	trainer->moved[FILL]++;
	STAY();
}

NAMED static void attention_backward(struct trainer *trainer)
{
	launch(trainer, DEMO_GEMM_GRAD, trainer->gradients, trainer->compute);
	launch(trainer, DEMO_SOFTMAX, trainer->gradients, trainer->compute);
	STAY();
}

NAMED static void mlp_backward(struct trainer *trainer)
{
	launch(trainer, DEMO_GEMM_GRAD, trainer->gradients, trainer->compute);
	launch(trainer, DEMO_RELU, trainer->gradients, trainer->compute);
	STAY();
}

/* Data-parallel training exchanges one bucket while it computes the next; this does the same. */
NAMED static void all_reduce_bucket(struct trainer *trainer)
{
	REQUIRE(cuEventRecord, trainer->gradients_ready, trainer->compute);
	REQUIRE(cuStreamWaitEvent, trainer->exchange, trainer->gradients_ready, 0);
	REQUIRE(cuMemcpyDtoDAsync_v2, trainer->gradients + WEIGHT_BYTES, trainer->gradients,
		BUCKET_BYTES, trainer->exchange);
	trainer->moved[COPY_INSIDE]++;
	launch(trainer, DEMO_REDUCE, trainer->gradients + WEIGHT_BYTES, trainer->exchange);
	STAY();
}

NAMED static void backward(struct trainer *trainer)
{
	zero_gradients(trainer);
	for (int layer = LAYERS; layer-- > 0;) {
		mlp_backward(trainer);
		attention_backward(trainer);
		all_reduce_bucket(trainer);
	}
	STAY();
}

NAMED static void optimizer_step(struct trainer *trainer)
{
	for (int layer = 0; layer < LAYERS; layer++)
		launch(trainer, DEMO_ADAM, trainer->weights, trainer->compute);
	STAY();
}

NAMED static void read_loss(struct trainer *trainer)
{
	REQUIRE(cuMemcpyDtoHAsync_v2, trainer->host_loss, trainer->activations, sizeof(float),
		trainer->compute);
	trainer->moved[COPY_TO_HOST]++;
	REQUIRE(cuStreamSynchronize, trainer->compute);
	STAY();
}

NAMED static void train_step(struct trainer *trainer)
{
	load_batch(trainer);
	forward(trainer);
	compute_loss(trainer);
	backward(trainer);
	optimizer_step(trainer);
	read_loss(trainer);
	STAY();
}

NAMED static void set_up(struct trainer *trainer)
{
	void *context, *module;

	REQUIRE(cuDevicePrimaryCtxRetain, &context, trainer->device);
	REQUIRE(cuCtxSetCurrent, context);
	REQUIRE(cuModuleLoadData, &module, demo_kernels_ptx);
	for (int k = 0; k < DEMO_KERNELS; k++)
		REQUIRE(cuModuleGetFunction, &trainer->functions[k], module,
			demo_kernel_shapes[k].name);
	REQUIRE(cuStreamCreate, &trainer->compute, 1);
	REQUIRE(cuStreamCreate, &trainer->loader, 1);
	REQUIRE(cuStreamCreate, &trainer->exchange, 1);
	REQUIRE(cuEventCreate, &trainer->batch_ready, 0);
	REQUIRE(cuEventCreate, &trainer->gradients_ready, 0);
	REQUIRE(cuMemAlloc_v2, &trainer->batch, BATCH_BYTES);
	REQUIRE(cuMemAlloc_v2, &trainer->activations, WEIGHT_BYTES);
	REQUIRE(cuMemAlloc_v2, &trainer->weights, WEIGHT_BYTES);
	REQUIRE(cuMemAlloc_v2, &trainer->gradients, (size_t)2 * WEIGHT_BYTES);
	REQUIRE(cuMemAllocHost_v2, &trainer->host_batch, BATCH_BYTES);
	REQUIRE(cuMemAllocHost_v2, &trainer->host_loss, sizeof(float));
	STAY();
}

NAMED static void *train(void *argument)
{
	struct trainer *trainer = argument;

	set_up(trainer);
	for (int step = 0; step < trainer->steps; step++) {
		if (trainer->device == 0)
			flamegrid_step();
		train_step(trainer);
	}
	if (trainer->device == 0)
		flamegrid_step_end();
	REQUIRE(cuCtxSynchronize);
	return NULL;
}

static void print_counts(const struct trainer *trainer)
{
	static const char *const names[TRANSFERS] = {"HtoD", "DtoH", "DtoD", "memset"};

	for (int k = 0; k < DEMO_KERNELS; k++)
		printf("launched %d %s %lu\n", trainer->device, demo_kernel_shapes[k].name,
		       trainer->launched[k]);
	for (int t = 0; t < TRANSFERS; t++)
		printf("copied %d %s %lu\n", trainer->device, names[t], trainer->moved[t]);
}

int main(int argc, char **argv)
{
	static struct trainer trainers[DEVICES_MAX];
	int steps = argc > 1 ? atoi(argv[1]) : DEFAULT_STEPS;
	int devices = 0;

	if (steps < 1 || argc > 2) {
		fprintf(stderr, "usage: flamegrid-demo-train [STEPS]\n");
		return 2;
	}
	if (demo_driver_load() != 0)
		return 1;
	REQUIRE(cuInit, 0);
	REQUIRE(cuDeviceGetCount, &devices);
	devices = devices < DEVICES_MAX ? devices : DEVICES_MAX;
	for (int d = 0; d < devices; d++) {
		trainers[d].device = d;
		trainers[d].steps = steps;
		if (pthread_create(&trainers[d].thread, NULL, train, &trainers[d]) != 0)
			return 1;
	}
	for (int d = 0; d < devices; d++)
		pthread_join(trainers[d].thread, NULL);
	for (int d = 0; d < devices; d++)
		print_counts(&trainers[d]);
	return 0;
}
