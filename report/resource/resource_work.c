#include "resource_work.h"

#include <errno.h>
#include <stdlib.h>

#include "resource_classes.h"
#include "resource_samples.h"

#include "aggregator/profile/kept_log.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/store_kept.h"
#include "proto/ledger.h"
#include "timeline/log/event_reader.h"

/* The timeline has all work if it lacks less than this part of it. */
#define WHOLE_PART 100u

struct reading {
	const struct resource_work_source *source;
	struct resource_work *works; /* by device of the usage */
	bool *has_process;           /* owns; by process, whether the timeline has work of it */
};

/* The lists of a device: its rows', then its samples if there are any. All get the same work. */
static uint32_t count_lists(const struct resource_work *work)
{
	return work->rows.count + (work->samples.count != 0);
}

static struct resource_stretches *list_of(struct resource_work *work, uint32_t i)
{
	return i < work->rows.count ? &work->rows.list[i] : &work->samples;
}

int resource_work_open(struct resource_work *work, const struct resource_usage_device *device,
		       const struct placement_log *log, struct database *database)
{
	uint32_t nr_states;
	const struct counter_state *states = placement_log_counter_states(log, &nr_states);
	bool has_samples = false;
	int error = resource_delay_init(&work->rows, device, log);

	for (uint32_t i = 0; i < nr_states; i++)
		has_samples |= states[i].device_id == device->device && states[i].kept;
	if (!error && has_samples)
		error = resource_samples_init(&work->samples, database, device->device);
	return error;
}

void resource_work_close(struct resource_work *work)
{
	resource_delay_fini(&work->rows);
	resource_stretches_fini(&work->samples);
}

static int take_events(void *context, const struct message_events *events)
{
	const struct reading *reading = context;
	const struct resource_usage *usage = reading->source->usage;

	for (uint32_t i = 0; i < events->nr_gpu; i++) {
		const struct gpu_record *record = &events->gpu[i];
		const struct fold_key key = {.process_id = events->process_id,
					     .device_id = record->device_id,
					     .name_id = record->name_id,
					     .kind = record->kind,
					     .copy_kind = record->copy_kind};
		const struct resource_usage_device *device =
			resource_usage_find(usage, reading->source->profile, &key);

		if (!device || record->end_ns < record->start_ns)
			continue;
		struct resource_work *work = &reading->works[device - usage->devices];
		if (work->ns == 0 || record->start_ns < work->first_ns)
			work->first_ns = record->start_ns;
		if (record->end_ns > work->last_ns)
			work->last_ns = record->end_ns;
		reading->has_process[events->process_id] = true;
		work->ns = ledger_add_saturating(work->ns, record->end_ns - record->start_ns);
		const uint32_t class = resource_classes_find(device, &key);
		for (uint32_t j = 0; j < count_lists(work); j++)
			resource_stretches_add(list_of(work, j), class, record->start_ns,
					       record->end_ns, NULL);
	}
	return 0;
}

static uint64_t all_work_ns(const struct resource_usage_device *device)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		ns = ledger_add_saturating(ns, device->work_ns[i]);
	return ns;
}

/* Returns whether the timeline has nothing of a process that worked on a device. */
static bool lacks_process(const struct reading *reading, uint32_t device)
{
	const struct roster *roster = reading->source->profile->collection->roster;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		if (reading->source->device_of[id] && !reading->has_process[id] &&
		    resource_usage_has(roster_process(roster, id), device))
			return true;
	return false;
}

int resource_work_read(struct resource_work *works, const struct resource_work_source *source,
		       const char *store_path, bool *has_all)
{
	const struct profile *profile = source->profile;
	const uint32_t nr = roster_size(profile->collection->roster).processes;
	struct reading reading = {
		.source = source, .works = works, .has_process = calloc(nr + 1ul, sizeof(bool))};
	const struct event_asks asks = {
		.take = take_events,
		.context = &reading,
		.profile = profile->has_timeline ? profile->timeline_id : NULL,
	};
	struct event_sums sums = {0};

	*has_all = false;
	if (!reading.has_process)
		return -ENOMEM;
	const int error = event_reader_read(store_path, &asks, &sums);
	for (uint32_t i = 0; i < source->usage->nr_devices; i++)
		works[i].lacks_process = lacks_process(&reading, source->usage->devices[i].device);
	free(reading.has_process);
	*has_all = !error && !sums.damaged && !sums.lost_events && !sums.compressed;
	return error == -ENOMEM ? error : 0;
}

/* Adds pieces of work, which are kept at a level, to a list. */
static int add_pieces(struct resource_work *work, uint32_t list,
		      const struct resource_usage_device *device, uint32_t level,
		      const struct host_sample *pieces, uint32_t count)
{
	struct resource_stretches *stretches = list_of(work, list);
	double *scales = malloc((stretches->count + 1ul) * sizeof(*scales));

	if (!scales)
		return -ENOMEM;
	resource_stretches_scale(stretches, level, scales);
	if (stretches == &work->samples)
		resource_samples_mark(stretches, level);
	for (uint32_t i = 0; i < count; i++) {
		const struct fold_key key = {.kind = kept_kind_work(pieces[i].kind),
					     .copy_kind = kept_kind_copy(pieces[i].kind),
					     .name_id = pieces[i].name_id};
		const uint64_t end_ns = pieces[i].time_ns, ns = pieces[i].duration_ns;

		if (end_ns >= ns)
			resource_stretches_add(stretches, resource_classes_find(device, &key),
					       end_ns - ns, end_ns, scales);
	}
	resource_stretches_settle(stretches, scales);
	free(scales);
	return 0;
}

static int add_sort(struct resource_work *work, const struct resource_usage_device *device,
		    const struct resource_work_source *source, enum kept_sort sort,
		    uint32_t process, uint32_t *nr)
{
	const struct kept_log *kept = source->profile->collection->kept;
	struct host_sample *pieces = NULL;
	uint32_t count = 0;
	int error = store_kept_read(source->database, sort, process, &pieces, &count);

	for (uint32_t i = 0; i < count_lists(work) && count && !error; i++)
		error = add_pieces(work, i, device, kept_log_level(kept, sort, process), pieces,
				   count);
	*nr += count;
	free(pieces);
	return error;
}

static int add_process(struct resource_work *work, const struct resource_usage_device *device,
		       const struct resource_work_source *source, uint32_t process,
		       enum resource_unfitted *unfitted)
{
	uint32_t nr = 0;
	int error = add_sort(work, device, source, KEPT_GPU, process, &nr);

	if (!error)
		error = add_sort(work, device, source, KEPT_LONE, process, &nr);
	if (!error && nr == 0)
		*unfitted = RESOURCE_NO_PIECES;
	return error;
}

/* Returns whether a process that worked on a device worked on others, too: single pieces do not name theirs. */
static bool has_several(const struct resource_usage_device *device,
			const struct resource_work_source *source)
{
	const struct roster *roster = source->profile->collection->roster;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		if (source->device_of[id] == RESOURCE_CLASSES_SEVERAL &&
		    resource_usage_has(roster_process(roster, id), device->device))
			return true;
	return false;
}

static int add_kept(struct resource_work *work, const struct resource_usage_device *device,
		    const struct resource_work_source *source, enum resource_unfitted *unfitted)
{
	const uint32_t nr = roster_size(source->profile->collection->roster).processes;
	int error = 0;

	if (has_several(device, source)) {
		*unfitted = RESOURCE_SEVERAL_GPUS;
		return 0;
	}
	for (uint32_t i = 0; i < count_lists(work); i++)
		resource_stretches_clear(list_of(work, i));
	for (uint32_t id = 1; id <= nr && !error; id++)
		if (source->device_of[id] == device->device)
			error = add_process(work, device, source, id, unfitted);
	return error;
}

int resource_work_finish(struct resource_work *work, const struct resource_usage_device *device,
			 const struct resource_work_source *source, bool has_all,
			 enum resource_unfitted *unfitted)
{
	const uint64_t all_ns = all_work_ns(device);
	const bool is_whole = work->ns >= all_ns - all_ns / WHOLE_PART;
	const bool is_cut = !is_whole && work->lacks_process;

	*unfitted = RESOURCE_FITTED;
	for (uint32_t i = 0; i < count_lists(work); i++)
		resource_stretches_settle(list_of(work, i), NULL);
	if (!has_all || work->ns == 0 || (is_cut && !has_several(device, source)))
		return add_kept(work, device, source, unfitted);
	for (uint32_t i = 0; i < count_lists(work) && !is_whole; i++) {
		resource_stretches_begin(list_of(work, i), work->first_ns);
		if (is_cut)
			resource_stretches_end(list_of(work, i), work->last_ns);
	}
	return 0;
}
