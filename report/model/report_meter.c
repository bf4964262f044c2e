#include "report_meter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/roster.h"
#include "proto/ledger.h"

/* Texts of the names are those of one tree. */
struct report_meter {
	const struct metered *energy;
	const struct report_names *names;
	struct report_meter_row *rows; /* owns; by device of energy */
};

static int describe(const struct profile *profile, const struct metered_device *device,
		    struct report_names *names, struct report_meter_row *row)
{
	const struct roster *roster = profile->collection->roster;
	const struct roster_device *of = roster_device(roster, device->device);
	const struct roster_host *host = roster_host(roster, of->host);
	int error = host ? report_names_string(names, host->node, &row->host) : 0;

	row->gpu = of->index >= 0 ? of->index : REPORT_GPU_NONE;
	row->ns = device->ns;
	row->mj = device->mj;
	row->lost_ns = device->lost_ns;
	row->idle = device->fit.idle;
	row->idle_mw = device->fit.idle_mw;
	row->idle_confidence = meter_confidence_idle(device);
	row->rest_confidence = meter_confidence_rest(device);
	row->intervals = device->fit.nr_intervals;
	row->unfitted = device->unfitted;
	row->residual = device->fit.residual;
	row->nr_kernels = METER_CLASSES;
	for (uint32_t i = 0; i < METER_CLASSES && !error; i++) {
		struct report_meter_kernel *kernel = &row->kernels[i];

		kernel->ns = device->work_ns[i];
		kernel->mw = device->fit.class_mw[i];
		kernel->error_mw = device->fit.error_mw[i];
		kernel->apart = device->fit.apart[i];
		kernel->confidence = meter_confidence_work(device, i);
		if (device->names[i])
			error = report_names_string(names, device->names[i], &kernel->name);
	}
	return error;
}

int report_meter_create(const struct profile *profile, const struct metered *energy,
			 struct report_names *names, struct report_meter **rows)
{
	int error = 0;

	*rows = calloc(1, sizeof(**rows));
	if (!*rows)
		return -ENOMEM;
	(*rows)->energy = energy;
	(*rows)->names = names;
	(*rows)->rows = calloc(energy->nr_devices + 1ul, sizeof(*(*rows)->rows));
	if (!(*rows)->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < energy->nr_devices && !error; i++)
		error = describe(profile, &energy->devices[i], names, &(*rows)->rows[i]);
	return error;
}

void report_meter_destroy(struct report_meter *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

struct fold_row report_meter_leaf(const struct meter_part *part)
{
	struct fold_row row = {.near_first = FOLD_NEAR_NONE, .ns = part->ns};

	if (part->row) {
		row.key = part->row->key;
		row.count = part->row->count;
		return row;
	}
	row.key.process_id = part->device->process;
	row.key.device_id = part->device->device;
	row.key.kind = part->kind == METER_PART_IDLE ? REPORT_KIND_IDLE : REPORT_KIND_ENERGY;
	return row;
}

void report_meter_take(struct report_meter *rows, const struct meter_part *part)
{
	struct report_meter_row *row = &rows->rows[part->device - rows->energy->devices];

	if (part->kind == METER_PART_IDLE) {
		row->idle_mj = part->mj;
	} else if (part->kind == METER_PART_REST) {
		row->rest_mj = part->mj;
	} else {
		struct report_meter_kernel *kernel =
			&row->kernels[metered_class(part->device, &part->row->key)];

		row->work_mj = ledger_add_saturating(row->work_mj, part->mj);
		kernel->mj = ledger_add_saturating(kernel->mj, part->mj);
	}
}

static int by_energy(const void *a, const void *b, void *names)
{
	const struct report_meter_kernel *x = a, *y = b;

	if (x->mj != y->mj)
		return x->mj < y->mj ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(report_names_get(names, x->name), report_names_get(names, y->name));
}

static int by_place(const void *a, const void *b, void *names)
{
	const struct report_meter_row *x = a, *y = b;
	const int order =
		strcmp(report_names_get(names, x->host), report_names_get(names, y->host));

	return order ? order : (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

struct report_meter_row *report_meter_rows(struct report_meter *rows, uint32_t *nr_rows)
{
	struct report_meter_row *taken = rows->rows;

	rows->rows = NULL;
	*nr_rows = rows->energy->nr_devices;
	for (uint32_t i = 0; i < *nr_rows; i++) {
		struct report_meter_row *row = &taken[i];

		qsort_r(row->kernels, METER_CLASSES, sizeof(*row->kernels), by_energy,
			(void *)rows->names);
		while (row->nr_kernels && row->kernels[row->nr_kernels - 1].ns == 0)
			row->nr_kernels--;
	}
	qsort_r(taken, *nr_rows, sizeof(*taken), by_place, (void *)rows->names);
	return taken;
}
