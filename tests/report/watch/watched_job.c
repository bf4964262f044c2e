#include "watched_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/report/straggler/straggler_fixture.h"

struct watched watched;

static int begin(void **state, uint32_t ranks_per_host)
{
	int result = job_set_up(state);

	watched.steps = 0;
	watched.now_ns = 0;
	watched.seed = 7;
	watched.work_ms = WORK;
	job_world(RANKS);
	for (uint32_t rank = 0; rank < RANKS && result == 0; rank++) {
		if (rank == ranks_per_host)
			job_node("node02");
		watched.processes[rank] = job_process((int32_t)rank);
		job_communicator(watched.processes[rank], 1, WORLD, rank, RANKS);
	}
	return result;
}

int watched_set_up(void **state)
{
	return begin(state, RANKS);
}

int watched_set_up_hosts(void **state)
{
	return begin(state, RANKS / 2);
}

uint64_t watched_clock(uint32_t rank, uint64_t true_ns)
{
	return true_ns + HOUR * (rank + 1);
}

void watched_train_late(uint32_t steps, uint32_t first, uint32_t last, double late_ms,
			double noise_ms)
{
	for (uint32_t i = 0; i < steps; i++) {
		uint64_t come_ns[RANKS], last_ns = 0;

		for (uint32_t rank = 0; rank < RANKS; rank++) {
			double work_ms = watched.work_ms + noise_ms * job_normal(&watched.seed) +
					 (rank >= first && rank <= last ? late_ms : 0);

			come_ns[rank] = watched.now_ns + (uint64_t)(work_ms * MS);
			last_ns = come_ns[rank] > last_ns ? come_ns[rank] : last_ns;
		}
		watched.steps++;
		watched.now_ns = last_ns + MS;
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			const struct collective call = job_all_reduce(
				1, watched.steps, 0, watched_clock(rank, come_ns[rank]),
				watched.now_ns - come_ns[rank]);

			job_call(watched.processes[rank], &call);
		}
	}
}

void watched_train(uint32_t steps, double late_ms, double noise_ms)
{
	watched_train_late(steps, 5, 5, late_ms, noise_ms);
}

struct watch_look watched_look(void)
{
	struct watch_look found;
	char *error = NULL;

	job_commit();
	assert_int_equal(watch_look_read(job_path(), &found, &error), 0);
	assert_null(error);
	return found;
}
