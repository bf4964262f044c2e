#include "green_contexts.h"

#include <stdatomic.h>
#include <string.h>

#include "inject/base/definition_writer.h"
#include "inject/cupti/activity_field.h"
#include "inject/cupti/context_count.h"
#include "inject/cupti/cupti_abi.h"

static _Atomic(struct definition_writer *) definitions;
static _Atomic uint32_t version;

void green_contexts_on(struct definition_writer *writer, uint32_t cupti_version)
{
	atomic_store(&version, cupti_version);
	atomic_store(&definitions, writer);
}

static void define(const struct definition_context *context)
{
	struct definition_writer *writer = atomic_load(&definitions);

	context_count_parts();
	if (writer)
		definition_writer_put(writer, DEFINITION_CONTEXT, context, sizeof(*context), NULL,
				      0);
}

bool green_contexts_record(const void *activity)
{
	uint32_t kind = activity_field_u32(activity, 0), known = atomic_load(&version);
	struct definition_context context = {.flags = DEFINITION_CONTEXT_GREEN};

	if (kind == CUPTI_ABI_KIND_CONTEXT && known >= CUPTI_ABI_VERSION_12_4 &&
	    ((const uint8_t *)activity)[CUPTI_CONTEXT_IS_GREEN]) {
		context.context_id = activity_field_u32(activity, CUPTI_CONTEXT_ID);
		context.parent_id = activity_field_u32(activity, CUPTI_CONTEXT_PARENT);
		context.device_id = activity_field_u32(activity, CUPTI_CONTEXT_DEVICE);
		context.nr_multiprocessors =
			activity_field_u16(activity, CUPTI_CONTEXT_MULTIPROCESSORS);
		define(&context);
		return false;
	}
	if (kind != CUPTI_ABI_KIND_GREEN_CONTEXT || known < CUPTI_ABI_VERSION_13_2)
		return false;
	context.context_id = activity_field_u32(activity, CUPTI_GREEN_ID);
	context.parent_id = activity_field_u32(activity, CUPTI_GREEN_PARENT);
	context.device_id = activity_field_u32(activity, CUPTI_GREEN_DEVICE);
	context.nr_multiprocessors = activity_field_u16(activity, CUPTI_GREEN_MULTIPROCESSORS);
	define(&context);
	return true;
}
