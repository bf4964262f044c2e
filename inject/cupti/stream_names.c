#include "stream_names.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "activity_field.h"

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"

struct stream {
	_Atomic(const void *) handle; /* NULL: free */
	_Atomic uint64_t ids;         /* context id << 32 | stream id; 0: not yet */
};

static const struct cupti_library *library;
static _Atomic(struct definition_writer *) definitions;
static struct stream streams[STREAM_NAMES_MAX];
static _Atomic uint32_t nr_streams; /* in use at most: the rest is free */

void stream_names_on(const struct cupti_library *cupti, struct definition_writer *writer)
{
	library = cupti;
	atomic_store(&definitions, writer);
}

void stream_names_forget(void)
{
	uint32_t nr = atomic_load(&nr_streams);

	for (uint32_t i = 0; i < nr && i < STREAM_NAMES_MAX; i++) {
		atomic_store(&streams[i].ids, 0);
		atomic_store_explicit(&streams[i].handle, NULL, memory_order_release);
	}
}

static struct stream *find(const void *handle)
{
	uint32_t nr = atomic_load(&nr_streams);

	for (uint32_t i = 0; i < nr && i < STREAM_NAMES_MAX; i++)
		if (atomic_load_explicit(&streams[i].handle, memory_order_acquire) == handle)
			return &streams[i];
	return NULL;
}

/* Takes a free place for the handle; NULL: there is none. */
static struct stream *take_place(const void *handle)
{
	for (uint32_t i = 0; i < STREAM_NAMES_MAX; i++) {
		const void *none = NULL;

		if (!atomic_compare_exchange_strong(&streams[i].handle, &none, handle))
			continue;
		uint32_t nr = atomic_load(&nr_streams);
		while (nr <= i && !atomic_compare_exchange_weak(&nr_streams, &nr, i + 1))
			;
		return &streams[i];
	}
	return NULL;
}

void stream_names_created(const struct cupti_resource_data *data)
{
	uint32_t context_id, stream_id;
	struct stream *stream;

	if (!data->resource || !library->get_context_id || !library->get_stream_id ||
	    library->get_context_id(data->context, &context_id) != CUPTI_ABI_SUCCESS ||
	    library->get_stream_id(data->context, data->resource, 0, &stream_id) !=
		    CUPTI_ABI_SUCCESS)
		return;
	stream = find(data->resource);
	if (!stream)
		stream = take_place(data->resource);
	if (stream)
		atomic_store(&stream->ids, (uint64_t)context_id << 32 | stream_id);
}

void stream_names_destroyed(const struct cupti_resource_data *data)
{
	struct stream *stream = data->resource ? find(data->resource) : NULL;

	if (!stream)
		return;
	atomic_store(&stream->ids, 0);
	atomic_store_explicit(&stream->handle, NULL, memory_order_release);
}

void stream_names_set(const void *handle, const char *name, uint32_t size)
{
	struct definition_writer *writer = atomic_load(&definitions);
	struct stream *stream = handle && writer ? find(handle) : NULL;
	uint64_t ids = stream ? atomic_load(&stream->ids) : 0;

	if (ids == 0 || lifecycle_state() != LIFECYCLE_ON)
		return;
	const struct definition_stream definition = {
		.context_id = (uint32_t)(ids >> 32),
		.stream_id = (uint32_t)ids,
		.flags = DEFINITION_STREAM_NAMED,
	};
	definition_writer_put(writer, DEFINITION_STREAM, &definition, sizeof(definition), name,
			      size);
}

static uint32_t stream_flags(uint32_t cupti_flag)
{
	switch (cupti_flag) {
	case CUPTI_ABI_STREAM_NON_BLOCKING:
		return DEFINITION_STREAM_NON_BLOCKING;
	case CUPTI_ABI_STREAM_NULL:
		return DEFINITION_STREAM_DEFAULT;
	default:
		return 0;
	}
}

bool stream_names_record(const void *activity)
{
	struct definition_writer *writer = atomic_load(&definitions);
	struct definition_stream stream = {0};

	if (!writer)
		return false;
	switch (activity_field_u32(activity, 0)) {
	case CUPTI_ABI_KIND_STREAM:
		stream.context_id = activity_field_u32(activity, CUPTI_STREAM_CONTEXT);
		stream.stream_id = activity_field_u32(activity, CUPTI_STREAM_ID);
		stream.priority = (int32_t)activity_field_u32(activity, CUPTI_STREAM_PRIORITY);
		stream.flags = DEFINITION_STREAM_PRIORITY |
			       stream_flags(activity_field_u32(activity, CUPTI_STREAM_FLAG));
		break;
	case CUPTI_ABI_KIND_CONTEXT:
		stream.context_id = activity_field_u32(activity, CUPTI_CONTEXT_ID);
		memcpy(&stream.stream_id, (const char *)activity + CUPTI_CONTEXT_NULL_STREAM,
		       sizeof(uint16_t));
		stream.flags = DEFINITION_STREAM_DEFAULT;
		break;
	default:
		return false;
	}
	definition_writer_put(writer, DEFINITION_STREAM, &stream, sizeof(stream), NULL, 0);
	return true;
}
