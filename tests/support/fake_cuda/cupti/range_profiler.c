#include "range_profiler.h"

#include <cupti.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/counters/pm_abi.h"
#include "pc_sampling.h"
#include "pm_sampling.h"
#include "sim/sim_clock.h"
#include "sim/sim_config.h"
#include "sim/sim_context.h"
#include "sim/sim_graph.h"
#include "sim/sim_stream.h"
#include "sim/sim_watch.h"

#define CHIP         "GH100"
#define KERNELS_MAX  16u /* in a range */
#define RANGES_MAX   256u
#define SESSIONS_MAX 64u
#define TOKEN        0x52414e47u
#define UNKNOWN      ((CUptiResult)999)
#define INVALID_OP   ((CUptiResult)26)
#define WAIT_NS      80000u /* of CUPTI's own kernel */

/* The names are CUPTI's, the structs are those of metrics_abi.h. */
CUptiResult cuptiProfilerHostInitialize(struct metrics_host *params);
CUptiResult cuptiProfilerHostDeinitialize(struct metrics_call *params);
CUptiResult cuptiProfilerHostGetSupportedChips(struct metrics_chips *params);
CUptiResult cuptiProfilerHostGetBaseMetrics(struct metrics_base *params);
CUptiResult cuptiProfilerHostGetMetricProperties(struct metrics_properties *params);
CUptiResult cuptiProfilerHostConfigAddMetrics(struct metrics_add *params);
CUptiResult cuptiProfilerHostGetConfigImageSize(struct metrics_config_size *params);
CUptiResult cuptiProfilerHostGetConfigImage(struct metrics_image *params);
CUptiResult cuptiProfilerHostGetNumOfPasses(struct metrics_passes *params);
CUptiResult cuptiProfilerHostEvaluateToGpuValues(struct metrics_evaluate *params);
CUptiResult cuptiProfilerInitialize(struct metrics_initialize *params);
CUptiResult cuptiDeviceGetChipName(struct metrics_chip *params);
CUptiResult cuptiProfilerGetCounterAvailability(struct metrics_availability *params);
CUptiResult cuptiRangeProfilerEnable(struct metrics_enable *params);
CUptiResult cuptiRangeProfilerDisable(struct metrics_call *params);
CUptiResult cuptiRangeProfilerGetCounterDataSize(struct metrics_counters_size *params);
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(struct metrics_counters *params);
CUptiResult cuptiRangeProfilerSetConfig(struct metrics_set *params);
CUptiResult cuptiRangeProfilerStart(struct metrics_call *params);
CUptiResult cuptiRangeProfilerStop(struct metrics_stop *params);
CUptiResult cuptiRangeProfilerPushRange(struct metrics_push *params);
CUptiResult cuptiRangeProfilerPopRange(struct metrics_call *params);
CUptiResult cuptiRangeProfilerDecodeData(struct metrics_decode *params);
CUptiResult cuptiRangeProfilerGetCounterDataInfo(struct metrics_counted *params);

static const char *const bases[] = {
	"gpu__time_duration",
	"sm__cycles_active",
	"sm__cycles_elapsed",
	"sm__warps_active",
	"sm__inst_executed",
	"sm__inst_executed_pipe_tensor",
	"dram__bytes",
	"dram__bytes_read",
	"dram__bytes_write",
	"dram__throughput",
	"gpu__dram_throughput",
	"lts__t_bytes",
	"lts__t_sectors_op_read",
	"l1tex__t_bytes",
	"l1tex__t_sector_hit_rate",
	"dram__cycles_elapsed",
	"sm__ops_path_tensor_src_bf16_dst_fp32",
	"sm__throughput",
};

struct host {
	uint32_t token;
	bool is_pm; /* samples, not ranges */
	size_t nr_metrics, passes;
};

struct config {
	uint32_t token, passes;
};

struct range {
	char name[16];
	char kernels[KERNELS_MAX][64];
	uint32_t nr_kernels, passes; /* a bit each */
};

struct counters {
	uint32_t token, decoded;
	uint32_t nr_ranges, room;
	struct range ranges[];
};

struct session {
	uint32_t token;
	void *context; /* NULL: unused */
	uint32_t device;
	bool started, open;
	struct counters *counters;
	uint32_t pass, passes, range;
};

static struct {
	pthread_mutex_t lock;
	struct session sessions[SESSIONS_MAX];
	bool registered;
	char *truth;
	size_t truth_size;
	FILE *lines;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic uint64_t nr_values;
static bool capturing;

static void spoil(struct sim_context *context)
{
	pthread_mutex_lock(&context->lock);
	for (struct sim_stream *stream = context->streams; stream; stream = stream->next)
		if (stream->capture) {
			stream->capture->capture_failed = true;
			capturing = true;
		}
	pthread_mutex_unlock(&context->lock);
}

/* A call during a capture fails, and the capture with it. */
static bool is_capturing(void)
{
	capturing = false;
	sim_context_each(spoil);
	return capturing;
}

static void write_truth(void)
{
	FILE *file = fopen(getenv("FAKE_CUDA_METRICS"), "ae");

	fflush(self.lines);
	if (!file)
		abort();
	fwrite(self.truth, 1, self.truth_size, file);
	fclose(file);
}

static uint64_t unit(const char *metric, const char *kernel)
{
	const char *const parts[] = {metric, ":", kernel};
	uint64_t hash = 0xcbf29ce484222325ull;

	for (int i = 0; i < 3; i++)
		for (const char *at = parts[i]; *at; at++)
			hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
	return 1 + hash % 1000000;
}

static bool is_metric(const char *name)
{
	const size_t size = strcspn(name, ".");

	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (strlen(bases[i]) == size && memcmp(bases[i], name, size) == 0 && name[size])
			return true;
	return false;
}

/* ---- host ------------------------------------------------------------------------------------ */

CUptiResult cuptiProfilerHostInitialize(struct metrics_host *params)
{
	if (params->size != 48 || params->type > PM_ABI_TYPE || strcmp(params->chip, CHIP) != 0)
		return CUPTI_ERROR_INVALID_PARAMETER;
	struct host *host = calloc(1, sizeof(*host));
	if (!host)
		abort();
	host->token = TOKEN;
	host->is_pm = params->type == PM_ABI_TYPE;
	params->object = host;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostDeinitialize(struct metrics_call *params)
{
	struct host *host = params->object;

	if (host->token != TOKEN)
		return CUPTI_ERROR_INVALID_PARAMETER;
	free(host);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetSupportedChips(struct metrics_chips *params)
{
	static const char *const chips[] = {CHIP};

	params->count = 1;
	params->names = chips;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetBaseMetrics(struct metrics_base *params)
{
	params->names = (const char **)bases;
	params->count = params->type == 0 ? sizeof(bases) / sizeof(*bases) : 0;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetMetricProperties(struct metrics_properties *params)
{
	params->description = "a number that follows from the names of metric and kernel";
	params->unit = params->dimension = "none";
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostConfigAddMetrics(struct metrics_add *params)
{
	struct host *host = params->object;

	for (size_t i = 0; i < params->count; i++)
		if (host->is_pm ? !pm_sampling_has(params->names[i]) : !is_metric(params->names[i]))
			return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < params->count; i++) {
		const bool has_many = strncmp(params->names[i], "sm__throughput.", 15) == 0;
		const size_t passes = has_many ? 3 : 1;

		host->passes = passes > host->passes ? passes : host->passes;
	}
	host->nr_metrics += params->count;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(struct metrics_config_size *params)
{
	params->image_size = sizeof(struct config);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImage(struct metrics_image *params)
{
	const struct host *host = params->object;
	struct config *config = (struct config *)(void *)params->image;

	if (params->image_size != sizeof(*config) || !host->nr_metrics)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*config = (struct config){TOKEN, (uint32_t)host->passes};
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(struct metrics_passes *params)
{
	const struct config *config = (const struct config *)(void *)params->image;

	if (params->image_size != sizeof(*config) || config->token != TOKEN)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->passes = config->passes;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostEvaluateToGpuValues(struct metrics_evaluate *params)
{
	const struct counters *counters = (const void *)params->counters;
	const struct range *range = &counters->ranges[params->range];

	if (counters->token == PM_SAMPLING_TOKEN)
		return (CUptiResult)pm_sampling_evaluate(params);
	if (params->size != 72 || counters->token != TOKEN || !counters->decoded ||
	    params->range >= counters->nr_ranges)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < params->count; i++) {
		params->values[i] = 0;
		for (uint32_t k = 0; k < range->nr_kernels; k++)
			params->values[i] += (double)unit(params->names[i], range->kernels[k]);
		if (sim_config_one_in(sim_config_get(SIM_METRICS_NAN), &nr_values))
			params->values[i] = NAN;
	}
	return CUPTI_SUCCESS;
}

/* ---- target ---------------------------------------------------------------------------------- */

CUptiResult cuptiProfilerInitialize(struct metrics_initialize *params)
{
	return params->size == 16 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiDeviceGetChipName(struct metrics_chip *params)
{
	params->name = CHIP;
	return CUPTI_SUCCESS;
}

/* Another context's started session has the GPU. */
static bool is_taken(const void *context)
{
	const struct sim_context *own = context;

	for (uint32_t i = 0; i < SESSIONS_MAX; i++)
		if (self.sessions[i].context && self.sessions[i].context != context &&
		    self.sessions[i].started && self.sessions[i].device == (uint32_t)own->ordinal)
			return true;
	return false;
}

CUptiResult cuptiProfilerGetCounterAvailability(struct metrics_availability *params)
{
	bool taken;

	pthread_mutex_lock(&self.lock);
	taken = is_taken(params->context);
	pthread_mutex_unlock(&self.lock);
	if (taken && params->image)
		return INVALID_OP;
	params->image_size = 16;
	return CUPTI_SUCCESS;
}

static void synchronize(struct sim_context *context)
{
	if (sim_config_get(SIM_METRICS_SYNCS))
		sim_context_synchronize(context);
}

CUptiResult cuptiRangeProfilerEnable(struct metrics_enable *params)
{
	CUptiResult refusal = (CUptiResult)sim_config_get(SIM_METRICS_REFUSED);
	const struct sim_context *context = params->context;
	uint32_t i = 0;

	sim_watch_call(__func__);
	if (params->size != 32 || !context)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (refusal)
		return refusal;
	if (pc_sampling_has((uint32_t)context->ordinal))
		return INVALID_OP;
	synchronize(params->context);
	pthread_mutex_lock(&self.lock);
	while (i < SESSIONS_MAX && self.sessions[i].context)
		i++;
	if (i == SESSIONS_MAX)
		abort();
	self.sessions[i] = (struct session){
		.token = TOKEN, .context = params->context, .device = (uint32_t)context->ordinal};
	params->object = &self.sessions[i];
	if (!self.registered && getenv("FAKE_CUDA_METRICS")) {
		self.lines = open_memstream(&self.truth, &self.truth_size);
		atexit(write_truth);
	}
	self.registered = true;
	pthread_mutex_unlock(&self.lock);
	return CUPTI_SUCCESS;
}

static struct session *session_of(void *object)
{
	struct session *session = object;

	if (session->token != TOKEN || !session->context)
		abort(); /* as a crash */
	return session;
}

CUptiResult cuptiRangeProfilerDisable(struct metrics_call *params)
{
	struct session *session = session_of(params->object);

	synchronize(session->context);
	pthread_mutex_lock(&self.lock);
	*session = (struct session){0};
	pthread_mutex_unlock(&self.lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(struct metrics_counters_size *params)
{
	session_of(params->object);
	if (params->size != 64 || params->ranges > RANGES_MAX || params->nodes < params->ranges)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->counters_size = sizeof(struct counters) + params->ranges * sizeof(struct range);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerCounterDataImageInitialize(struct metrics_counters *params)
{
	struct counters *counters = (struct counters *)(void *)params->counters;

	memset(counters, 0, params->counters_size);
	counters->token = TOKEN;
	counters->room =
		(uint32_t)((params->counters_size - sizeof(*counters)) / sizeof(struct range));
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(struct metrics_set *params)
{
	struct session *session = session_of(params->object);
	const struct config *config = (const void *)params->config;
	struct counters *counters = (struct counters *)(void *)params->counters;

	if (params->size != 90 || config->token != TOKEN || counters->token != TOKEN ||
	    params->range != METRICS_ABI_USER_RANGE || params->levels != 1 ||
	    params->ranges != counters->room || params->pass >= config->passes)
		return CUPTI_ERROR_INVALID_PARAMETER;
	session->counters = counters;
	session->passes = config->passes;
	session->pass = (uint32_t)params->pass;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStart(struct metrics_call *params)
{
	struct session *session = session_of(params->object);
	bool taken;

	if (is_capturing())
		return UNKNOWN;
	pthread_mutex_lock(&self.lock);
	taken = is_taken(session->context);
	session->started = !taken;
	session->counters->decoded = 0;
	pthread_mutex_unlock(&self.lock);
	return taken ? INVALID_OP : CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStop(struct metrics_stop *params)
{
	struct session *session = session_of(params->object);

	if (!session->started)
		return INVALID_OP;
	if (is_capturing())
		return UNKNOWN;
	synchronize(session->context);
	pthread_mutex_lock(&self.lock);
	session->started = false;
	params->is_whole = session->pass + 1 == session->passes;
	params->next_pass = (session->pass + 1) % session->passes;
	pthread_mutex_unlock(&self.lock);
	return CUPTI_SUCCESS;
}

/* The passes of a range have its name. */
static uint32_t range_of(struct counters *counters, const char *name)
{
	uint32_t i = 0;

	while (i < counters->nr_ranges && strcmp(counters->ranges[i].name, name) != 0)
		i++;
	if (i == counters->room)
		abort(); /* as CUPTI crashes */
	if (i == counters->nr_ranges) {
		counters->nr_ranges++;
		snprintf(counters->ranges[i].name, sizeof(counters->ranges[i].name), "%s", name);
	}
	return i;
}

/* As CUPTI 13.0's, which has the id of the call whose callback this is. No truth has it: the program launched nothing. */
static void run_own_kernel(struct sim_context *context)
{
	const uint64_t now_ns = sim_clock_now();

	sim_trace_operation(&(struct sim_operation){.kind = SIM_KERNEL,
						    .name = "WaitNs",
						    .device_ordinal = (uint32_t)context->ordinal,
						    .context_id = context->context_id,
						    .stream_id = context->streams->stream_id,
						    .correlation_id = sim_trace_correlation_id(),
						    .start_ns = now_ns,
						    .end_ns = now_ns + WAIT_NS,
						    .grid = {1, 1, 1},
						    .block = {1, 1, 1}});
	sim_clock_wait(now_ns + WAIT_NS);
}

CUptiResult cuptiRangeProfilerPushRange(struct metrics_push *params)
{
	struct session *session = session_of(params->object);

	sim_watch_call(__func__);
	if (!session->started || session->open)
		return INVALID_OP;
	if (is_capturing())
		return UNKNOWN;
	sim_context_synchronize(session->context);
	if (sim_config_get(SIM_METRICS_WAITS))
		run_own_kernel(session->context);
	pthread_mutex_lock(&self.lock);
	session->range = range_of(session->counters, params->name);
	session->open = true;
	pthread_mutex_unlock(&self.lock);
	return CUPTI_SUCCESS;
}

static void tell(const struct session *session, const struct range *range)
{
	if (!self.lines || range->passes != (1u << session->passes) - 1)
		return;
	fprintf(self.lines, "%u\t%u\t", session->device, session->passes);
	for (uint32_t i = 0; i < range->nr_kernels; i++)
		fprintf(self.lines, "%s%s", i ? "+" : "", range->kernels[i]);
	fputc('\n', self.lines);
}

CUptiResult cuptiRangeProfilerPopRange(struct metrics_call *params)
{
	struct session *session = session_of(params->object);

	sim_watch_call(__func__);
	if (!session->open)
		return INVALID_OP;
	if (is_capturing())
		return UNKNOWN;
	sim_context_synchronize(session->context);
	pthread_mutex_lock(&self.lock);
	struct range *range = &session->counters->ranges[session->range];
	range->passes |= 1u << session->pass;
	session->open = false;
	tell(session, range);
	pthread_mutex_unlock(&self.lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDecodeData(struct metrics_decode *params)
{
	struct session *session = session_of(params->object);

	synchronize(session->context);
	session->counters->decoded = 1;
	params->dropped = 0;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(struct metrics_counted *params)
{
	const struct counters *counters = (const void *)params->counters;

	if (counters->token != TOKEN)
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ranges = counters->nr_ranges;
	return CUPTI_SUCCESS;
}

bool range_profiler_has(uint32_t device_ordinal)
{
	bool has = false;

	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < SESSIONS_MAX; i++)
		has |= self.sessions[i].context && self.sessions[i].device == device_ordinal;
	pthread_mutex_unlock(&self.lock);
	return has;
}

void range_profiler_record(const struct sim_operation *operation)
{
	if (operation->kind != SIM_KERNEL)
		return;
	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *session = &self.sessions[i];

		if (!session->open || session->device != operation->device_ordinal)
			continue;
		struct range *range = &session->counters->ranges[session->range];
		/* Each pass counts a part of the same kernel. */
		if (session->pass == 0 && range->nr_kernels < KERNELS_MAX)
			snprintf(range->kernels[range->nr_kernels++], sizeof(range->kernels[0]),
				 "%s", operation->name);
	}
	pthread_mutex_unlock(&self.lock);
}
