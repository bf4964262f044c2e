/* How busy each GPU was, also with NCCL, and how fast. Of many GPUs it tells those that are alike. Used by one thread.
 */
#ifndef GPU_ROWS_H
#define GPU_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model/report_busy.h"
#include "report/model/report_ranks.h"

/* So many GPUs are rows of their own in any case. */
#define GPU_ROWS_APART 8u
/* Two GPUs are alike whose shares of busy time and of NCCL differ by no more than this from the medians. 2 points is
 * what the GPUs of an even job differ by. */
#define GPU_ROWS_ALIKE 0.02
/* And whose mean clocks differ from the median by no more than this part of it. */
#define GPU_ROWS_ALIKE_CLOCK 0.02

struct gpu_row {
	const struct report_busy_row *busy; /* borrowed; of the whole device */
	/* time in which a kernel of NCCL's ran, summed over the processes that have the GPU */
	uint64_t nccl_ns;
	int32_t rank; /* REPORT_RANK_NONE: none, or several */
	bool is_alike;
};

struct gpu_rows {
	struct gpu_row *rows; /* owns; by host and GPU */
	uint32_t nr_rows;
	uint32_t nr_alike; /* 0: all rows stand for themselves */
	bool has_nccl;
	/* Each of a GPU at least. has_use: what GPM tells; has_nvlink: of NVLink, too. */
	bool has_telemetry, has_use, has_nvlink;
	double busy_share, nccl_share; /* medians, from 0 to 1 */
	double mhz;                    /* median; 0: not known */
};

/* ranks may be NULL. Both are borrowed until fini. 0; -ENOMEM: *rows is empty. */
int gpu_rows_init(struct gpu_rows *rows, const struct report_busy *busy,
		  const struct report_ranks *ranks);
void gpu_rows_fini(struct gpu_rows *rows);

/* Return parts of the time from the first start to the last end, from 0 to 1. */
double gpu_rows_busy(const struct gpu_row *row);
double gpu_rows_nccl(const struct gpu_row *row);

/* Returns the mean clock of its multiprocessors, in MHz; 0: not known. */
double gpu_rows_mhz(const struct gpu_row *row);

#endif
