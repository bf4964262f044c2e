#include "report_straggler_absences.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report_straggler_result.h"

#include "base/array.h"
#include "report/profile/clock_map.h"
#include "report/profile/profile.h"

#define NAME_SIZE 512u

/* When the last of the absent processes ended; 0: one of them has not, or is not in the profile. */
static uint64_t end_of(const struct profile *profile, const struct straggler_absence *absence)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < absence->nr_absent; i++) {
		const uint32_t id = absence->absent[i].process;
		const struct roster_process *process =
			id ? roster_process(profile->collection->roster, id) : NULL;

		if (!process || !straggler_absence_ended(process))
			return 0;
		if (process->spoke_ns > last_ns)
			last_ns = process->spoke_ns;
	}
	return last_ns;
}

static int add(const struct profile *profile, const struct straggler_absence *absence,
	       struct report_straggler *report)
{
	char name[NAME_SIZE] = "";

	straggler_absences_name(profile, absence, name, sizeof(name));
	char *text = strdup(name);
	int error = text ? array_append(&report->texts, &report->nr_texts, &text, sizeof(text))
			 : -ENOMEM;
	const struct report_straggler_absence missing = {absence, text, end_of(profile, absence)};

	if (error)
		free(text);
	return error ? error
		     : array_append(&report->missing, &report->nr_missing, &missing,
				    sizeof(missing));
}

int report_straggler_absences_find(const struct profile *profile, struct report_straggler *report)
{
	const struct collection *collection = profile->collection;
	uint32_t nr_offsets;
	const struct clock_offset *offsets = clock_log_offsets(collection->clocks, &nr_offsets);
	struct clock_map *clocks = clock_map_create(offsets, nr_offsets);
	int error = clocks ? straggler_absences_find(report->folds->log, collection->roster, clocks,
						     &report->absences)
			   : -ENOMEM;

	report->is_running = profile->written;
	report->is_part = profile->slice != NULL;
	if (!error)
		straggler_absences_judge(&report->absences, collection->roster, clocks,
					 profile->written ? profile->read_ns : 0);
	for (uint32_t i = 0; i < report->absences.count && !error; i++)
		error = add(profile, &report->absences.list[i], report);
	clock_map_destroy(clocks);
	return error;
}
