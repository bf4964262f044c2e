#include "top_late.h"

#include <stddef.h>

const struct watch_event *top_late_of(const struct watch_event *list, uint32_t count, int32_t rank)
{
	for (uint32_t i = 0; i < count && rank >= 0; i++)
		if ((list[i].kind == WATCH_EVENT_LATE || list[i].kind == WATCH_EVENT_MISSING) &&
		    watch_finding_has_rank(&list[i].finding, rank))
			return &list[i];
	return NULL;
}
