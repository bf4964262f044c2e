#include "resource_usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "resource_samples.h"
#include "resource_stretches.h"

#include "aggregator/profile/kept_log.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_kept.h"
#include "proto/ledger.h"
#include "report/telemetry/gpu_telemetry.h"
#include "timeline/log/event_reader.h"

#define CLASS_OTHER 0u

/* The timeline has all work if it lacks less than this part of it. */
#define WHOLE_PART 100u

/* The time of a class of work on a device. */
struct candidate {
	uint32_t device;
	struct resource_usage_class class;
	uint64_t ns;
};

struct kernels {
	const struct profile *profile;
	struct resource_usage *usage;
	struct fold_table *table; /* owns; keys have device, kinds and name */
	uint32_t *device_of; /* owns; by process, from 1 on: 0: none yet; UINT32_MAX: several */
};

static bool is_work(uint32_t kind)
{
	return kind <= RECORD_GPU_GRAPH;
}

/* ---- devices */

static bool has_device(const struct roster_process *process, uint32_t device)
{
	for (uint32_t i = 0; i < process->nr_devices; i++)
		if (process->devices[i].device == device)
			return true;
	return false;
}

static uint32_t first_process(const struct roster *roster, uint32_t device)
{
	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		if (has_device(roster_process(roster, id), device))
			return id;
	return 0;
}

static void add_resource(struct resource_usage_device *device, enum resource resource,
			 const struct device_telemetry *sums, uint32_t *known)
{
	struct resource_usage_sum *of = &device->resources[resource];

	resource_of_row(resource, sums, &of->ns, &of->amount);
	if (of->ns == 0)
		return;
	*known |= 1u << resource;
	if (sums->observed_ns > of->ns)
		of->lost_ns = sums->observed_ns - of->ns;
}

static int add_devices(struct resource_usage *usage, const struct profile *profile)
{
	const uint32_t nr = roster_size(profile->collection->roster).devices;

	usage->devices = calloc(nr + 1ul, sizeof(*usage->devices));
	if (!usage->devices)
		return -ENOMEM;
	for (uint32_t id = 1; id <= nr; id++) {
		struct resource_usage_device *device = &usage->devices[usage->nr_devices];
		struct device_telemetry sums;
		uint32_t known = 0;

		*device = (struct resource_usage_device){.device = id, .nr_classes = 1};
		gpu_telemetry_of(profile->collection->placements, id, &sums);
		device->process = first_process(profile->collection->roster, id);
		for (uint32_t i = 0; i < RESOURCES; i++)
			if (usage->resources & 1u << i)
				add_resource(device, (enum resource)i, &sums, &known);
		if (known && device->process)
			usage->nr_devices++;
	}
	return 0;
}

static struct resource_usage_device *find_device(const struct resource_usage *usage,
						 uint32_t device)
{
	uint32_t low = 0, high = usage->nr_devices;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (usage->devices[middle].device < device)
			low = middle + 1;
		else
			high = middle;
	}
	return low < usage->nr_devices && usage->devices[low].device == device
		       ? &usage->devices[low]
		       : NULL;
}

struct resource_usage_device *resource_usage_find(const struct resource_usage *usage,
						  const struct profile *profile,
						  const struct fold_key *key)
{
	const struct roster_process *process =
		roster_process(profile->collection->roster, key->process_id);

	return is_work(key->kind) && process
		       ? find_device(usage, roster_process_device(process, key->device_id))
		       : NULL;
}

/* Of pieces that the store keeps, no kind of a copy has more bits (kept_kind()). */
static struct resource_usage_class class_of(const struct fold_key *key)
{
	return (struct resource_usage_class){
		.kind = key->kind,
		.copy_kind = key->kind == RECORD_GPU_MEMCPY ? key->copy_kind & 15 : 0,
		.name_id = key->kind == RECORD_GPU_KERNEL ? key->name_id : 0,
	};
}

static bool is_same(const struct resource_usage_class *a, const struct resource_usage_class *b)
{
	return a->kind == b->kind && a->copy_kind == b->copy_kind && a->name_id == b->name_id;
}

/* Whole graphs, and kernels without a name, are no class. */
static bool may_be_class(const struct resource_usage_class *class)
{
	return class->kind == RECORD_GPU_KERNEL ? class->name_id != 0
						: class->kind != RECORD_GPU_GRAPH;
}

uint32_t resource_usage_class(const struct resource_usage_device *device,
			      const struct fold_key *key)
{
	const struct resource_usage_class wanted = class_of(key);

	for (uint32_t i = CLASS_OTHER + 1; i < device->nr_classes; i++)
		if (is_same(&device->classes[i], &wanted))
			return i;
	return CLASS_OTHER;
}

/* ---- classes: the kernels and copies that take the most time */

static int take_total(void *context, const struct fold_row *row)
{
	struct kernels *kernels = context;
	struct resource_usage_device *device =
		resource_usage_find(kernels->usage, kernels->profile, &row->key);
	const struct resource_usage_class class = class_of(&row->key);
	const struct fold_key key = {.device_id = device ? device->device : 0,
				     .kind = (uint8_t) class.kind,
				     .copy_kind = (uint8_t) class.copy_kind,
				     .name_id = class.name_id};

	if (row->key.process_id == 0 ||
	    row->key.process_id > roster_size(kernels->profile->collection->roster).processes)
		return -EPROTO;
	if (!is_work(row->key.kind))
		return 0;
	/* A GPU whose counter is not known counts as one, too. */
	uint32_t *of = &kernels->device_of[row->key.process_id];
	const uint32_t id = roster_process_device(
		roster_process(kernels->profile->collection->roster, row->key.process_id),
		row->key.device_id);

	*of = *of == 0 || *of == id ? id : UINT32_MAX;
	if (!device)
		return 0;
	return fold_table_add(kernels->table, &key, row->count, row->ns, 0);
}

static int by_time(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = (x->device > y->device) - (x->device < y->device);

	if (!order)
		order = (y->ns > x->ns) - (y->ns < x->ns);
	if (!order)
		order = (x->class.kind > y->class.kind) - (x->class.kind < y->class.kind);
	if (!order)
		order = (x->class.copy_kind > y->class.copy_kind) -
			(x->class.copy_kind < y->class.copy_kind);
	return order ? order
		     : (x->class.name_id > y->class.name_id) -
			       (x->class.name_id < y->class.name_id);
}

static int choose_classes(struct kernels *kernels)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(kernels->table, &nr_rows);
	struct candidate *list = calloc(nr_rows + 1ul, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_rows; i++)
		list[i] = (struct candidate){rows[i].key.device_id, class_of(&rows[i].key),
					     rows[i].ns};
	qsort(list, nr_rows, sizeof(*list), by_time);
	for (uint32_t i = 0; i < nr_rows; i++) {
		struct resource_usage_device *device = find_device(kernels->usage, list[i].device);
		uint32_t class = CLASS_OTHER;

		if (may_be_class(&list[i].class) && device->nr_classes < RESOURCE_CLASSES) {
			class = device->nr_classes++;
			device->classes[class] = list[i].class;
		}
		device->work_ns[class] = ledger_add_saturating(device->work_ns[class], list[i].ns);
	}
	free(list);
	return 0;
}

/* ---- what ran when: of the timeline */

/* The timeline's work of a device. */
struct logged {
	struct resource_stretches stretches;
	struct resource_stretches samples; /* shorter ones, of use alone */
	uint64_t first_ns;                 /* its first work */
	uint64_t ns;                       /* of all its work */
};

struct reading {
	const struct kernels *kernels;
	struct logged *logged; /* owns; by device of usage */
};

static int take_events(void *context, const struct message_events *events)
{
	const struct reading *reading = context;
	const struct resource_usage *usage = reading->kernels->usage;

	for (uint32_t i = 0; i < events->nr_gpu; i++) {
		const struct gpu_record *record = &events->gpu[i];
		const struct fold_key key = {.process_id = events->process_id,
					     .device_id = record->device_id,
					     .name_id = record->name_id,
					     .kind = record->kind,
					     .copy_kind = record->copy_kind};
		const struct resource_usage_device *device =
			resource_usage_find(usage, reading->kernels->profile, &key);

		if (!device || record->end_ns < record->start_ns)
			continue;
		struct logged *logged = &reading->logged[device - usage->devices];
		if (logged->ns == 0 || record->start_ns < logged->first_ns)
			logged->first_ns = record->start_ns;
		logged->ns = ledger_add_saturating(logged->ns, record->end_ns - record->start_ns);
		const uint32_t class = resource_usage_class(device, &key);
		resource_stretches_add(&logged->stretches, class, record->start_ns, record->end_ns,
				       NULL);
		resource_stretches_add(&logged->samples, class, record->start_ns, record->end_ns,
				       NULL);
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

/* Tells for each device whether the timeline has all its work, or all from a time on: it drops the oldest files. */
static int read_timeline(struct reading *reading, const char *store_path, bool *has_all)
{
	const struct profile *profile = reading->kernels->profile;
	const struct event_asks asks = {
		.take = take_events,
		.context = reading,
		.profile = profile->has_timeline ? profile->timeline_id : NULL,
	};
	struct event_sums sums = {0};
	const int error = event_reader_read(store_path, &asks, &sums);

	*has_all = !error && !sums.damaged && !sums.lost_events && !sums.compressed;
	return error == -ENOMEM ? error : 0;
}

/* ---- what ran when: of the store */

static int add_sort(struct resource_stretches *stretches, bool is_short,
		    const struct resource_usage_device *device, struct database *database,
		    const struct kept_log *kept, enum kept_sort sort, uint32_t process,
		    uint32_t *nr)
{
	double *scales = malloc((stretches->count + 1ul) * sizeof(*scales));
	struct host_sample *pieces = NULL;
	uint32_t count = 0;
	int error = scales ? store_kept_read(database, sort, process, &pieces, &count) : -ENOMEM;

	if (!error && count) {
		const uint32_t level = kept_log_level(kept, sort, process);

		resource_stretches_scale(stretches, level, scales);
		if (is_short)
			resource_samples_mark(stretches, level);
	}
	for (uint32_t i = 0; i < count && !error; i++) {
		const struct fold_key key = {.kind = kept_kind_work(pieces[i].kind),
					     .copy_kind = kept_kind_copy(pieces[i].kind),
					     .name_id = pieces[i].name_id};
		const uint64_t end_ns = pieces[i].time_ns, ns = pieces[i].duration_ns;

		if (end_ns >= ns)
			resource_stretches_add(stretches, resource_usage_class(device, &key),
					       end_ns - ns, end_ns, scales);
	}
	if (!error && count)
		resource_stretches_settle(stretches, scales);
	*nr += count;
	free(scales);
	free(pieces);
	return error;
}

static int add_process(struct resource_stretches *stretches, bool is_short,
		       const struct resource_usage_device *device, struct database *database,
		       const struct kept_log *kept, uint32_t process,
		       enum resource_unfitted *unfitted)
{
	uint32_t nr = 0;
	int error = add_sort(stretches, is_short, device, database, kept, KEPT_GPU, process, &nr);

	if (!error)
		error = add_sort(stretches, is_short, device, database, kept, KEPT_LONE, process,
				 &nr);
	if (!error && nr == 0)
		*unfitted = RESOURCE_NO_PIECES;
	return error;
}

/* is_short: the stretches are samples. */
static int add_kept(struct resource_stretches *stretches, bool is_short,
		    const struct resource_usage_device *device, const struct kernels *kernels,
		    struct database *database, enum resource_unfitted *unfitted)
{
	const struct collection *collection = kernels->profile->collection;
	const uint32_t nr = roster_size(collection->roster).processes;
	int error = 0;

	for (uint32_t id = 1; id <= nr; id++)
		if (kernels->device_of[id] == UINT32_MAX &&
		    has_device(roster_process(collection->roster, id), device->device))
			*unfitted = RESOURCE_SEVERAL_GPUS;
	if (*unfitted)
		return 0;
	resource_stretches_clear(stretches);
	for (uint32_t id = 1; id <= nr && !error; id++)
		if (kernels->device_of[id] == device->device)
			error = add_process(stretches, is_short, device, database, collection->kept,
					    id, unfitted);
	return error;
}

/* ---- all */

static int fit_resource(struct resource_usage_device *device, enum resource resource,
			const struct resource_stretches *stretches, enum resource_unfitted unfitted)
{
	struct resource_usage_sum *of = &device->resources[resource];
	int error = 0;

	of->unfitted = unfitted;
	if (of->ns == 0 || unfitted)
		return 0;
	error = resource_stretches_fit(stretches, resource, &of->fit);
	if (!error && of->fit.nr_intervals == 0)
		of->unfitted = RESOURCE_NO_INTERVAL;
	return error;
}

/* Samples tell more than rows of telemetry if there are more of them. */
static int fit_samples(struct resource_usage_device *device, enum resource resource,
		       const struct logged *logged)
{
	const struct resource_stretches *samples = &logged->samples;
	struct resource_usage_sum *of = &device->resources[resource];
	struct resource_fit fit;
	uint64_t ns = 0;

	if (of->ns == 0 || samples->count == 0 || resource == RESOURCE_ENERGY)
		return 0;
	const int error = resource_stretches_fit(samples, resource, &fit);
	if (error || fit.nr_intervals <= of->fit.nr_intervals)
		return error;
	for (uint32_t i = 0; i < samples->count; i++)
		ns += samples->list[i].ns;
	of->fit = fit;
	of->unfitted = RESOURCE_FITTED;
	of->sample_ns = ns / samples->count;
	of->sample_mismatch = resource_samples_mismatch(samples, &logged->stretches, resource);
	return 0;
}

static int fit_device(struct resource_usage_device *device, struct logged *logged, bool has_all,
		      const struct kernels *kernels, struct database *database)
{
	struct resource_stretches *const both[] = {&logged->stretches, &logged->samples};
	const uint32_t nr_lists = logged->samples.count ? 2 : 1; /* each reads all kept pieces */
	const uint64_t all_ns = all_work_ns(device);
	enum resource_unfitted unfitted = RESOURCE_FITTED;
	int error = 0;

	for (uint32_t i = 0; i < nr_lists && !error; i++) {
		resource_stretches_settle(both[i], NULL);
		if (!has_all || logged->ns == 0)
			error = add_kept(both[i], i > 0, device, kernels, database, &unfitted);
		else if (logged->ns < all_ns - all_ns / WHOLE_PART)
			resource_stretches_begin(both[i], logged->first_ns);
	}
	for (uint32_t i = 0; i < RESOURCES && !error; i++) {
		error = fit_resource(device, (enum resource)i, &logged->stretches, unfitted);
		if (!error && !unfitted)
			error = fit_samples(device, (enum resource)i, logged);
	}
	return error;
}

/* Makes the stretches of each device. */
static int open_stretches(struct logged *logged, const struct resource_usage_device *device,
			  const struct placement_log *log, struct database *database)
{
	uint32_t nr_states;
	const struct counter_state *states = placement_log_counter_states(log, &nr_states);
	bool has_samples = false;
	int error = resource_stretches_init(&logged->stretches, log, device->device);

	for (uint32_t i = 0; i < nr_states; i++)
		has_samples |= states[i].device_id == device->device && states[i].kept;
	if (!error && has_samples)
		error = resource_samples_init(&logged->samples, database, device->device);
	return error;
}

static int fit_all(const struct kernels *kernels, const char *store_path)
{
	struct resource_usage *usage = kernels->usage;
	struct reading reading = {.kernels = kernels};
	struct database *database;
	bool has_all = false;
	int error = database_open(store_path, true, &database, NULL);

	reading.logged = calloc(usage->nr_devices, sizeof(*reading.logged));
	if (!error && !reading.logged)
		error = -ENOMEM;
	for (uint32_t i = 0; i < usage->nr_devices && !error; i++)
		error = open_stretches(&reading.logged[i], &usage->devices[i],
				       kernels->profile->collection->placements, database);
	if (!error)
		error = read_timeline(&reading, store_path, &has_all);
	for (uint32_t i = 0; i < usage->nr_devices && !error; i++)
		error = fit_device(&usage->devices[i], &reading.logged[i], has_all, kernels,
				   database);
	for (uint32_t i = 0; reading.logged && i < usage->nr_devices; i++) {
		resource_stretches_fini(&reading.logged[i].stretches);
		resource_stretches_fini(&reading.logged[i].samples);
	}
	free(reading.logged);
	database_close(database);
	return error;
}

int resource_usage_init(struct resource_usage *usage, uint32_t resources,
			const struct profile *profile, const char *store_path)
{
	const uint32_t nr = roster_size(profile->collection->roster).processes;
	struct kernels kernels = {.profile = profile, .usage = usage};

	*usage = (struct resource_usage){.resources = resources};
	int error = add_devices(usage, profile);
	if (!error && usage->nr_devices) {
		kernels.table = fold_table_create();
		kernels.device_of = calloc(nr + 1ul, sizeof(*kernels.device_of));
		error = kernels.table && kernels.device_of
				? profile_each_total(profile, take_total, &kernels)
				: -ENOMEM;
		if (!error)
			error = choose_classes(&kernels);
		if (!error)
			error = fit_all(&kernels, store_path);
	}
	fold_table_destroy(kernels.table);
	free(kernels.device_of);
	if (error)
		resource_usage_fini(usage);
	return error;
}

void resource_usage_fini(struct resource_usage *usage)
{
	free(usage->devices);
	*usage = (struct resource_usage){0};
}
