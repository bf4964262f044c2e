#include "event_name.h"

#include <errno.h>
#include <string.h>

#include "call_function.h"
#include "proto/host_sample.h"
#include "string_dictionary.h"
#include "wait_reason.h"

int event_name_find(const struct kernel_symbols *kernel, struct string_dictionary *strings,
		    const struct sample_event *event, uint32_t *name_id)
{
	char reason[WAIT_REASON_MAX];
	const char *name = reason;

	*name_id = STRING_NONE;
	if (event->kind == HOST_SAMPLE_OFF_CPU)
		wait_reason_find(kernel, event, reason);
	else
		name = event->kind == HOST_SAMPLE_CALL ? call_function_name(event->argument) : NULL;
	if (!name)
		return 0;
	int r = string_dictionary_intern(strings, name, strlen(name), name_id);
	return r == -ENOMEM ? r : 0;
}
