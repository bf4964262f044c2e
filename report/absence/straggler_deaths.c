#include "straggler_deaths.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct deaths {
	struct straggler_absence *list;
	uint32_t count;
	const struct roster *roster;
	const struct clock_map *clocks;
};

uint64_t straggler_deaths_realtime(const struct clock_map *clocks, uint32_t host, uint64_t time_ns)
{
	struct clock_map_place place;

	if (!clocks || !clock_map_find(clocks, host, time_ns, &place) ||
	    !place.reference_realtime_offset_ns)
		return 0;
	return time_ns - (uint64_t)place.offset_ns + (uint64_t)place.reference_realtime_offset_ns;
}

uint64_t straggler_deaths_time(const struct straggler_absence *absence, const struct roster *roster,
			       bool by_signal)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < absence->nr_absent; i++) {
		const uint32_t id = absence->absent[i].process;
		const struct roster_process *process = id ? roster_process(roster, id) : NULL;

		if (!process || !straggler_absence_ended(process) ||
		    straggler_absence_stopped(process) != by_signal)
			return 0;
		if (process->spoke_ns > last_ns)
			last_ns = process->spoke_ns;
	}
	return last_ns;
}

/* Returns whether a rank that waits died at about that time, soon after it had begun to wait. */
static bool has_fallen(const struct deaths *deaths, const struct straggler_waiting *waiting,
		       uint64_t died_ns)
{
	const struct roster_process *process = roster_process(deaths->roster, waiting->process);
	const uint64_t end_ns = process->spoke_ns;

	if (process->state != PROCESS_UNCLEAN || straggler_absence_stopped(process))
		return false;
	const uint64_t apart_ns = end_ns > died_ns ? end_ns - died_ns : died_ns - end_ns;
	const uint64_t since_ns = straggler_deaths_realtime(deaths->clocks, process->identity.host,
							    waiting->since_ns);
	return apart_ns < STRAGGLER_DEATHS_NS &&
	       (!since_ns || end_ns < since_ns || end_ns - since_ns < STRAGGLER_ABSENCE_NS);
}

/* Returns whether a rank that waits anywhere did not die at about that time, nor end before. */
static bool has_survivor(const struct deaths *deaths, uint64_t died_ns)
{
	for (uint32_t i = 0; i < deaths->count; i++)
		for (uint32_t j = 0; j < deaths->list[i].nr_waiting; j++) {
			const struct straggler_waiting *waiting = &deaths->list[i].waiting[j];
			const struct roster_process *process =
				roster_process(deaths->roster, waiting->process);

			if (!has_fallen(deaths, waiting, died_ns) &&
			    (!straggler_absence_ended(process) || process->spoke_ns >= died_ns))
				return true;
		}
	return false;
}

static int move(const struct deaths *deaths, struct straggler_absence *absence, uint64_t died_ns)
{
	uint32_t kept = 0;
	int error = 0;

	for (uint32_t i = 0; i < absence->nr_waiting && !error; i++) {
		const struct straggler_waiting waiting = absence->waiting[i];
		const struct straggler_absent absent = {
			waiting.process, roster_process(deaths->roster, waiting.process)->rank};

		if (!has_fallen(deaths, &waiting, died_ns)) {
			absence->waiting[kept++] = waiting;
			continue;
		}
		absence->has_fallen = true;
		error = array_append(&absence->absent, &absence->nr_absent, &absent,
				     sizeof(absent));
	}
	absence->nr_waiting = kept;
	return error;
}

int straggler_deaths_find(struct straggler_absence *list, uint32_t count,
			  const struct roster *roster, const struct clock_map *clocks)
{
	const struct deaths deaths = {list, count, roster, clocks};
	uint64_t *died_ns = calloc(count + 1ul, sizeof(*died_ns));
	int error = died_ns ? 0 : -ENOMEM;

	/* Of all before one is changed: those that are moved survive nobody. */
	for (uint32_t i = 0; i < count && !error; i++) {
		died_ns[i] = straggler_deaths_time(&list[i], roster, false);
		if (died_ns[i] && !has_survivor(&deaths, died_ns[i]))
			died_ns[i] = 0;
	}
	for (uint32_t i = 0; i < count && !error; i++)
		if (died_ns[i])
			error = move(&deaths, &list[i], died_ns[i]);
	free(died_ns);
	return error;
}
