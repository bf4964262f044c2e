#include "cupti_choice.h"

#include <stdint.h>

#include "subscription.h"

#include "inject/base/definition_writer.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/cupti_search.h"
#include "proto/absence.h"

const char *cupti_choice_make(struct cupti_library *library, cupti_callback_fn *receive,
			      struct definition_writer *notices)
{
	static struct cupti_search search;
	int result = CUPTI_ABI_SUCCESS;
	const char *path = "";

	cupti_search_process(&search);
	for (uint32_t i = 0; i < search.nr_candidates; i++) {
		const struct cupti_candidate *candidate = &search.candidates[i];

		if (cupti_library_open(candidate->path, candidate->mapped, library) < 0)
			continue;
		path = candidate->path;
		result = subscription_open(library, receive);
		if (result == CUPTI_ABI_SUCCESS)
			return path;
		if (result == CUPTI_ABI_SUBSCRIBER_TAKEN) {
			char holder[CUPTI_ABI_NAME_SIZE];

			subscription_holder(library, holder);
			definition_writer_notice(
				notices, NOTICE_SUBSCRIBER_TAKEN, result,
				ABSENCE_FAILED
				"another profiler holds CUPTI in this process%s%s (%s)",
				*holder ? ": " : "", holder, path);
			return NULL;
		}
	}
	if (result != CUPTI_ABI_SUCCESS)
		definition_writer_notice(notices, NOTICE_CUPTI_FAILED, result,
					 ABSENCE_FAILED
					 "%s cannot be used with this driver (CUPTI error %d)",
					 path, result);
	else
		definition_writer_notice(notices, NOTICE_NO_CUPTI, 0,
					 ABSENCE_FAILED
					 "libcupti was not found (flamegrid doctor tells how to "
					 "get it); looked at: %s",
					 search.looked);
	return NULL;
}
