#include "activity_resource.h"

#include <cupti.h>
#include <stdbool.h>

#include "activity_buffer.h"
#include "activity_kind.h"
#include "cupti_build.h"
#include "sim/sim_context.h"
#include "sim/sim_stream.h"

static const struct sim_operation no_operation;

/* From 12.4 on; from 13.2 on they have records of their own. */
static bool tells_green(void)
{
	return cupti_build_version() >= 22;
}
static bool has_green_kind(void)
{
	return cupti_build_version() >= 130200;
}

static void put_green(struct sim_context *context)
{
	const struct activity_green record = {
		.kind = ACTIVITY_KIND_GREEN_CONTEXT,
		.context_id = context->context_id,
		.parent_id = context->parent->context_id,
		.device_id = (uint32_t)context->ordinal,
		.tpcs = context->multiprocessors / 2,
		.multiprocessors = (uint16_t)context->multiprocessors,
	};

	if (activity_kind_on(ACTIVITY_KIND_GREEN_CONTEXT))
		activity_buffer_append(&record, sizeof(record), &no_operation, false);
}

static void put_context(struct sim_context *context)
{
	if (context->parent && has_green_kind())
		return;
	const CUpti_ActivityContext3 record = {
		.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
		.contextId = context->context_id,
		.deviceId = (uint32_t)context->ordinal,
		.computeApiKind = 1,
		.nullStreamId = (uint16_t)context->default_stream->stream_id,
		.parentContextId = context->parent ? context->parent->context_id : 0,
		.isGreenContext = context->parent && tells_green(),
		.numMultiprocessors = (uint16_t)(tells_green() ? context->multiprocessors : 0),
	};

	activity_buffer_append(&record, sizeof(record), &no_operation, false);
}

static void put_stream(const struct sim_context *context, const struct sim_stream *stream)
{
	const CUpti_ActivityStream record = {
		.kind = CUPTI_ACTIVITY_KIND_STREAM,
		.contextId = context->context_id,
		.streamId = stream->stream_id,
		.priority = (uint32_t)stream->priority,
		.flag = stream->non_blocking ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
					     : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT,
		.correlationId = sim_trace_correlation_id(),
	};

	activity_buffer_append(&record, sizeof(record), &no_operation, false);
}

void activity_resource_created(uint32_t cbid, struct sim_context *context,
			       struct sim_stream *stream)
{
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED &&
	    activity_kind_on(CUPTI_ACTIVITY_KIND_CONTEXT))
		put_context(context);
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED && context->parent) {
		if (has_green_kind())
			put_green(context);
		if (activity_kind_on(CUPTI_ACTIVITY_KIND_STREAM))
			put_stream(context->parent, context->default_stream);
	}
	if (cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED &&
	    activity_kind_on(CUPTI_ACTIVITY_KIND_STREAM))
		put_stream(context, stream);
}

/* As was seen of CUPTI 13.0 on a GPU, only what no program made is told of when asked: no green context, and no stream
 * but a context's own. */
static void dump_context(struct sim_context *context)
{
	if (!context->parent)
		put_context(context);
}

static void dump_stream(struct sim_context *context)
{
	if (!context->parent)
		put_stream(context, context->default_stream);
}

void activity_resource_dump(uint32_t kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_CONTEXT)
		sim_context_each(dump_context);
	if (kind == CUPTI_ACTIVITY_KIND_STREAM)
		sim_context_each(dump_stream);
}
