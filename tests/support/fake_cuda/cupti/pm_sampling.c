#include "pm_sampling.h"

#include <cupti.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "node-agent/counters/pm_abi.h"
#include "sim/sim_config.h"
#include "sim/sim_device.h"
#include "sim/sim_power.h"

/* Of FAKE_CUPTI_PM_WRONG. */
#define WRONG_VALUES 1u
#define WRONG_AHEAD  2u
#define WRONG_AGAIN  3u
#define WRONG_PRINTS 4u
#define WRONG_EACH   20u /* samples */
#define HOUR_NS      3600000000000ull

#define LATE_NS  500000000u
#define FIRST_NS 500000000u
#define WHOLE_MW 1000000.0

/* The names are CUPTI's, the structs are those of pm_abi.h. */
CUptiResult cuptiPmSamplingGetCounterAvailability(struct pm_availability *params);
CUptiResult cuptiPmSamplingEnable(struct pm_enable *params);
CUptiResult cuptiPmSamplingDisable(struct metrics_call *params);
CUptiResult cuptiPmSamplingSetConfig(struct pm_set *params);
CUptiResult cuptiPmSamplingGetCounterDataSize(struct pm_counters_size *params);
CUptiResult cuptiPmSamplingCounterDataImageInitialize(struct pm_counters *params);
CUptiResult cuptiPmSamplingStart(struct metrics_call *params);
CUptiResult cuptiPmSamplingStop(struct metrics_call *params);
CUptiResult cuptiPmSamplingDecodeData(struct pm_decode *params);
CUptiResult cuptiPmSamplingGetCounterDataInfo(struct pm_counted *params);
CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(struct pm_sample *params);

static const struct {
	const char *name;
	double always, work, power; /* in a nanosecond, or percent */
} counters[] = {
	{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", 60, 100, 0},
	{"sm__warps_active_realtime.avg.pct_of_peak_sustained_elapsed", 30, 50, 0},
	{"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", 20, 0, 100},
	{"dram__throughput.avg.pct_of_peak_sustained_elapsed", 40, 0, 100},
	{"dram__bytes_read.sum", 2, 0, 1676.16},
	{"dram__bytes_write.sum", 1, 0, 1676.16},
	{"pcie__read_bytes.sum", 0.016, 0, 0},
	{"pcie__write_bytes.sum", 0.032, 0, 0},
	{"nvlrx__bytes.sum", 0.064, 0, 0},
	{"nvltx__bytes.sum", 0.08, 0, 0},
};

#define COUNTERS (sizeof(counters) / sizeof(*counters))
#define NVLINK   8u /* the first of NVLink's */

struct taken {
	uint64_t start_ns, end_ns;
	double work_ns, power_ns; /* of operations; power: of WHOLE_MW */
};

struct image {
	uint32_t token, room, count;
	bool has_power;
	struct taken samples[];
};

struct session {
	uint32_t pci_bus;
	bool is_set, is_started, is_lost;
	const uint8_t *config; /* must live until the session is disabled */
	uint8_t first_byte;
	uint64_t interval_ns, begin_ns, next; /* next: number of the sample */
};

static struct session *sessions[SIM_DEVICES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t nr_decodes;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const char *power_path(void)
{
	const char *path = getenv("FAKE_CUDA_POWER");

	return path && *path ? path : NULL;
}

static size_t counter_of(const char *name)
{
	size_t i = 0;

	while (i < COUNTERS && strcmp(counters[i].name, name) != 0)
		i++;
	return i >= NVLINK && !sim_config_get(SIM_PM_NVLINK) ? COUNTERS : i;
}

bool pm_sampling_has(const char *name)
{
	return counter_of(name) < COUNTERS;
}

int pm_sampling_evaluate(struct metrics_evaluate *params)
{
	const struct image *image = (const void *)params->counters;
	const struct taken *sample = &image->samples[params->range];

	if (params->size != 72 || params->range >= image->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	const double ns = (double)(sample->end_ns - sample->start_ns);
	for (size_t i = 0; i < params->count; i++) {
		const size_t at = counter_of(params->names[i]);

		if (at == COUNTERS)
			return CUPTI_ERROR_INVALID_PARAMETER;
		const bool is_part = strstr(counters[at].name, "pct_of_peak") != NULL;
		params->values[i] = image->has_power ? counters[at].work * sample->work_ns +
							       counters[at].power * sample->power_ns
						     : counters[at].always * ns;
		if (is_part)
			params->values[i] /= ns;
		if (sim_config_get(SIM_PM_WRONG) == WRONG_VALUES)
			params->values[i] = NAN;
	}
	return CUPTI_SUCCESS;
}

/* ---- sessions */

CUptiResult cuptiPmSamplingGetCounterAvailability(struct pm_availability *params)
{
	if (params->size != 40 || params->device >= sim_device_count())
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->image_size = 16;
	if (params->image)
		memset(params->image, 1, 16);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingEnable(struct pm_enable *params)
{
	const CUptiResult refusal = (CUptiResult)sim_config_get(SIM_PM_REFUSED);

	if (params->size != 32 || params->device >= sim_device_count())
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (refusal)
		return refusal;
	pthread_mutex_lock(&lock);
	struct session **session = &sessions[params->device];
	const bool is_taken = *session != NULL;
	if (!is_taken) {
		*session = calloc(1, sizeof(**session));
		if (!*session)
			abort();
		(*session)->pci_bus = sim_device_visible((int)params->device)->pci_bus;
		params->object = *session;
	}
	pthread_mutex_unlock(&lock);
	return is_taken ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}

/* A session that is none of ours is as a crash. The lock is held. */
static struct session **find(const void *object)
{
	uint32_t i = 0;

	while (i < SIM_DEVICES_MAX && sessions[i] != object)
		i++;
	if (!object || i == SIM_DEVICES_MAX)
		abort();
	return &sessions[i];
}

CUptiResult cuptiPmSamplingDisable(struct metrics_call *params)
{
	pthread_mutex_lock(&lock);
	struct session **session = find(params->object);
	if ((*session)->is_set && *(*session)->config != (*session)->first_byte)
		abort(); /* the image of the configuration is gone: CUPTI hangs or crashes */
	free(*session);
	*session = NULL;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingSetConfig(struct pm_set *params)
{
	pthread_mutex_lock(&lock);
	struct session *session = *find(params->object);
	const bool fits = params->size == 64 && params->config_size && params->buffer_size &&
			  params->interval && params->trigger == PM_ABI_BY_TIME &&
			  params->append == PM_ABI_KEEP_OLDEST;
	if (fits) {
		session->is_set = true;
		session->config = params->config;
		session->first_byte = *params->config;
		session->interval_ns = params->interval;
	}
	pthread_mutex_unlock(&lock);
	return fits ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiPmSamplingGetCounterDataSize(struct pm_counters_size *params)
{
	if (params->size != 56 || params->samples == 0)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < params->count; i++)
		if (!pm_sampling_has(params->names[i]))
			return CUPTI_ERROR_INVALID_PARAMETER;
	params->counters_size = sizeof(struct image) + params->samples * sizeof(struct taken);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataImageInitialize(struct pm_counters *params)
{
	struct image *image = (struct image *)(void *)params->counters;

	if (params->size != 40)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*image = (struct image){
		.token = PM_SAMPLING_TOKEN,
		.room = (uint32_t)((params->counters_size - sizeof(*image)) / sizeof(struct taken)),
		.has_power = power_path() != NULL,
	};
	return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStart(struct metrics_call *params)
{
	pthread_mutex_lock(&lock);
	struct session *session = *find(params->object);
	const bool may_start = session->is_set && !session->is_started;
	session->is_started = true;
	session->begin_ns = now_ns();
	session->next = 1;
	pthread_mutex_unlock(&lock);
	return may_start ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult cuptiPmSamplingStop(struct metrics_call *params)
{
	pthread_mutex_lock(&lock);
	struct session *session = *find(params->object);
	const bool was_started = session->is_started;
	session->is_started = false;
	pthread_mutex_unlock(&lock);
	return was_started ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

/* ---- samples */

static void add_operation(struct image *image, const struct sim_power_record *record)
{
	for (uint32_t i = 0; i < image->count; i++) {
		struct taken *sample = &image->samples[i];
		const uint64_t from =
			record->start_ns > sample->start_ns ? record->start_ns : sample->start_ns;
		const uint64_t to =
			record->end_ns < sample->end_ns ? record->end_ns : sample->end_ns;

		if (to <= from)
			continue;
		sample->work_ns += (double)(to - from);
		sample->power_ns += (double)(to - from) * record->mw / WHOLE_MW;
	}
}

static void add_operations(struct image *image, uint32_t pci_bus)
{
	struct sim_power_record record;
	FILE *file = image->has_power ? fopen(power_path(), "re") : NULL;

	while (file && fread(&record, sizeof(record), 1, file) == 1)
		if (record.pci_bus == pci_bus && image->count &&
		    record.end_ns > image->samples[0].start_ns &&
		    record.start_ns < image->samples[image->count - 1].end_ns)
			add_operation(image, &record);
	if (file)
		fclose(file);
}

/* The process dies or hangs in its n-th decoding of all. The lock is not held. */
static void fail(uint64_t number)
{
	if (number == sim_config_get(SIM_PM_DIES))
		_exit(3);
	while (number == sim_config_get(SIM_PM_HANGS))
		pause();
}

static bool overflows(uint64_t number)
{
	const uint64_t each = sim_config_get(SIM_PM_OVERFLOW);

	return each && number % each == 0;
}

CUptiResult cuptiPmSamplingDecodeData(struct pm_decode *params)
{
	struct image *image = (struct image *)(void *)params->counters;

	if (params->size != 45 || image->token != PM_SAMPLING_TOKEN)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	const uint64_t number = ++nr_decodes;
	pthread_mutex_unlock(&lock);
	fail(number);
	if (sim_config_get(SIM_PM_WRONG) == WRONG_PRINTS) {
		printf("libsomething: warning: hello\n");
		fflush(stdout);
	}
	pthread_mutex_lock(&lock);
	struct session *session = *find(params->object);
	const uint64_t until = now_ns() - (image->has_power ? LATE_NS : 0);
	params->reason = 2; /* CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS */
	while (session->is_started && !session->is_lost) {
		const uint64_t end = session->begin_ns + session->next * session->interval_ns;

		if (end > until)
			break;
		if (image->count == image->room) {
			params->reason = PM_ABI_IMAGE_FULL;
			break;
		}
		const uint64_t length = session->next == 1 ? FIRST_NS : session->interval_ns;
		image->samples[image->count++] =
			(struct taken){.start_ns = end - length, .end_ns = end};
		session->next++;
	}
	add_operations(image, session->pci_bus);
	session->is_lost |= overflows(number);
	params->overflow = session->is_lost;
	pthread_mutex_unlock(&lock);
	return params->overflow ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataInfo(struct pm_counted *params)
{
	const struct image *image = (const void *)params->counters;

	if (params->size != 56 || image->token != PM_SAMPLING_TOKEN)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->total = image->room;
	params->populated = params->completed = image->count;
	return CUPTI_SUCCESS;
}

/* The process has one thread. */
static void spoil_times(struct pm_sample *params)
{
	static uint64_t number;
	const uint64_t wrong = sim_config_get(SIM_PM_WRONG);
	const uint64_t ns = params->end_ns - params->begin_ns;

	if (++number % WRONG_EACH)
		return;
	if (wrong == WRONG_AHEAD)
		params->begin_ns += HOUR_NS;
	else if (wrong == WRONG_AGAIN)
		params->begin_ns -= ns;
	params->end_ns = params->begin_ns + ns;
}

CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(struct pm_sample *params)
{
	const struct image *image = (const void *)params->counters;

	if (params->size != 64 || params->number >= image->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->begin_ns = image->samples[params->number].start_ns;
	params->end_ns = image->samples[params->number].end_ns;
	spoil_times(params);
	return CUPTI_SUCCESS;
}
