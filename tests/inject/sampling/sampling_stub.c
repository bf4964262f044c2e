#include "sampling_stub.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 6u

struct sampling_stub sampling_stub;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* In no order, and with others among them, as CUPTI's. The first three are those of enum stub_reason. */
static const char *const names[NAMES] = {
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
	"smsp__pcsamp_warps_issue_stalled_selected",
	"smsp__pcsamp_warps_issue_stalled_barrier",
	"smsp__pcsamp_warps_issue_stalled_barrier_not_issued",
	"smsp__pcsamp_warps_issue_stalled_",
	"smsp__pcsamp_samples_data_dropped",
};

/* CUPTI's indexes differ from GPU to GPU. */
static uint32_t index_of(uint32_t nr, uint32_t name)
{
	static const uint32_t even[NAMES] = {14, 28, 2, 3, 40, 39},
			      odd[NAMES] = {5, 63, 14, 2, 41, 0};

	return nr % 2 ? odd[name] : even[name];
}

static uint32_t number_of(const void *context)
{
	uintptr_t nr = ((uintptr_t)context - 0x1000) / 16;

	if (nr >= STUB_CONTEXTS)
		abort();
	return (uint32_t)nr;
}

void sampling_stub_reset(void)
{
	memset(&sampling_stub, 0, sizeof(sampling_stub));
	sampling_stub.nr_reasons = NAMES;
	for (uint32_t i = 0; i < STUB_CONTEXTS; i++)
		sampling_stub.contexts[i].device_id = -1;
}

void sampling_stub_wait(uint32_t nr, struct stub_instruction *waiting, size_t count)
{
	pthread_mutex_lock(&lock);
	sampling_stub.contexts[nr].waiting = waiting;
	sampling_stub.contexts[nr].nr_waiting = count;
	sampling_stub.contexts[nr].given = 0;
	pthread_mutex_unlock(&lock);
}

static int get_device_id(void *context, uint32_t *device_id)
{
	uint32_t nr = number_of(context);
	int own = sampling_stub.contexts[nr].device_id;

	*device_id = own < 0 ? nr % 64 : (uint32_t)own;
	return CUPTI_ABI_SUCCESS;
}

static int enable(struct cupti_sampling_call *call)
{
	struct stub_context *context = &sampling_stub.contexts[number_of(call->context)];
	int result = sampling_stub.enable_result;

	if (call->size != 24)
		abort();
	pthread_mutex_lock(&lock);
	context->nr_enabled++;
	if (context->on)
		abort();
	context->on = result == CUPTI_ABI_SUCCESS;
	pthread_mutex_unlock(&lock);
	return result;
}

static int count_reasons(struct cupti_sampling_count *call)
{
	if (call->size != 32 || !sampling_stub.contexts[number_of(call->context)].on)
		abort();
	*call->count = sampling_stub.nr_reasons;
	return sampling_stub.reasons_result;
}

static int get_reasons(struct cupti_sampling_reasons *call)
{
	if (call->size != 48 || call->count > 64)
		abort();
	for (uint32_t i = 0; i < call->count; i++) {
		call->indexes[i] = index_of(number_of(call->context), i % NAMES);
		strcpy(call->names[i], names[i % NAMES]);
	}
	return CUPTI_ABI_SUCCESS;
}

static int configure(struct cupti_sampling_settings *call)
{
	struct stub_context *context = &sampling_stub.contexts[number_of(call->context)];

	if (call->size != 40)
		abort();
	pthread_mutex_lock(&lock);
	sampling_stub.period = 0;
	for (size_t i = 0; i < call->count; i++) {
		const struct cupti_sampling_setting *setting = &call->settings[i];

		if (setting->attribute == CUPTI_ABI_SAMPLING_PERIOD)
			sampling_stub.period = setting->number;
		if (setting->attribute == CUPTI_ABI_SAMPLING_BUFFER)
			context->last = setting->buffer;
		if (setting->attribute == CUPTI_ABI_SAMPLING_MODE)
			context->windows = setting->number == CUPTI_ABI_SAMPLING_SERIALIZED;
		if (setting->attribute == CUPTI_ABI_SAMPLING_START_STOP && setting->number != 1)
			abort();
	}
	pthread_mutex_unlock(&lock);
	return sampling_stub.configure_result;
}

static void write_one(const struct stub_instruction *from, uint32_t nr, struct cupti_samples *to)
{
	struct cupti_instruction *instruction = &to->instructions[to->nr_instructions++];

	if (instruction->size != sizeof(*instruction))
		abort();
	instruction->cubin_crc = from->crc;
	instruction->offset = from->offset;
	instruction->function_index = from->function_index;
	instruction->function = from->function;
	for (uint32_t i = 0; i < STUB_REASONS; i++) {
		if (!from->counts[i])
			continue;
		instruction->stalls[instruction->nr_stalls++] =
			(struct cupti_stall){index_of(nr, i), from->counts[i]};
		to->total += from->counts[i];
	}
}

/* The lock is held. */
static void give(uint32_t nr, struct cupti_samples *to)
{
	struct stub_context *context = &sampling_stub.contexts[nr];

	if (to->size != sizeof(*to) || to->nr_instructions || to->total)
		abort();
	while (context->given < context->nr_waiting && to->nr_instructions < to->room) {
		write_one(&context->waiting[context->given], nr, to);
		if (context->ids)
			to->instructions[to->nr_instructions - 1].correlation_id =
				context->ids[context->given];
		context->given++;
	}
	to->nr_remaining = context->nr_waiting - context->given;
	to->other = context->other;
	to->dropped = context->dropped;
	to->total += context->other + context->dropped + (uint64_t)context->wrong;
	context->other = context->dropped = 0;
	context->wrong = 0;
}

static int get(struct cupti_sampling_get *call)
{
	uint32_t nr = number_of(call->context);
	struct stub_context *context = &sampling_stub.contexts[nr];
	int result = CUPTI_ABI_SUCCESS;

	if (call->size != 32)
		abort();
	pthread_mutex_lock(&lock);
	context->nr_looks++;
	if (!context->on)
		result = 3; /* no session */
	else if (context->look_result)
		result = context->look_result;
	else
		give(nr, call->samples);
	pthread_mutex_unlock(&lock);
	if (sampling_stub.in_look)
		sampling_stub.in_look();
	return result;
}

static int start(struct cupti_sampling_call *call)
{
	struct stub_context *context = &sampling_stub.contexts[number_of(call->context)];

	if (call->size != 24 || !context->on || !context->windows || context->started)
		abort();
	context->nr_started++;
	context->started = sampling_stub.start_result == CUPTI_ABI_SUCCESS;
	return sampling_stub.start_result;
}

static int stop(struct cupti_sampling_call *call)
{
	struct stub_context *context = &sampling_stub.contexts[number_of(call->context)];

	if (call->size != 24 || !context->started)
		abort();
	context->nr_stopped++;
	context->started = false;
	return sampling_stub.stop_result;
}

static int disable(struct cupti_sampling_call *call)
{
	uint32_t nr = number_of(call->context);
	struct stub_context *context = &sampling_stub.contexts[nr];

	pthread_mutex_lock(&lock);
	context->nr_disabled++;
	if (context->on && context->last)
		give(nr, context->last);
	context->on = false;
	context->last = NULL;
	pthread_mutex_unlock(&lock);
	return CUPTI_ABI_SUCCESS;
}

struct cupti_library sampling_stub_library(void)
{
	return (struct cupti_library){.version = CUPTI_ABI_VERSION_12_4,
				      .get_device_id = get_device_id,
				      .sampling_enable = enable,
				      .sampling_disable = disable,
				      .sampling_start = start,
				      .sampling_stop = stop,
				      .sampling_get = get,
				      .sampling_count_reasons = count_reasons,
				      .sampling_get_reasons = get_reasons,
				      .sampling_configure = configure};
}
