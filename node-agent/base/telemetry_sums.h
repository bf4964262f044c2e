/* Adds readings of a GPU up to its telemetry (device_telemetry.h). Pure, any thread. */
#ifndef TELEMETRY_SUMS_H
#define TELEMETRY_SUMS_H

#include "nvml_library.h"

#include "proto/device_telemetry.h"

/* A row ends after so long, and after a 32nd of all time, so that a report can look at a part of the run. Of 4,096 GPUs
 * an hour has 750,000 rows. */
#define TELEMETRY_SUMS_ROW_NS 1000000000ull
#define TELEMETRY_SUMS_ROWS   32u
/* Rows that have ended and are kept for those that were not told them yet. */
#define TELEMETRY_SUMS_ENDED 16u

struct telemetry_sums {
	struct device_telemetry total; /* the row that grows; device_id is the caller's */
	struct device_telemetry
		ended[TELEMETRY_SUMS_ENDED]; /* those before it: the n-th at n % ENDED */
	uint64_t nr_ended;
	struct nvml_reading before; /* the newest reading */
	uint64_t before_ns;         /* its time, CLOCK_MONOTONIC; 0: there is none to go on from */
	uint64_t energy_mj;         /* the board's counter when it was last known */
	uint64_t energy_at_ns;      /* and its time; 0: there is none to go on from */
	uint64_t gpm_at_ns;         /* GPM's newest sample; 0: there is none to go on from */
	uint64_t begin_ns;          /* total.begin_ns by CLOCK_MONOTONIC */
	uint64_t first_ns;          /* the same of the first row */
};

/* Begins. now_ns is CLOCK_MONOTONIC, real_ns the same moment of CLOCK_REALTIME. */
void telemetry_sums_init(struct telemetry_sums *sums, uint64_t now_ns, uint64_t real_ns);

/* Adds a reading. The time since the one before has its values. Whole microseconds count. Then a row may end, and the
 * next one begins at that moment. */
void telemetry_sums_add(struct telemetry_sums *sums, const struct nvml_reading *reading,
			uint64_t now_ns);

/* Returns the row to tell after one that was told before (zero: none). If that has grown and ended since, it is told
 * for the last time. Then those that have ended are told, and the one that grows. Without a row that was told it is the
 * one that grows. Borrowed until the next change. */
const struct device_telemetry *telemetry_sums_next(const struct telemetry_sums *sums,
						   const struct device_telemetry *told);

/* Says that nothing could be read, and why (enum telemetry_refusal). */
void telemetry_sums_refuse(struct telemetry_sums *sums, uint32_t refusal, uint64_t now_ns);

/* No process uses the GPU now: the time until the next reading does not count. */
void telemetry_sums_pause(struct telemetry_sums *sums);

#endif
