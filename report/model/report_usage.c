#include "report_usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind_name.h"

#include "aggregator/profile/roster.h"
#include "proto/ledger.h"
#include "report/resource/resource_classes.h"

#define NAME_SIZE 64u

/* Texts of the names are those of one tree. */
struct report_usage {
	const struct resource_usage *usage;
	const struct report_names *names;
	uint32_t kind;                 /* of leaves */
	struct report_gpu_usage *gpus; /* owns; by device of usage */
};

static int name_class(const struct resource_usage_class *class, struct report_names *names,
		      uint32_t *name)
{
	const char *detail = kind_name_detail(class->kind, class->copy_kind);
	char text[NAME_SIZE];

	if (class->kind == RECORD_GPU_KERNEL)
		return report_names_function(names, class->name_id, name);
	snprintf(text, sizeof(text), "[%s]%s", kind_name_leaf(class->kind), detail);
	return report_names_text(names, text, name);
}

static void describe_resource(const struct resource_usage_device *device, enum resource resource,
			      struct report_gpu_usage *gpu)
{
	const struct resource_usage_sum *from = &device->resources[resource];
	struct report_resource *to = &gpu->resources[resource];

	*to = (struct report_resource){
		.ns = from->ns,
		.amount = from->amount,
		.lost_ns = from->lost_ns,
		.idle_kind = from->fit.idle,
		.idle_rate = from->fit.idle_rate,
		.idle_confidence = resource_confidence_idle(device, resource),
		.rest_confidence = resource_confidence_rest(device, resource),
		.intervals = from->fit.nr_intervals,
		.unfitted = from->unfitted,
		.residual = from->fit.residual,
		.sample_ns = from->sample_ns,
		.sample_mismatch = from->sample_mismatch,
	};
	for (uint32_t i = 0; i < RESOURCE_CLASSES; i++)
		gpu->classes[i].values[resource] = (struct report_resource_value){
			.rate = from->fit.class_rate[i],
			.error_rate = from->fit.error_rate[i],
			.apart = from->fit.apart[i],
			.confidence = resource_confidence_work(device, resource, i),
		};
}

static int describe(const struct profile *profile, const struct resource_usage_device *device,
		    struct report_names *names, struct report_gpu_usage *gpu)
{
	const struct roster *roster = profile->collection->roster;
	const struct roster_device *of = roster_device(roster, device->device);
	const struct roster_host *host = roster_host(roster, of->host);
	int error = host ? report_names_string(names, host->node, &gpu->host) : 0;

	gpu->gpu = of->index >= 0 ? of->index : REPORT_GPU_NONE;
	gpu->nr_classes = RESOURCE_CLASSES;
	for (uint32_t i = 0; i < RESOURCES; i++)
		describe_resource(device, (enum resource)i, gpu);
	for (uint32_t i = 0; i < device->nr_classes && !error; i++) {
		gpu->classes[i].ns = device->work_ns[i];
		if (i > 0)
			error = name_class(&device->classes[i], names, &gpu->classes[i].name);
	}
	return error;
}

int report_usage_create(const struct profile *profile, const struct resource_usage *usage,
			struct report_names *names, uint32_t planes, struct report_usage **rows)
{
	int error = 0;

	*rows = calloc(1, sizeof(**rows));
	if (!*rows)
		return -ENOMEM;
	(*rows)->usage = usage;
	(*rows)->names = names;
	(*rows)->kind = planes & 1u << REPORT_PLANE_ENERGY ? REPORT_KIND_ENERGY : REPORT_KIND_USE;
	(*rows)->gpus = calloc(usage->nr_devices + 1ul, sizeof(*(*rows)->gpus));
	if (!(*rows)->gpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < usage->nr_devices && !error; i++)
		error = describe(profile, &usage->devices[i], names, &(*rows)->gpus[i]);
	return error;
}

void report_usage_destroy(struct report_usage *rows)
{
	if (rows)
		free(rows->gpus);
	free(rows);
}

enum report_plane report_usage_plane(const struct report_usage *rows)
{
	return report_plane_of(rows->kind);
}

struct fold_row report_usage_leaf(const struct report_usage *rows, const struct resource_part *part)
{
	struct fold_row row = {.near_first = FOLD_NEAR_NONE, .ns = part->ns};

	if (part->row) {
		row.key = part->row->key;
		row.count = part->row->count;
		return row;
	}
	row.key.process_id = part->device->process;
	row.key.device_id = part->device->device;
	row.key.kind = (uint8_t)(part->kind == RESOURCE_PART_IDLE ? REPORT_KIND_IDLE : rows->kind);
	return row;
}

void report_usage_fill(const struct report_usage *rows, const struct resource_part *part,
		       struct report_leaf *leaf)
{
	leaf->kind = rows->kind;
	leaf->resources = part->known;
	for (uint32_t i = 0; i < RESOURCES; i++) {
		leaf->amounts[i] = part->amounts[i];
		leaf->confidence[i] = (uint8_t)part->confidence[i];
	}
}

static void take_resource(struct report_gpu_usage *gpu, const struct resource_part *part,
			  uint32_t i)
{
	struct report_resource *resource = &gpu->resources[i];

	if (part->kind == RESOURCE_PART_IDLE) {
		resource->idle = part->amounts[i];
	} else if (part->kind == RESOURCE_PART_REST) {
		resource->rest = part->amounts[i];
	} else {
		uint64_t *of = &gpu->classes[resource_classes_find(part->device, &part->row->key)]
					.values[i]
					.amount;

		resource->work = ledger_add_saturating(resource->work, part->amounts[i]);
		*of = ledger_add_saturating(*of, part->amounts[i]);
	}
}

void report_usage_take(struct report_usage *rows, const struct resource_part *part)
{
	struct report_gpu_usage *gpu = &rows->gpus[part->device - rows->usage->devices];

	for (uint32_t i = 0; i < RESOURCES; i++)
		if (part->known & 1u << i)
			take_resource(gpu, part, i);
}

static int by_energy(const void *a, const void *b, void *names)
{
	const struct report_resource_class *x = a, *y = b;
	const uint64_t of_x = x->values[RESOURCE_ENERGY].amount;
	const uint64_t of_y = y->values[RESOURCE_ENERGY].amount;

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(report_names_get(names, x->name), report_names_get(names, y->name));
}

static int by_place(const void *a, const void *b, void *names)
{
	const struct report_gpu_usage *x = a, *y = b;
	const int order =
		strcmp(report_names_get(names, x->host), report_names_get(names, y->host));

	return order ? order : (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

struct report_gpu_usage *report_usage_gpus(struct report_usage *rows, uint32_t *nr_gpus)
{
	struct report_gpu_usage *taken = rows->gpus;

	rows->gpus = NULL;
	*nr_gpus = rows->usage->nr_devices;
	for (uint32_t i = 0; i < *nr_gpus; i++) {
		struct report_gpu_usage *gpu = &taken[i];

		qsort_r(gpu->classes, RESOURCE_CLASSES, sizeof(*gpu->classes), by_energy,
			(void *)rows->names);
		while (gpu->nr_classes && gpu->classes[gpu->nr_classes - 1].ns == 0)
			gpu->nr_classes--;
	}
	qsort_r(taken, *nr_gpus, sizeof(*taken), by_place, (void *)rows->names);
	return taken;
}
