#include "run_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "node-agent/base/fair_shares.h"

struct run {
	uint32_t id; /* 0: this place is free */
	uid_t uid;
	uint64_t used; /* by the table's count */
	uint32_t nr_processes, nr_running, nr_absent;
	struct run_table_sums sums;
	char why[CONTROL_WHY_SIZE];
};

struct run_table {
	struct run runs[RUN_TABLE_MAX];
	uint64_t used;
};

struct run_table *run_table_create(void)
{
	return calloc(1, sizeof(struct run_table));
}

void run_table_destroy(struct run_table *table)
{
	free(table);
}

static struct run *find(struct run_table *table, uint32_t id, uid_t uid)
{
	for (uint32_t i = 0; i < RUN_TABLE_MAX; i++)
		if (table->runs[i].id == id && table->runs[i].uid == uid)
			return &table->runs[i];
	return NULL;
}

static uint32_t held_by(const struct run_table *table, uid_t uid)
{
	uint32_t held = 0;

	for (uint32_t i = 0; i < RUN_TABLE_MAX; i++)
		held += table->runs[i].id != 0 && table->runs[i].uid == uid;
	return held;
}

static uint32_t count(const struct run_table *table)
{
	uint32_t runs = 0;

	for (uint32_t i = 0; i < RUN_TABLE_MAX; i++)
		runs += table->runs[i].id != 0;
	return runs;
}

/* A free place if the user may have it, else that of the run that was quiet the longest: of the user's own if there are
 * any. */
static struct run *find_place(struct run_table *table, uid_t uid)
{
	uint32_t held = held_by(table, uid);
	bool is_free = fair_shares_admit(uid, held, RUN_TABLE_MAX - count(table));
	struct run *place = NULL;

	for (uint32_t i = 0; i < RUN_TABLE_MAX; i++) {
		struct run *run = &table->runs[i];

		if (is_free && run->id == 0)
			return run;
		if (run->id != 0 && (held == 0 || run->uid == uid) &&
		    (!place || run->used < place->used))
			place = run;
	}
	return place;
}

/* NULL: of no run. */
static struct run *get(struct run_table *table, uint32_t id, uid_t uid)
{
	struct run *run = id ? find(table, id, uid) : NULL;

	if (id == 0)
		return NULL;
	if (!run) {
		run = find_place(table, uid);
		*run = (struct run){.id = id, .uid = uid};
	}
	run->used = ++table->used;
	return run;
}

void run_table_begin(struct run_table *table, uint32_t id, uid_t uid)
{
	struct run *run = get(table, id, uid);

	if (!run)
		return;
	run->nr_processes++;
	run->nr_running++;
}

void run_table_end(struct run_table *table, uint32_t id, uid_t uid,
		   const struct run_table_sums *sums)
{
	struct run *run = get(table, id, uid);

	if (!run)
		return;
	run->nr_running -= run->nr_running > 0;
	run->sums.launches += sums->launches;
	run->sums.records += sums->records;
	run->sums.lost += sums->lost;
	run->sums.unclean += sums->unclean;
	run->sums.taken_over += sums->taken_over;
	if (run->sums.seq < sums->seq)
		run->sums.seq = sums->seq;
}

void run_table_absent(struct run_table *table, uint32_t id, uid_t uid, const char *why,
		      uint64_t seq)
{
	struct run *run = get(table, id, uid);

	if (!run)
		return;
	if (run->nr_absent++ == 0)
		snprintf(run->why, sizeof(run->why), "%s", why);
	if (run->sums.seq < seq)
		run->sums.seq = seq;
}

void run_table_result(const struct run_table *table, uint32_t id, uid_t uid, uint64_t acked_seq,
		      struct control_result *result)
{
	const struct run *run = id ? find((struct run_table *)table, id, uid) : NULL;

	if (!run)
		return;
	result->nr_processes = run->nr_processes;
	result->nr_running = run->nr_running;
	result->nr_absent = run->nr_absent;
	result->is_stored = run->nr_running == 0 && acked_seq >= run->sums.seq;
	result->launches = run->sums.launches;
	result->records = run->sums.records;
	result->lost = run->sums.lost;
	result->unclean = run->sums.unclean;
	result->taken_over = run->sums.taken_over;
	snprintf(result->why, sizeof(result->why), "%s", run->why);
}
