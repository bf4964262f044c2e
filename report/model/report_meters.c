#include "report_meters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind_name.h"

#include "aggregator/profile/roster.h"
#include "proto/ledger.h"

#define NAME_SIZE 64u

/* Texts of the names are those of one tree. */
struct report_meters {
	const struct metered *metered;
	const struct report_names *names;
	uint32_t kind;                   /* of leaves */
	struct report_metered_gpu *gpus; /* owns; by device of metered */
};

static int name_class(const struct metered_class *class, struct report_names *names, uint32_t *name)
{
	const char *detail = kind_name_detail(class->kind, class->copy_kind);
	char text[NAME_SIZE];

	if (class->kind == RECORD_GPU_KERNEL)
		return report_names_function(names, class->name_id, name);
	snprintf(text, sizeof(text), "[%s]%s", kind_name_leaf(class->kind), detail);
	return report_names_text(names, text, name);
}

static void describe_meter(const struct metered_device *device, enum meter meter,
			   struct report_metered_gpu *gpu)
{
	const struct metered_meter *from = &device->meters[meter];
	struct report_meter *to = &gpu->meters[meter];

	*to = (struct report_meter){
		.ns = from->ns,
		.amount = from->amount,
		.lost_ns = from->lost_ns,
		.idle_kind = from->fit.idle,
		.idle_rate = from->fit.idle_rate,
		.idle_confidence = meter_confidence_idle(device, meter),
		.rest_confidence = meter_confidence_rest(device, meter),
		.intervals = from->fit.nr_intervals,
		.unfitted = from->unfitted,
		.residual = from->fit.residual,
		.sample_ns = from->sample_ns,
	};
	for (uint32_t i = 0; i < METER_CLASSES; i++)
		gpu->classes[i].values[meter] = (struct report_meter_value){
			.rate = from->fit.class_rate[i],
			.error_rate = from->fit.error_rate[i],
			.apart = from->fit.apart[i],
			.confidence = meter_confidence_work(device, meter, i),
		};
}

static int describe(const struct profile *profile, const struct metered_device *device,
		    struct report_names *names, struct report_metered_gpu *gpu)
{
	const struct roster *roster = profile->collection->roster;
	const struct roster_device *of = roster_device(roster, device->device);
	const struct roster_host *host = roster_host(roster, of->host);
	int error = host ? report_names_string(names, host->node, &gpu->host) : 0;

	gpu->gpu = of->index >= 0 ? of->index : REPORT_GPU_NONE;
	gpu->nr_classes = METER_CLASSES;
	for (uint32_t i = 0; i < METERS; i++)
		describe_meter(device, (enum meter)i, gpu);
	for (uint32_t i = 0; i < device->nr_classes && !error; i++) {
		gpu->classes[i].ns = device->work_ns[i];
		if (i > 0)
			error = name_class(&device->classes[i], names, &gpu->classes[i].name);
	}
	return error;
}

int report_meters_create(const struct profile *profile, const struct metered *metered,
			 struct report_names *names, uint32_t planes, struct report_meters **meters)
{
	int error = 0;

	*meters = calloc(1, sizeof(**meters));
	if (!*meters)
		return -ENOMEM;
	(*meters)->metered = metered;
	(*meters)->names = names;
	(*meters)->kind = planes & 1u << REPORT_PLANE_ENERGY ? REPORT_KIND_ENERGY : REPORT_KIND_USE;
	(*meters)->gpus = calloc(metered->nr_devices + 1ul, sizeof(*(*meters)->gpus));
	if (!(*meters)->gpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < metered->nr_devices && !error; i++)
		error = describe(profile, &metered->devices[i], names, &(*meters)->gpus[i]);
	return error;
}

void report_meters_destroy(struct report_meters *meters)
{
	if (meters)
		free(meters->gpus);
	free(meters);
}

enum report_plane report_meters_plane(const struct report_meters *meters)
{
	return report_plane_of(meters->kind);
}

struct fold_row report_meters_leaf(const struct report_meters *meters,
				   const struct meter_part *part)
{
	struct fold_row row = {.near_first = FOLD_NEAR_NONE, .ns = part->ns};

	if (part->row) {
		row.key = part->row->key;
		row.count = part->row->count;
		return row;
	}
	row.key.process_id = part->device->process;
	row.key.device_id = part->device->device;
	row.key.kind = (uint8_t)(part->kind == METER_PART_IDLE ? REPORT_KIND_IDLE : meters->kind);
	return row;
}

void report_meters_fill(const struct report_meters *meters, const struct meter_part *part,
			struct report_leaf *leaf)
{
	leaf->kind = meters->kind;
	leaf->metered = part->known;
	for (uint32_t i = 0; i < METERS; i++) {
		leaf->amounts[i] = part->amounts[i];
		leaf->confidence[i] = (uint8_t)part->confidence[i];
	}
}

static void take_meter(struct report_metered_gpu *gpu, const struct meter_part *part, uint32_t i)
{
	struct report_meter *meter = &gpu->meters[i];

	if (part->kind == METER_PART_IDLE) {
		meter->idle = part->amounts[i];
	} else if (part->kind == METER_PART_REST) {
		meter->rest = part->amounts[i];
	} else {
		uint64_t *of = &gpu->classes[metered_class(part->device, &part->row->key)]
					.values[i]
					.amount;

		meter->work = ledger_add_saturating(meter->work, part->amounts[i]);
		*of = ledger_add_saturating(*of, part->amounts[i]);
	}
}

void report_meters_take(struct report_meters *meters, const struct meter_part *part)
{
	struct report_metered_gpu *gpu = &meters->gpus[part->device - meters->metered->devices];

	for (uint32_t i = 0; i < METERS; i++)
		if (part->known & 1u << i)
			take_meter(gpu, part, i);
}

static int by_energy(const void *a, const void *b, void *names)
{
	const struct report_meter_class *x = a, *y = b;
	const uint64_t of_x = x->values[METER_ENERGY].amount;
	const uint64_t of_y = y->values[METER_ENERGY].amount;

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(report_names_get(names, x->name), report_names_get(names, y->name));
}

static int by_place(const void *a, const void *b, void *names)
{
	const struct report_metered_gpu *x = a, *y = b;
	const int order =
		strcmp(report_names_get(names, x->host), report_names_get(names, y->host));

	return order ? order : (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

struct report_metered_gpu *report_meters_gpus(struct report_meters *meters, uint32_t *nr_gpus)
{
	struct report_metered_gpu *taken = meters->gpus;

	meters->gpus = NULL;
	*nr_gpus = meters->metered->nr_devices;
	for (uint32_t i = 0; i < *nr_gpus; i++) {
		struct report_metered_gpu *gpu = &taken[i];

		qsort_r(gpu->classes, METER_CLASSES, sizeof(*gpu->classes), by_energy,
			(void *)meters->names);
		while (gpu->nr_classes && gpu->classes[gpu->nr_classes - 1].ns == 0)
			gpu->nr_classes--;
	}
	qsort_r(taken, *nr_gpus, sizeof(*taken), by_place, (void *)meters->names);
	return taken;
}
