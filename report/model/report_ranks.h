/* The work of each rank on each of its GPUs, and the ranks that stand out. A row is a process on a device, so a rank
 * with several programs or GPUs has several rows. Times are CUPTI's on the process's own node, so rows are only
 * compared by durations. Used by one thread. */
#ifndef REPORT_RANKS_H
#define REPORT_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

struct report_placement;

/* The columns by which rows are compared. */
enum report_ranks_column {
	REPORT_RANKS_BUSY,
	REPORT_RANKS_COMPUTE,
	REPORT_RANKS_NCCL,
	REPORT_RANKS_IDLE,
	REPORT_RANKS_DELAY,
	REPORT_RANKS_COLUMNS,
};

struct report_ranks_work {
	uint64_t count, ns; /* the sum of durations, whether or not they overlap */
	/* about: the part of ns of the longest kernels, one of fifty; 0: not known, or no kernels */
	uint64_t longest_ns;
};

struct report_ranks_row {
	const char *host;        /* clean text (clean_text.h) */
	const char *device_name; /* "": not known */
	const char *job;         /* "": not known */
	int32_t rank;            /* REPORT_RANK_NONE */
	int32_t gpu;             /* REPORT_GPU_NONE */
	uint32_t pid;
	uint64_t records;
	/* from the first start to the last end of the process's work on the device */
	uint64_t window_ns;
	/* time in which work ran; window_ns - busy_ns is idle */
	uint64_t busy_ns;
	struct report_ranks_work compute; /* kernels except NCCL's */
	struct report_ranks_work nccl;
	/* parts of nccl.ns, as far as they are known (report_split.h), and what bus bandwidth counts as moved */
	uint64_t nccl_waits_ns, nccl_moves_ns, nccl_bus_bytes;
	const char *link; /* the GPU's link to others: "NVLink", "PCIe"; NULL: not known. Static */
	uint64_t link_bytes_per_second; /* its peak in one direction; 0: not known */
	struct report_ranks_work copies, fills;
	struct report_ranks_work graphs; /* whole graphs, whose kernels are not known */
	uint64_t nccl_busy_ns;           /* time in which a kernel of NCCL's ran */
	/* the part of nccl_busy_ns in which another kernel also ran */
	uint64_t overlap_ns;
	/* Delays between launch and start of kernels, where known: their number, the mean, rounded down, and the
	 * longest. */
	uint64_t delays, delay_ns, delay_max_ns;
	/* records that came too late to be sorted; the times above may lack theirs */
	uint64_t late;
	bool has_memory; /* memory was recorded, and peak_bytes is valid */
	uint64_t peak_bytes;
	uint32_t outliers; /* bits by enum report_ranks_column */
	/* how far from the median it is where it stands out most, as a part of the median (infinite if that is 0);
	 * 0: it does not stand out */
	double distance;
};

struct report_ranks {
	struct report_ranks_row *rows; /* by rank, job, host, GPU, pid; rows without a rank last */
	uint32_t nr_rows;
	/* why rows are not compared: static storage, for people; NULL: they are */
	const char *why_not;
	bool has_jobs; /* rows of several jobs */
	uint64_t medians_ns[REPORT_RANKS_COLUMNS];
	uint64_t median_window_ns;
	struct report_placement *placement; /* owns; NULL: not looked at */
	char **texts;                       /* owns the texts that the rows borrow */
	uint32_t nr_texts;
};

/* 0; -EPROTO: the profile names things that it does not hold; -ENOMEM. On error *ranks is NULL. */
int report_ranks_create(const struct profile *profile, struct report_ranks **ranks);
void report_ranks_destroy(struct report_ranks *ranks); /* accepts NULL */

/* Return a row's value of a column, and the column's name ("busy"). */
uint64_t report_ranks_value(const struct report_ranks_row *row, enum report_ranks_column column);
const char *report_ranks_name(enum report_ranks_column column);

#endif
