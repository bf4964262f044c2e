#include "watch_absence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/absence/straggler_absences.h"
#include "report/names/communicator_names.h"
#include "report/names/text_line.h"
#include "report/profile/clock_map.h"
#include "report/writers/straggler/absence_text.h"
#include "report/writers/straggler/straggler_text.h"

static int add_ranks(const struct straggler_absence *from, struct watch_finding *finding)
{
	finding->ranks = calloc(from->nr_absent + 1ul, sizeof(*finding->ranks));
	if (!finding->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->nr_absent; i++)
		if (from->absent[i].rank >= 0)
			finding->ranks[finding->nr_ranks++] = from->absent[i].rank;
	return 0;
}

static int describe(const struct profile *profile, const struct communicator_names *names,
		    const struct straggler_absence *from, struct watch_finding *finding)
{
	const bool several = straggler_absences_several(from);
	char name[STRAGGLER_TEXT_SIZE] = "", text[STRAGGLER_TEXT_SIZE] = "";

	straggler_absences_name(profile, from, name, sizeof(name));
	text_line_append(text, sizeof(text), "%s not come to%s collective ",
			 several ? "have" : "has", from->has_fallen ? ", or died in," : "");
	absence_text_collective(text, sizeof(text), names, from);
	if (from->has_ended)
		text_line_append(text, sizeof(text), "; %s process%s ended",
				 several ? "their" : "its",
				 from->nr_absent == 1 ? " has" : "es have");
	text_line_append(text, sizeof(text), "; %" PRIu32 " rank%s for %s", from->nr_waiting,
			 from->nr_waiting == 1 ? " waits" : "s wait", several ? "them" : "it");
	*finding = (struct watch_finding){
		.name = strdup(name),
		.text = strdup(text),
		.communicator = strdup(communicator_names_of(names, from->key)),
		.is_group = from->nr_absent > 1,
	};
	return finding->name && finding->text && finding->communicator ? add_ranks(from, finding)
								       : -ENOMEM;
}

static int add(const struct profile *profile, const struct communicator_names *names,
	       const struct straggler_absence *from, struct watch_absence **list, uint32_t *count)
{
	struct watch_absence absence = {
		.nr_waiting = from->nr_waiting,
		.sequence = from->sequence,
		.usual_ns = from->usual_ns,
		.has_ended = from->has_ended,
		.is_over = from->is_over,
	};

	for (uint32_t i = 0; i < from->nr_waiting; i++)
		absence.progress += from->waiting[i].since_ns;
	int error = describe(profile, names, from, &absence.finding);
	if (!error)
		error = array_append(list, count, &absence, sizeof(absence));
	if (error)
		watch_finding_fini(&absence.finding);
	return error;
}

int watch_absence_find(const struct profile_recent *recent, struct watch_absence **list,
		       uint32_t *count)
{
	const struct collection *collection = recent->profile->collection;
	const struct roster *roster = collection->roster;
	uint32_t nr_offsets;
	const struct clock_offset *offsets = clock_log_offsets(collection->clocks, &nr_offsets);
	struct clock_map *clocks = clock_map_create(offsets, nr_offsets);
	struct straggler_absences absences = {.list = NULL};
	struct communicator_names *names = NULL;
	int error = clocks ? straggler_absences_find(recent->calls->log, roster, clocks, &absences)
			   : -ENOMEM;

	*list = NULL;
	*count = 0;
	if (!error && absences.count)
		error = communicator_names_create(collection, recent->calls, &names);
	for (uint32_t i = 0; i < absences.count && i < WATCH_ABSENCE_MAX && !error; i++)
		error = add(recent->profile, names, &absences.list[i], list, count);
	communicator_names_destroy(names);
	straggler_absences_fini(&absences);
	clock_map_destroy(clocks);
	return error;
}

void watch_absence_free(struct watch_absence *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		watch_finding_fini(&list[i].finding);
	free(list);
}

int watch_absence_copy(const struct watch_absence *from, struct watch_absence *to)
{
	*to = *from;
	return watch_finding_copy(&from->finding, &to->finding);
}
