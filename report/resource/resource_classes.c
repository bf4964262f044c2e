#include "resource_classes.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/roster.h"
#include "proto/ledger.h"
#include "proto/record.h"

#define CLASS_OTHER 0u

/* The time of a class of work on a device. */
struct candidate {
	uint32_t device;
	struct resource_usage_class class;
	uint64_t ns;
};

struct chooser {
	const struct profile *profile;
	struct resource_usage *usage;
	struct fold_table *table; /* owns; keys have device, kinds and name */
	uint32_t *device_of;      /* owns until it is given */
};

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

uint32_t resource_classes_find(const struct resource_usage_device *device,
			       const struct fold_key *key)
{
	const struct resource_usage_class wanted = class_of(key);

	for (uint32_t i = CLASS_OTHER + 1; i < device->nr_classes; i++)
		if (is_same(&device->classes[i], &wanted))
			return i;
	return CLASS_OTHER;
}

static int take_total(void *context, const struct fold_row *row)
{
	struct chooser *chooser = context;
	struct resource_usage_device *device =
		resource_usage_find(chooser->usage, chooser->profile, &row->key);
	const struct resource_usage_class class = class_of(&row->key);
	const struct fold_key key = {.device_id = device ? device->device : 0,
				     .kind = (uint8_t) class.kind,
				     .copy_kind = (uint8_t) class.copy_kind,
				     .name_id = class.name_id};

	if (row->key.process_id == 0 ||
	    row->key.process_id > roster_size(chooser->profile->collection->roster).processes)
		return -EPROTO;
	if (!resource_usage_is_work(row->key.kind))
		return 0;
	/* A GPU whose counter is not known counts as one, too. */
	uint32_t *of = &chooser->device_of[row->key.process_id];
	const uint32_t id = roster_process_device(
		roster_process(chooser->profile->collection->roster, row->key.process_id),
		row->key.device_id);

	*of = *of == 0 || *of == id ? id : RESOURCE_CLASSES_SEVERAL;
	if (!device)
		return 0;
	return fold_table_add(chooser->table, &key, row->count, row->ns, 0);
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

static int choose(struct chooser *chooser)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(chooser->table, &nr_rows);
	struct candidate *list = calloc(nr_rows + 1ul, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_rows; i++)
		list[i] = (struct candidate){rows[i].key.device_id, class_of(&rows[i].key),
					     rows[i].ns};
	qsort(list, nr_rows, sizeof(*list), by_time);
	for (uint32_t i = 0; i < nr_rows; i++) {
		struct resource_usage_device *device =
			resource_usage_by_id(chooser->usage, list[i].device);
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

int resource_classes_choose(struct resource_usage *usage, const struct profile *profile,
			    uint32_t **device_of)
{
	const uint32_t nr = roster_size(profile->collection->roster).processes;
	struct chooser chooser = {.profile = profile, .usage = usage};

	chooser.table = fold_table_create();
	chooser.device_of = calloc(nr + 1ul, sizeof(*chooser.device_of));
	int error = chooser.table && chooser.device_of
			    ? profile_each_total(profile, take_total, &chooser)
			    : -ENOMEM;
	if (!error)
		error = choose(&chooser);
	fold_table_destroy(chooser.table);
	if (error) {
		free(chooser.device_of);
		chooser.device_of = NULL;
	}
	*device_of = chooser.device_of;
	return error;
}
