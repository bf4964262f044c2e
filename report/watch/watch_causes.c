#include "watch_causes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "watch_look.h"

static bool is_wanted(const struct watch_event *event)
{
	return event->kind == WATCH_EVENT_LATE || event->kind == WATCH_EVENT_STALLED;
}

static bool is_small(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && (uint64_t)file.st_size <= WATCH_CAUSES_STORE_MAX;
}

/* Gives a finding's cause, and what is known of its expert, to the same one. */
static void hand_over(struct watch_finding *from, struct watch_finding *to)
{
	if (from->identity != to->identity)
		return;
	to->expert_gpu_times = from->expert_gpu_times;
	to->expert_bytes_times = from->expert_bytes_times;
	if (!from->cause)
		return;
	free(to->cause);
	to->cause = from->cause;
	to->cause_share = from->cause_share;
	from->cause = NULL;
}

void watch_causes_add(const char *path, struct watch_event *list, uint32_t count)
{
	struct watch_look look = {.findings = NULL};
	struct profile_recent recent;
	struct profile *profile = NULL;
	uint32_t wanted = 0;

	for (uint32_t i = 0; i < count; i++)
		wanted += is_wanted(&list[i]);
	if (!wanted || !is_small(path))
		return;
	/* The whole profile is read second, so it knows all processes whose calls were read. */
	int error = profile_recent_load(path, WATCH_LOOK_NS, WATCH_LOOK_LEAST, &recent, NULL);
	if (!error)
		error = profile_load(path, &profile, NULL);
	if (!error)
		error = watch_look_make(&recent, path, profile, &look);
	for (uint32_t i = 0; i < count && !error; i++)
		for (uint32_t j = 0; j < look.nr_findings && is_wanted(&list[i]); j++)
			hand_over(&look.findings[j], &list[i].finding);
	watch_look_fini(&look);
	profile_destroy(profile);
	profile_recent_fini(&recent);
}
