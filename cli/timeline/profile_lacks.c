#include "profile_lacks.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregator/profile/roster.h"
#include "base/log.h"
#include "report/model/report_completeness.h"
#include "report/model/report_names.h"
#include "report/model/report_summary.h"

#define NUMBER_SIZE 32u

static uint64_t count_expired(const struct roster *roster)
{
	uint64_t count = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		count += roster_process(roster, id)->counts.expired;
	return count;
}

/* A launch has no GPU work if that never came. */
static int write_sentence(const char *completeness, uint64_t expired, struct profile_lacks *lacks)
{
	char number[NUMBER_SIZE];
	size_t size;
	FILE *out = open_memstream(&lacks->sentence, &size);

	if (!out)
		return -ENOMEM;
	fputs(completeness, out);
	if (expired)
		fprintf(out,
			"%s%s launch%s of the run %s no GPU work, because none came (none "
			"does for launches captured into a graph) [launch_expired]",
			*completeness ? "; " : "", report_summary_count(expired, number),
			expired == 1 ? "" : "es", expired == 1 ? "has" : "have");
	return fclose(out) ? -ENOMEM : 0;
}

int profile_lacks_find(const struct profile *profile, struct profile_lacks *lacks)
{
	struct report_names *names = report_names_create(profile, DEMANGLE_NONE, REPORT_LINES_OFF);
	const uint64_t expired = count_expired(profile->collection->roster);
	enum report_state state = REPORT_COMPLETE;
	char *completeness = NULL;

	*lacks = (struct profile_lacks){0};
	int error = names ? report_completeness_make(profile, names, NULL, 0, &state, &completeness)
			  : -ENOMEM;
	if (!error && (*completeness || expired))
		error = write_sentence(completeness, expired, lacks);
	if (!error) {
		lacks->is_incomplete = state == REPORT_INCOMPLETE;
		if (lacks->is_incomplete)
			log_warning("%s", lacks->sentence);
		else if (lacks->sentence)
			log_notice("%s", lacks->sentence);
	}
	free(completeness);
	report_names_destroy(names);
	return error;
}

void profile_lacks_fini(struct profile_lacks *lacks)
{
	free(lacks->sentence);
	*lacks = (struct profile_lacks){0};
}
