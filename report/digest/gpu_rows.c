#include "gpu_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/report_tree.h"
#include "report/telemetry/gpm_use.h"
#include "report/telemetry/gpu_telemetry.h"

static double share_of(const struct gpu_row *row, uint64_t part_ns)
{
	const uint64_t window_ns = row->busy->busy_ns + row->busy->idle_ns;

	return window_ns ? (double)part_ns / (double)window_ns : 0;
}

double gpu_rows_busy(const struct gpu_row *row)
{
	return share_of(row, row->busy->busy_ns);
}

double gpu_rows_nccl(const struct gpu_row *row)
{
	return share_of(row, row->nccl_ns);
}

double gpu_rows_mhz(const struct gpu_row *row)
{
	return gpu_telemetry_sm_mhz(&row->busy->telemetry);
}

/* Adds what the processes did on the GPU. */
static void add_ranks(struct gpu_row *row, const struct report_ranks *ranks)
{
	bool is_first = true;

	for (uint32_t i = 0; ranks && i < ranks->nr_rows; i++) {
		const struct report_ranks_row *of = &ranks->rows[i];

		if (of->gpu != row->busy->gpu || strcmp(of->host, row->busy->host) != 0)
			continue;
		row->nccl_ns += of->nccl_busy_ns;
		row->rank = is_first || row->rank == of->rank ? of->rank : REPORT_RANK_NONE;
		is_first = false;
	}
}

static int by_number(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_of(const struct gpu_rows *rows, double *room,
			double (*share)(const struct gpu_row *row))
{
	for (uint32_t i = 0; i < rows->nr_rows; i++)
		room[i] = share(&rows->rows[i]);
	qsort(room, rows->nr_rows, sizeof(*room), by_number);
	return rows->nr_rows ? room[rows->nr_rows / 2] : 0;
}

static void find_alike(struct gpu_rows *rows)
{
	for (uint32_t i = 0; i < rows->nr_rows; i++) {
		struct gpu_row *row = &rows->rows[i];

		row->is_alike =
			fabs(gpu_rows_busy(row) - rows->busy_share) <= GPU_ROWS_ALIKE &&
			fabs(gpu_rows_nccl(row) - rows->nccl_share) <= GPU_ROWS_ALIKE &&
			fabs(gpu_rows_mhz(row) - rows->mhz) <= GPU_ROWS_ALIKE_CLOCK * rows->mhz &&
			!row->busy->late;
		rows->nr_alike += row->is_alike;
	}
}

int gpu_rows_init(struct gpu_rows *rows, const struct report_busy *busy,
		  const struct report_ranks *ranks)
{
	double *room = calloc(busy->nr_rows + 1ul, sizeof(*room));

	memset(rows, 0, sizeof(*rows));
	rows->rows = calloc(busy->nr_rows + 1ul, sizeof(*rows->rows));
	if (!room || !rows->rows) {
		free(room);
		gpu_rows_fini(rows);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < busy->nr_rows; i++) {
		struct gpu_row *row = &rows->rows[rows->nr_rows];

		if (!busy->rows[i].whole_device)
			continue;
		row->busy = &busy->rows[i];
		row->rank = REPORT_RANK_NONE;
		add_ranks(row, ranks);
		rows->has_nccl |= row->nccl_ns > 0;
		rows->has_telemetry |= row->busy->telemetry.clock_ns ||
				       row->busy->telemetry.power_ns ||
				       row->busy->telemetry.energy_ns;
		rows->has_use |= gpm_use_known_ns(&row->busy->telemetry) > 0;
		rows->has_nvlink |=
			row->busy->telemetry.traffic_known_ns[TELEMETRY_NVLINK_SENT] > 0;
		rows->nr_rows++;
	}
	rows->busy_share = median_of(rows, room, gpu_rows_busy);
	rows->nccl_share = median_of(rows, room, gpu_rows_nccl);
	rows->mhz = median_of(rows, room, gpu_rows_mhz);
	if (rows->nr_rows > GPU_ROWS_APART)
		find_alike(rows);
	free(room);
	return 0;
}

void gpu_rows_fini(struct gpu_rows *rows)
{
	free(rows->rows);
	memset(rows, 0, sizeof(*rows));
}
