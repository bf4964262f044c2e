#include "pc_sampling.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "range_profiler.h"
#include "sim/sim_config.h"
#include "sim/sim_context.h"
#include "sim/sim_device.h"

#define PLACES_MAX   4096u
#define SESSIONS_MAX 64u
#define REASONS      6u
#define PER_KERNEL   5u

static const char *const reasons[REASONS] = {
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
	"smsp__pcsamp_warps_issue_stalled_selected",
	"smsp__pcsamp_warps_issue_stalled_barrier",
	"smsp__pcsamp_warps_issue_stalled_barrier_not_issued",
	"smsp__pcsamp_samples_data_dropped",
};
static const uint32_t indexes[REASONS] = {14, 15, 28, 2, 3, 39}; /* in no order, as CUPTI's */
static const uint32_t counted[] = {14, 28, 2};                   /* of those that samples have */

/* One instruction and reason of one kernel on one context. */
struct place {
	uint32_t context_id, device, reason, offset;
	char *kernel;
	uint32_t depth; /* of the grid, in serialized mode; else 0 */
	uint64_t waiting, all;
};

/* Samples of one launch that nobody has fetched. */
struct exact {
	uint32_t context_id, correlation_id, place, count;
};

static struct {
	pthread_mutex_t lock;
	struct place places[PLACES_MAX];
	uint32_t nr_places;
	uint32_t on[SESSIONS_MAX]; /* context ids; 0: unused */
	uint32_t devices[SESSIONS_MAX];
	CUpti_PCSamplingData *buffers[SESSIONS_MAX];
	uint64_t other[SESSIONS_MAX], dropped[SESSIONS_MAX];
	/* Nothing is sampled before a session is configured, as its mode is not known. */
	bool configured[SESSIONS_MAX], serialized[SESSIONS_MAX], started[SESSIONS_MAX];
	struct exact *exact; /* owns */
	size_t nr_exact, room;
	bool registered, loaded;
	uint64_t crc;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void write_truth(void)
{
	FILE *file = fopen(getenv("FAKE_CUDA_SAMPLES"), "ae");

	for (uint32_t i = 0; file && i < self.nr_places; i++)
		fprintf(file,
			"%" PRIu32 "\t%s\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu32 "\n",
			self.places[i].device, self.places[i].kernel, self.places[i].offset,
			self.places[i].reason, self.places[i].all, self.places[i].depth);
	if (file)
		fclose(file);
}

static uint32_t session_of(uint32_t context_id)
{
	for (uint32_t i = 0; i < SESSIONS_MAX; i++)
		if (self.on[i] == context_id)
			return i;
	return SESSIONS_MAX;
}

static struct place *place_of(const struct sim_operation *operation, uint32_t offset,
			      uint32_t reason, uint32_t depth)
{
	uint32_t i = 0;

	for (; i < self.nr_places; i++)
		if (self.places[i].context_id == operation->context_id &&
		    self.places[i].offset == offset && self.places[i].reason == reason &&
		    self.places[i].depth == depth &&
		    strcmp(self.places[i].kernel, operation->name) == 0)
			return &self.places[i];
	if (i == PLACES_MAX)
		abort();
	self.nr_places++;
	self.places[i] = (struct place){.context_id = operation->context_id,
					.device = operation->device_ordinal,
					.offset = offset,
					.reason = reason,
					.depth = depth,
					.kernel = strdup(operation->name)};
	return &self.places[i];
}

static void keep_exact(const struct sim_operation *operation, const struct place *place,
		       uint64_t count)
{
	if (self.nr_exact == self.room) {
		self.room = self.room ? 2 * self.room : 1024;
		self.exact = realloc(self.exact, self.room * sizeof(*self.exact));
		if (!self.exact)
			abort();
	}
	self.exact[self.nr_exact++] =
		(struct exact){operation->context_id, operation->correlation_id,
			       (uint32_t)(place - self.places), (uint32_t)count};
}

static void sample(const struct sim_operation *operation, uint32_t session)
{
	const uint64_t ns = operation->end_ns - operation->start_ns;
	const uint32_t depth = self.serialized[session] ? operation->grid[2] : 0;
	uint64_t left = ns / 1000 + 1;
	uint64_t seed = sim_config_hash(operation->name) + depth;

	if (ns < sim_config_get(SIM_SAMPLES_LEAST_NS))
		return;
	for (uint32_t i = 0; i < PER_KERNEL && left; i++) {
		uint64_t mixed = sim_config_mix(seed, i);
		uint64_t count = i + 1 == PER_KERNEL ? left : (left + 1) / 2;
		struct place *place = place_of(operation, 16 * (uint32_t)(i + mixed % 8),
					       counted[(mixed >> 8) % 3], depth);

		if (self.serialized[session])
			keep_exact(operation, place, count);
		else
			place->waiting += count;
		place->all += count;
		left -= count;
	}
	self.other[session] += sim_config_get(SIM_SAMPLES_OTHER);
	self.dropped[session] += sim_config_get(SIM_SAMPLES_DROPPED);
}

void pc_sampling_record(const struct sim_operation *operation)
{
	if (operation->kind != SIM_KERNEL)
		return;
	pthread_mutex_lock(&self.lock);
	uint32_t session = session_of(operation->context_id);
	if (session < SESSIONS_MAX && self.configured[session] &&
	    (!self.serialized[session] || self.started[session]))
		sample(operation, session);
	pthread_mutex_unlock(&self.lock);
}

static atomic_int nr_launches;
static _Thread_local bool is_launching, has_turn;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static bool is_started(void)
{
	bool started = false;

	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < SESSIONS_MAX; i++)
		started |= self.on[i] && self.started[i];
	pthread_mutex_unlock(&self.lock);
	return started;
}

void pc_sampling_launch_begins(void)
{
	if (is_started()) {
		pthread_mutex_lock(&turn);
		has_turn = true;
	}
	is_launching = true;
	atomic_fetch_add(&nr_launches, 1);
}

void pc_sampling_launch_ends(void)
{
	if (is_launching)
		atomic_fetch_sub(&nr_launches, 1);
	is_launching = false;
}

void pc_sampling_launch_over(void)
{
	if (has_turn)
		pthread_mutex_unlock(&turn);
	has_turn = false;
}

static void load(struct sim_context *context)
{
	const char *path = getenv("FAKE_CUDA_CUBIN");
	FILE *file = path && !self.loaded ? fopen(path, "re") : NULL;
	static char bytes[4u << 20];
	CUpti_ModuleResourceData data = {.moduleId = 1, .pCubin = bytes};

	self.loaded = true;
	if (!file)
		return;
	data.cubinSize = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	CUpti_GetCubinCrcParams crc = {.cubinSize = data.cubinSize, .cubin = bytes};
	cuptiGetCubinCrc(&crc);
	self.crc = crc.cubinCrc;
	sim_trace_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, context, NULL, &data);
}

void pc_sampling_context(uint32_t cbid, struct sim_context *context)
{
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		load(context);
	if (cbid != CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
		return;
	pthread_mutex_lock(&self.lock);
	uint32_t session = session_of(context->context_id);
	if (session < SESSIONS_MAX)
		self.on[session] = 0;
	pthread_mutex_unlock(&self.lock);
}

static uint32_t id_of(CUcontext context)
{
	return context ? ((const struct sim_context *)(const void *)context)->context_id : 0;
}

static uint32_t device_of(CUcontext context)
{
	return (uint32_t)((const struct sim_context *)(const void *)context)->ordinal;
}

bool pc_sampling_has(uint32_t device_ordinal)
{
	bool has = false;

	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < SESSIONS_MAX; i++)
		has |= self.on[i] && self.devices[i] == device_ordinal;
	pthread_mutex_unlock(&self.lock);
	return has;
}

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *params)
{
	CUptiResult refusal = (CUptiResult)sim_config_get(SIM_SAMPLES_REFUSED);

	if (params->size != 24 || !params->ctx)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (refusal)
		return refusal;
	if (range_profiler_has(device_of(params->ctx)))
		return CUPTI_ERROR_INVALID_OPERATION;
	pthread_mutex_lock(&self.lock);
	uint32_t session = session_of(0);
	bool is_on = session_of(id_of(params->ctx)) < SESSIONS_MAX;
	if (!is_on && session < SESSIONS_MAX) {
		self.on[session] = id_of(params->ctx);
		self.devices[session] = device_of(params->ctx);
		self.buffers[session] = NULL;
		self.other[session] = self.dropped[session] = 0;
		self.configured[session] = false;
		self.serialized[session] = self.started[session] = false;
	}
	if (!self.registered && getenv("FAKE_CUDA_SAMPLES"))
		atexit(write_truth);
	self.registered = true;
	pthread_mutex_unlock(&self.lock);
	return is_on ? CUPTI_ERROR_INVALID_CONTEXT : CUPTI_SUCCESS;
}

static void write_pc(CUpti_PCSamplingData *data, const struct place *place, uint64_t count,
		     uint32_t correlation_id)
{
	if (data->totalNumPcs == data->collectNumPcs) {
		data->remainingNumPcs++;
		return;
	}
	CUpti_PCSamplingPCData *pc = &data->pPcData[data->totalNumPcs++];
	pc->cubinCrc = self.crc;
	pc->pcOffset = place->offset;
	pc->functionIndex = 1;
	pc->functionName = place->kernel;
	pc->stallReasonCount = 1;
	pc->stallReason[0] = (CUpti_PCSamplingStallReason){place->reason, (uint32_t)count};
	pc->correlationId = correlation_id;
	data->totalSamples += count;
}

/* Gives what waits, as far as there is room. */
static void give(CUpti_PCSamplingData *data, uint32_t session)
{
	size_t kept = 0;

	data->totalSamples = data->totalNumPcs = data->remainingNumPcs = 0;
	for (uint32_t i = 0; i < self.nr_places; i++) {
		struct place *place = &self.places[i];

		if (place->context_id != self.on[session] || !place->waiting)
			continue;
		write_pc(data, place, place->waiting, 0);
		if (!data->remainingNumPcs)
			place->waiting = 0;
	}
	for (size_t i = 0; i < self.nr_exact; i++) {
		const struct exact exact = self.exact[i];

		if (exact.context_id == self.on[session])
			write_pc(data, &self.places[exact.place], exact.count,
				 exact.correlation_id);
		if (exact.context_id != self.on[session] || data->remainingNumPcs)
			self.exact[kept++] = exact;
	}
	self.nr_exact = kept;
	data->nonUsrKernelsTotalSamples = self.other[session];
	data->droppedSamples = self.dropped[session];
	data->totalSamples += self.other[session] + self.dropped[session];
	self.other[session] = self.dropped[session] = 0;
}

/* The real one would wait for a launch that waits for it. */
static void check_launches(uint32_t session)
{
	if (session < SESSIONS_MAX && self.serialized[session] && atomic_load(&nr_launches)) {
		fputs("fake CUPTI: serialized sampling ends beside a launch\n", stderr);
		abort();
	}
}

static CUptiResult set_started(CUcontext context, bool started)
{
	pthread_mutex_lock(&self.lock);
	uint32_t session = session_of(id_of(context));
	bool possible = session < SESSIONS_MAX && self.serialized[session] &&
			self.started[session] != started;
	if (possible && !started)
		check_launches(session);
	if (possible)
		self.started[session] = started;
	pthread_mutex_unlock(&self.lock);
	return possible ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiPCSamplingStart(CUpti_PCSamplingStartParams *params)
{
	CUptiResult refusal = (CUptiResult)sim_config_get(SIM_SAMPLES_START_FAIL);

	return refusal ? refusal : set_started(params->ctx, true);
}

CUptiResult cuptiPCSamplingStop(CUpti_PCSamplingStopParams *params)
{
	return set_started(params->ctx, false);
}

CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *params)
{
	CUpti_PCSamplingData *data = params->pcSamplingData;

	if (params->size != 32 || data->size != sizeof(*data))
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&self.lock);
	uint32_t session = session_of(id_of(params->ctx));
	if (session < SESSIONS_MAX)
		give(data, session);
	pthread_mutex_unlock(&self.lock);
	return session < SESSIONS_MAX ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *params)
{
	pthread_mutex_lock(&self.lock);
	uint32_t session = session_of(id_of(params->ctx));
	check_launches(session);
	if (session < SESSIONS_MAX && self.buffers[session])
		give(self.buffers[session], session);
	if (session < SESSIONS_MAX)
		self.on[session] = 0;
	pthread_mutex_unlock(&self.lock);
	return session < SESSIONS_MAX ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *params)
{
	pthread_mutex_lock(&self.lock);
	bool is_on = session_of(id_of(params->ctx)) < SESSIONS_MAX;
	pthread_mutex_unlock(&self.lock);
	*params->numStallReasons = is_on ? REASONS : 0;
	return is_on ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *params)
{
	for (size_t i = 0; i < params->numStallReasons && i < REASONS; i++) {
		params->stallReasonIndex[i] = indexes[i];
		strcpy(params->stallReasons[i], reasons[i]);
	}
	return CUPTI_SUCCESS;
}

CUptiResult
cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *params)
{
	pthread_mutex_lock(&self.lock);
	uint32_t session = session_of(id_of(params->ctx));

	for (size_t i = 0; session < SESSIONS_MAX && i < params->numAttributes; i++) {
		const CUpti_PCSamplingConfigurationInfo *info =
			&params->pPCSamplingConfigurationInfo[i];

		if (info->attributeType ==
		    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
			self.buffers[session] =
				info->attributeData.samplingDataBufferData.samplingDataBuffer;
		if (info->attributeType ==
		    CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL)
			self.serialized[session] = info->attributeData.enableStartStopControlData
							   .enableStartStopControl;
	}
	if (session < SESSIONS_MAX)
		self.configured[session] = true;
	pthread_mutex_unlock(&self.lock);
	return session < SESSIONS_MAX ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

/* Some number that depends on all bytes. */
CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *params)
{
	const unsigned char *bytes = params->cubin;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < params->cubinSize; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	params->cubinCrc = hash >> 32;
	return CUPTI_SUCCESS;
}
