#include "straggler_clocks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "gpu_telemetry.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/nccl_kernel.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "proto/record.h"
#include "report/names/text_line.h"

#define HALF 0.5

/* Kernels without NCCL's that a party ran on one of its GPUs under one name. */
struct work {
	uint32_t name_id, party, device;
	uint64_t count, ns;
};

struct works {
	struct work *list; /* owns */
	uint32_t count;
};

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

/* at: for each process of the roster the number of its party, from 1. 0 or -ENOMEM. */
static int add_work(const struct collection *collection, const uint32_t *at, uint32_t nr_processes,
		    struct party *parties, struct works *works)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(collection->totals, &nr_rows);

	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct fold_key *key = &rows[i].key;

		if (key->process_id > nr_processes || at[key->process_id] == 0 ||
		    !is_compute(collection->catalog, &rows[i]))
			continue;
		const struct work work = {key->name_id, at[key->process_id] - 1, key->device_id,
					  rows[i].count, rows[i].ns};
		parties[work.party].device_ns[work.device] += work.ns;
		if (array_append(&works->list, &works->count, &work, sizeof(work)))
			return -ENOMEM;
	}
	return 0;
}

/* Takes the telemetry of the GPU that did most of the party's work. */
static void take_telemetry(const struct collection *collection, uint32_t process,
			   struct party *party)
{
	struct device_telemetry sums;

	for (uint32_t i = 1; i < RECORD_DEVICES_MAX; i++)
		if (party->device_ns[i] > party->device_ns[party->device])
			party->device = i;
	if (party->device_ns[party->device] == 0)
		return;
	gpu_telemetry_of(
		collection->placements,
		roster_process_device(roster_process(collection->roster, process), party->device),
		&sums);
	party->has_clock = sums.clock_ns > 0;
	party->mhz = gpu_telemetry_sm_mhz(&sums);
	uint64_t working_ns = gpu_telemetry_working_ns(&sums);
	for (unsigned int i = 0; i < TELEMETRY_REASONS && working_ns; i++)
		party->held[i] = (double)sums.reason_ns[i] / (double)working_ns;
}

/* ---- the comparison */

static int by_number(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

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
	qsort(room, count, sizeof(*room), by_number);
	return count ? room[count / 2] : 0;
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

static int by_name_and_party(const void *a, const void *b)
{
	const struct work *x = a, *y = b;

	if (x->name_id != y->name_id)
		return x->name_id < y->name_id ? -1 : 1;
	return (x->party > y->party) - (x->party < y->party);
}

/* Returns the median of the others' mean times of a kernel. works: of that kernel. room: as many numbers as parties. 0:
 * none with a known clock ran it. */
static double usual_of(const struct party *parties, const struct work *works, uint32_t count,
		       double *room)
{
	uint32_t nr = 0;

	for (uint32_t i = 0, end; i < count; i = end) {
		const struct party *party = &parties[works[i].party];
		uint64_t launches = 0, ns = 0;

		for (end = i; end < count && works[end].party == works[i].party; end++) {
			if (works[end].device != party->device)
				continue;
			launches += works[end].count;
			ns += works[end].ns;
		}
		if (works[i].party > 0 && party->has_clock && launches)
			room[nr++] = (double)ns / (double)launches;
	}
	qsort(room, nr, sizeof(*room), by_number);
	return nr ? room[nr / 2] : 0;
}

/* Returns by what part the late rank's kernel takes longer than the others' that costs it most, as the cause names it;
 * 0: none does. */
static double longer_of(const struct party *parties, struct works *works, double *room)
{
	double most_ns = 0, longer = 0;

	if (works->count)
		qsort(works->list, works->count, sizeof(*works->list), by_name_and_party);
	for (uint32_t i = 0, end; i < works->count; i = end) {
		const struct work *first = &works->list[i];
		double launches = 0, ns = 0;

		for (end = i; end < works->count && works->list[end].name_id == first->name_id;
		     end++) {
			if (works->list[end].party > 0 ||
			    works->list[end].device != parties->device)
				continue;
			launches += (double)works->list[end].count;
			ns += (double)works->list[end].ns;
		}
		const double usual_ns = usual_of(parties, first, end - i, room) * launches;
		if (usual_ns <= 0 || ns - usual_ns <= most_ns)
			continue;
		most_ns = ns - usual_ns;
		longer = ns / usual_ns - 1;
	}
	return longer;
}

static void compare(const struct party *parties, uint32_t nr, struct works *works, double *room,
		    struct straggler_clocks *clocks)
{
	const double mhz = median_of(parties, nr, room, mhz_of, 0);
	const double longer = longer_of(parties, works, room);

	if (!parties->has_clock || parties->mhz <= 0 || longer <= 0)
		return;
	const double slower = mhz / parties->mhz - 1;
	if (slower < STRAGGLER_CLOCKS_LEAST || slower < HALF * longer)
		return;
	clocks->late_mhz = (uint32_t)(parties->mhz + HALF);
	clocks->others_mhz = (uint32_t)(mhz + HALF);
	find_reason(parties, nr, room, clocks);
}

int straggler_clocks_find(const struct profile *profile, const uint32_t *processes, uint32_t nr,
			  struct straggler_clocks *clocks)
{
	const struct collection *collection = profile->collection;
	uint32_t nr_processes = roster_size(collection->roster).processes, nr_rows;

	*clocks = (struct straggler_clocks){.reason = TELEMETRY_FREE};
	placement_log_telemetry(collection->placements, &nr_rows);
	if (nr_rows == 0)
		return 0;
	uint32_t *at = calloc(nr_processes + 1ull, sizeof(*at));
	struct party *parties = calloc(nr, sizeof(*parties));
	double *room = calloc(nr, sizeof(*room));
	struct works works = {.list = NULL};
	int error = at && parties && room ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < nr && !error; i++)
		at[processes[i]] = i + 1;
	if (!error)
		error = add_work(collection, at, nr_processes, parties, &works);
	if (!error) {
		for (uint32_t i = 0; i < nr; i++)
			take_telemetry(collection, processes[i], &parties[i]);
		compare(parties, nr, &works, room, clocks);
	}
	free(works.list);
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
