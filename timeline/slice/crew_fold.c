#include "crew_fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/collection.h"

#define REACH_NS     1000000000u /* at first; each time so many times as much */
#define REACH_FACTOR 8u
#define REACH_MOST   64000000000u

static void fini_shares(struct crew_fold *fold)
{
	for (uint32_t i = 0; i < fold->nr; i++) {
		struct crew_fold_share *share = &fold->shares[i];

		stream_fold_fini(&share->fold);
		free(share->processes);
		if (i)
			timeline_source_destroy(share->source);
		*share = (struct crew_fold_share){0};
	}
}

void crew_fold_fini(struct crew_fold *fold)
{
	fini_shares(fold);
	*fold = (struct crew_fold){0};
}

/* ---- shares */

/* The share of a process is that of its devices, if one of them has a share already. */
static uint32_t share_of(const struct roster_process *process, const uint8_t *owners,
			 uint32_t nr_devices, uint32_t otherwise)
{
	for (uint32_t i = 0; i < process->nr_devices; i++) {
		const uint32_t device = process->devices[i].device;

		if (device && device <= nr_devices && owners[device - 1])
			return owners[device - 1] - 1u;
	}
	return otherwise;
}

/* Returns whether no other share has one of the process's devices, which become this one's. */
static bool own_devices(const struct roster_process *process, uint8_t *owners, uint32_t nr_devices,
			uint32_t share)
{
	bool are_own = true;

	for (uint32_t i = 0; i < process->nr_devices; i++) {
		const uint32_t device = process->devices[i].device;

		if (!device || device > nr_devices)
			continue;
		are_own &= !owners[device - 1] || owners[device - 1] == share + 1;
		owners[device - 1] = (uint8_t)(share + 1);
	}
	return are_own;
}

/* Gives each wanted process to a share. 0; -EAGAIN: two shares would have one device; -ENOMEM. */
static int divide(struct crew_fold *fold)
{
	const struct roster *roster = timeline_source_profile(fold->source)->collection->roster;
	const struct roster_size size = roster_size(roster);
	const uint8_t *wanted = fold->request->processes;
	uint8_t *owners = calloc(size.devices + 1ull, 1);
	bool are_apart = true;

	if (!owners)
		return -ENOMEM;
	for (uint32_t id = 1; id <= size.processes; id++) {
		const struct roster_process *process = roster_process(roster, id);
		const uint32_t own = (uint32_t)((uint64_t)(id - 1) * fold->nr / size.processes);
		const uint32_t share = share_of(process, owners, size.devices, own);

		are_apart &= own_devices(process, owners, size.devices, share);
		fold->shares[share].processes[id - 1] = wanted ? wanted[id - 1] : 1;
	}
	free(owners);
	return are_apart ? 0 : -EAGAIN;
}

static int init_shares(struct crew_fold *fold)
{
	const struct roster *roster = timeline_source_profile(fold->source)->collection->roster;

	for (uint32_t i = 0; i < fold->nr; i++) {
		struct crew_fold_share *share = &fold->shares[i];

		share->source = i ? timeline_source_again(fold->source) : fold->source;
		share->processes = calloc(roster_size(roster).processes + 1ull, 1);
		if (!share->source || !share->processes)
			return -ENOMEM;
	}
	return divide(fold);
}

static void read_share(void *context, uint32_t part)
{
	const struct crew_fold *fold = context;
	struct crew_fold_share *share = &((struct crew_fold *)context)->shares[part];
	struct timeline_request request = *fold->request;

	request.processes = share->processes;
	request.from_ns = request.from_ns > fold->reach_ns ? request.from_ns - fold->reach_ns : 0;
	share->error = stream_fold_read(&share->fold, share->source, &request, fold->uncaptured,
					fold->request->from_ns, fold->request->to_ns);
}

/* What several shares may have counted is counted by one reader. */
static bool is_plain(const struct timeline_counts *counts)
{
	return !counts->unknown && !counts->unclocked && !counts->log.damaged &&
	       !counts->log.compressed;
}

/* 0, or the first error. -EAGAIN is no reason if other shares have another. */
static int sum_up(struct crew_fold *fold)
{
	int error = 0;

	fold->counts = fold->shares[0].fold.counts;
	fold->nr_work = fold->nr_waits = fold->nr_launchless = fold->last_ns = 0;
	for (uint32_t i = 0; i < fold->nr; i++) {
		const struct crew_fold_share *share = &fold->shares[i];
		const struct timeline_counts *counts = &share->fold.counts;

		if (!error || error == -EAGAIN)
			error = share->error ? share->error : error;
		if (!error && !is_plain(counts))
			error = -EAGAIN;
		fold->nr_work += share->fold.nr_work;
		fold->nr_waits += share->fold.nr_waits;
		fold->nr_launchless += share->fold.nr_launchless;
		if (share->fold.last_ns > fold->last_ns)
			fold->last_ns = share->fold.last_ns;
		if (i) {
			fold->counts.others += counts->others;
			fold->counts.log.launches += counts->log.launches;
			fold->counts.log.records += counts->log.records;
		}
	}
	return error;
}

static int read_all(struct crew_fold *fold, uint32_t nr)
{
	fold->nr = nr;
	int error = init_shares(fold);
	if (error == -EAGAIN && nr > 1) {
		fini_shares(fold);
		return read_all(fold, 1);
	}
	if (error)
		return error;
	thread_crew_run(fold->nr, read_share, fold);
	return sum_up(fold);
}

int crew_fold_read(struct crew_fold *fold, struct timeline_source *source,
		   const struct timeline_request *request, const struct uncaptured *uncaptured,
		   uint64_t first_ns)
{
	const struct roster *roster = timeline_source_profile(source)->collection->roster;
	const uint32_t nr_processes = roster_size(roster).processes, size = thread_crew_size();
	uint64_t reach_ns = REACH_NS;

	for (;; reach_ns *= REACH_FACTOR) {
		*fold = (struct crew_fold){.source = source,
					   .request = request,
					   .uncaptured = uncaptured,
					   .reach_ns = reach_ns};
		int error = read_all(fold, size < nr_processes ? size : nr_processes);
		const bool is_all =
			request->from_ns <= first_ns || request->from_ns - first_ns <= reach_ns;

		if ((error && error != -EAGAIN) || is_all || !fold->nr_launchless)
			return error;
		if (reach_ns >= REACH_MOST)
			return -EAGAIN;
		crew_fold_fini(fold);
	}
}

/* ---- what comes of it */

/* Puts the rows of a share in order of their processes. order: room for all. 0 or -ENOMEM. */
static int order_rows(const struct fold_row *rows, uint32_t nr, uint32_t nr_processes,
		      uint32_t *order)
{
	uint32_t *places = calloc(nr_processes + 2ull, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		places[rows[i].key.process_id + 1]++;
	for (uint32_t id = 1; id <= nr_processes + 1; id++)
		places[id] += places[id - 1];
	for (uint32_t i = 0; i < nr; i++)
		order[places[rows[i].key.process_id]++] = i;
	free(places);
	return 0;
}

struct ordered {                     /* of a share */
	const struct fold_row *rows; /* borrowed */
	uint32_t *order;             /* owns */
	uint32_t nr, at;
};

/* Each process is in one share. */
static int join_rows(struct fold_table *totals, struct ordered *shares, uint32_t nr_shares,
		     uint32_t nr_processes)
{
	int error = 0;

	for (uint32_t id = 1; id <= nr_processes; id++)
		for (uint32_t i = 0; i < nr_shares; i++) {
			struct ordered *share = &shares[i];

			while (!error && share->at < share->nr &&
			       share->rows[share->order[share->at]].key.process_id == id)
				error = fold_table_join(totals,
							&share->rows[share->order[share->at++]]);
		}
	return error;
}

static int put_rows(const struct crew_fold *fold, struct fold_table *totals)
{
	const uint32_t nr_processes = fold->shares[0].fold.nr_processes;
	struct ordered shares[THREAD_CREW_MOST] = {0};
	int error = 0;

	for (uint32_t i = 0; i < fold->nr && !error; i++) {
		struct ordered *share = &shares[i];

		share->rows = fold_table_rows(fold->shares[i].fold.totals, &share->nr);
		share->order = calloc(share->nr + 1ull, sizeof(*share->order));
		error = share->order
				? order_rows(share->rows, share->nr, nr_processes, share->order)
				: -ENOMEM;
	}
	if (!error)
		error = join_rows(totals, shares, fold->nr, nr_processes);
	for (uint32_t i = 0; i < fold->nr; i++)
		free(shares[i].order);
	return error;
}

static void put_counts(const struct stream_fold *fold, const struct roster *roster)
{
	for (uint32_t id = 1; id <= fold->nr_processes; id++) {
		const struct stream_fold_process *from = &fold->processes[id - 1];
		struct roster_process *process = roster_process(roster, id);

		if (!process || (!from->nr_launches && !from->nr_records))
			continue;
		process->changed = true;
		process->counts.launches += from->nr_launches;
		process->counts.records += from->nr_records;
		process->counts.matched += from->nr_matched;
		process->counts.unmatched += from->nr_records - from->nr_matched;
	}
}

int crew_fold_put(struct crew_fold *fold, struct collection *collection)
{
	int error = put_rows(fold, collection->totals);

	for (uint32_t i = 0; i < fold->nr && !error; i++) {
		put_counts(&fold->shares[i].fold, collection->roster);
		error = busy_lanes_put(&fold->shares[i].fold.busy, collection->timelines);
	}
	return error;
}

uint64_t crew_fold_pauses_busy_ns(const struct crew_fold *fold, const struct timeline_key *key)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < fold->nr; i++)
		ns += uncaptured_work_busy_ns(&fold->shares[i].fold.in_pauses, key);
	return ns;
}

void crew_fold_devices(const struct crew_fold *fold,
		       void (*take)(void *context, uint32_t process_id, uint32_t device_id),
		       void *context)
{
	for (uint32_t i = 0; i < fold->nr; i++) {
		const struct busy_lanes *busy = &fold->shares[i].fold.busy;

		for (uint32_t id = 1; id <= busy->nr_processes; id++)
			for (uint32_t k = 0; k < busy->processes[id - 1].nr_devices; k++)
				take(context, id, busy->processes[id - 1].devices[k].device_id);
	}
}
