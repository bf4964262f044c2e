/* GPM of the fake libnvidia-ml: each GPU always has the use and the traffic that its fields say, or, with
 * FAKE_CUDA_POWER, the use of its operations. */
#include <math.h>
#include <stdlib.h>

#include "fake_nvml.h"

#define MW_FULL   1000000.0
#define COPY_NS   100000000ull
#define NS_PER_MS 1000000ull

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, VERSION_MISMATCH = 25 };

struct gpm_support {
	unsigned int version, is_supported;
};

struct gpm_sample {
	struct nvml_device *device; /* NULL: nothing was taken */
	uint32_t number;            /* of the device's samples */
	unsigned long long at_ns;   /* CLOCK_REALTIME */
	double mw_ns;               /* of operations by then */
};

struct gpm_metric {
	unsigned int id;
	int result;
	double value;
	char *names[3];
};

struct gpm_metrics {
	unsigned int version, count;
	struct gpm_sample *before, *now;
	struct gpm_metric list[];
};

int nvmlGpmQueryDeviceSupport(struct nvml_device *device, struct gpm_support *support);
int nvmlGpmSampleAlloc(struct gpm_sample **sample);
int nvmlGpmSampleFree(struct gpm_sample *sample);
int nvmlGpmSampleGet(struct nvml_device *device, struct gpm_sample *sample);
int nvmlGpmMetricsGet(struct gpm_metrics *metrics);

int nvmlGpmQueryDeviceSupport(struct nvml_device *device, struct gpm_support *support)
{
	const struct fake_nvml_gpu *gpu = fake_nvml_gpu(device, NULL);

	if (!gpu)
		return INVALID_ARGUMENT;
	if (support->version != 1)
		return VERSION_MISMATCH;
	support->is_supported = gpu->gpm != NOT_SUPPORTED;
	return SUCCESS;
}

int nvmlGpmSampleAlloc(struct gpm_sample **sample)
{
	*sample = calloc(1, sizeof(**sample));
	if (!*sample)
		abort();
	fake_nvml.nr_samples++;
	return SUCCESS;
}

int nvmlGpmSampleFree(struct gpm_sample *sample)
{
	free(sample);
	fake_nvml.nr_samples--;
	return SUCCESS;
}

int nvmlGpmSampleGet(struct nvml_device *device, struct gpm_sample *sample)
{
	const struct fake_nvml_gpu *gpu = fake_nvml_gpu(device, &sample->number);

	if (!gpu)
		return INVALID_ARGUMENT;
	sample->device = device;
	sample->at_ns = fake_nvml_now_ns() - gpu->delay_ms * NS_PER_MS;
	if (gpu->delay_ms)
		sample->at_ns -= sample->at_ns % COPY_NS;
	sample->mw_ns = fake_nvml_work(device, sample->at_ns);
	return (int)gpu->gpm;
}

/* In thousandths of a percent, or in MiB a second. */
static int value_of(const struct fake_nvml_gpu *gpu, unsigned int id, double *value)
{
	static const double wrong[] = {0, NAN, INFINITY, -1, 100.5, 1e300};

	switch (id) {
	case 1:
		*value = gpu->computing / 1000.0;
		break;
	case 2:
		*value = gpu->wrong < sizeof(wrong) / sizeof(*wrong) && gpu->wrong
				 ? wrong[gpu->wrong]
				 : gpu->active / 1000.0;
		break;
	case 3:
		*value = gpu->occupancy / 1000.0;
		break;
	case 5:
		*value = gpu->tensor / 1000.0;
		break;
	case 10:
		*value = gpu->dram / 1000.0;
		break;
	case 20:
		*value = gpu->sent;
		break;
	case 21:
		*value = gpu->received;
		break;
	case 60:
		*value = gpu->nvlink_received;
		return fake_nvml.nr_links ? SUCCESS : NOT_SUPPORTED;
	case 61:
		*value = gpu->nvlink_sent;
		return fake_nvml.nr_links ? SUCCESS : NOT_SUPPORTED;
	default:
		return NOT_SUPPORTED;
	}
	return SUCCESS;
}

/* Of tensor cores and memory, in percent of MW_FULL. */
static int use_of_work(const struct gpm_metrics *metrics, double *value)
{
	const double ns = (double)(metrics->now->at_ns - metrics->before->at_ns);

	*value = ns > 0 ? 100 * (metrics->now->mw_ns - metrics->before->mw_ns) / ns / MW_FULL : 0;
	return SUCCESS;
}

/* Only a sample and the one just before it are compared, so that nothing between two readings is missed. */
int nvmlGpmMetricsGet(struct gpm_metrics *metrics)
{
	if (metrics->version != 1)
		return VERSION_MISMATCH;
	if (!metrics->before || !metrics->now || !metrics->before->device ||
	    metrics->before->device != metrics->now->device ||
	    metrics->now->number != metrics->before->number + 1)
		return INVALID_ARGUMENT;
	for (unsigned int i = 0; i < metrics->count; i++)
		if (getenv("FAKE_CUDA_POWER") &&
		    (metrics->list[i].id == 5 || metrics->list[i].id == 10))
			metrics->list[i].result = use_of_work(metrics, &metrics->list[i].value);
		else
			metrics->list[i].result =
				value_of(fake_nvml_gpu(metrics->now->device, NULL),
					 metrics->list[i].id, &metrics->list[i].value);
	return SUCCESS;
}
