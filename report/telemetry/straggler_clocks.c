#include "straggler_clocks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "gpu_telemetry.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/nccl_kernel.h"
#include "aggregator/profile/roster.h"
#include "proto/record.h"
#include "report/names/text_line.h"
#include "report/statistics/robust.h"

#define HALF 0.5

struct party {
	uint64_t device_ns[RECORD_DEVICES_MAX];
	double mhz, held[TELEMETRY_REASONS];
	bool has_clock;
	uint32_t device; /* which did most of its work */
};

/* ---- what each party did */

static bool is_compute(const struct catalog *catalog, const struct fold_row *row)
{
	uint32_t size;
	const char *name;

	if (row->key.kind != RECORD_GPU_KERNEL || row->key.device_id >= RECORD_DEVICES_MAX)
		return false;
	name = catalog_string(catalog, row->key.name_id, &size);
	return !nccl_kernel_is(name, size);
}

/* at: for each process of the roster the number of its party, from 1. */
static void add_work(const struct collection *collection, const uint32_t *at, uint32_t nr_processes,
		     struct party *parties)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(collection->totals, &nr_rows);

	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct fold_key *key = &rows[i].key;

		if (key->process_id <= nr_processes && at[key->process_id] &&
		    is_compute(collection->catalog, &rows[i]))
			parties[at[key->process_id] - 1].device_ns[key->device_id] += rows[i].ns;
	}
}

/* Takes the telemetry of the GPU that did most of the party's work. */
static void take_telemetry(const struct collection *collection,
			   const struct straggler_clocks_question *question, uint32_t process,
			   struct party *party)
{
	struct device_telemetry sums;

	for (uint32_t i = 1; i < RECORD_DEVICES_MAX; i++)
		if (party->device_ns[i] > party->device_ns[party->device])
			party->device = i;
	if (party->device_ns[party->device] == 0)
		return;
	const uint32_t device =
		roster_process_device(roster_process(collection->roster, process), party->device);
	gpu_telemetry_between(collection->placements, device, question->start_ns,
			      question->end_ns ? question->end_ns : UINT64_MAX, &sums);
	party->has_clock = sums.clock_ns > 0;
	party->mhz = gpu_telemetry_sm_mhz(&sums);
	uint64_t working_ns = gpu_telemetry_working_ns(&sums);
	for (unsigned int i = 0; i < TELEMETRY_REASONS && working_ns; i++)
		party->held[i] = (double)sums.reason_ns[i] / (double)working_ns;
}

/* ---- the comparison */

static double mhz_of(const struct party *party, unsigned int reason)
{
	(void)reason;
	return party->mhz;
}

static double held_of(const struct party *party, unsigned int reason)
{
	return party->held[reason];
}

/* Returns the median of the others whose clock is known. room: nr numbers. */
static double median_of(const struct party *parties, uint32_t nr, double *room,
			double (*value)(const struct party *party, unsigned int reason),
			unsigned int reason)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i < nr; i++)
		if (parties[i].has_clock)
			room[count++] = value(&parties[i], reason);
	return robust_median(room, count);
}

/* Sets the reason that the late GPU had longer than the others. */
static void find_reason(const struct party *parties, uint32_t nr, double *room,
			struct straggler_clocks *clocks)
{
	double most = STRAGGLER_CLOCKS_HELD;

	for (unsigned int i = TELEMETRY_IDLE + 1; i < TELEMETRY_FREE; i++) {
		double more = parties->held[i] - median_of(parties, nr, room, held_of, i);

		if (more <= most)
			continue;
		most = more;
		clocks->reason = i;
		clocks->share = parties->held[i];
	}
}

static void compare(const struct party *parties, const struct straggler_clocks_question *question,
		    double *room, struct straggler_clocks *clocks)
{
	const double mhz = median_of(parties, question->nr, room, mhz_of, 0);

	if (!parties->has_clock || parties->mhz <= 0 || question->longer <= 0)
		return;
	const double slower = mhz / parties->mhz - 1;
	if (slower < STRAGGLER_CLOCKS_LEAST || slower < HALF * question->longer)
		return;
	clocks->late_mhz = (uint32_t)(parties->mhz + HALF);
	clocks->others_mhz = (uint32_t)(mhz + HALF);
	find_reason(parties, question->nr, room, clocks);
}

int straggler_clocks_find(const struct profile *profile,
			  const struct straggler_clocks_question *question,
			  struct straggler_clocks *clocks)
{
	const struct collection *collection = profile->collection;
	uint32_t nr_processes = roster_size(collection->roster).processes, nr_rows;

	*clocks = (struct straggler_clocks){.reason = TELEMETRY_FREE};
	placement_log_telemetry(collection->placements, &nr_rows);
	if (nr_rows == 0)
		return 0;
	uint32_t *at = calloc(nr_processes + 1ull, sizeof(*at));
	struct party *parties = calloc(question->nr, sizeof(*parties));
	double *room = calloc(question->nr, sizeof(*room));
	const int error = at && parties && room ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < question->nr && !error; i++)
		at[question->processes[i]] = i + 1;
	if (!error) {
		add_work(collection, at, nr_processes, parties);
		for (uint32_t i = 0; i < question->nr; i++)
			take_telemetry(collection, question, question->processes[i], &parties[i]);
		compare(parties, question, room, clocks);
	}
	free(room);
	free(parties);
	free(at);
	return error;
}

static void append_mhz(char *text, size_t size, uint32_t mhz)
{
	if (mhz >= 1000)
		text_line_append(text, size, "%" PRIu32 ",%03" PRIu32, mhz / 1000, mhz % 1000);
	else
		text_line_append(text, size, "%" PRIu32, mhz);
}

void straggler_clocks_text(const struct straggler_clocks *clocks, char *text, size_t size)
{
	if (clocks->late_mhz == 0)
		return;
	text_line_append(text, size, ", its GPU ran at ");
	append_mhz(text, size, clocks->late_mhz);
	text_line_append(text, size, " MHz, the others at ");
	append_mhz(text, size, clocks->others_mhz);
	if (clocks->reason != TELEMETRY_FREE)
		text_line_append(text, size, " (%s %.0f %% of the time)",
				 gpu_telemetry_reason_words(clocks->reason), 100 * clocks->share);
}
