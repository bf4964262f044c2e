#include "step_running.h"

void step_running_begin(struct step_running *running, enum step_part part, uint32_t work,
			uint64_t launched_ns)
{
	running->nr++;
	running->nr_of[part]++;
	if (running->nr_kept == STEP_RUNNING_KEPT)
		return;
	running->kept[running->nr_kept].launched_ns = launched_ns;
	running->kept[running->nr_kept].work = work;
	running->kept[running->nr_kept++].part = part;
}

void step_running_end(struct step_running *running, enum step_part part, uint32_t work)
{
	running->nr--;
	running->nr_of[part]--;
	for (uint32_t i = 0; i < running->nr_kept; i++)
		if (running->kept[i].work == work && running->kept[i].part == part) {
			running->kept[i] = running->kept[--running->nr_kept];
			return;
		}
}

enum step_part step_running_part(const struct step_running *running, uint64_t *launched_ns)
{
	enum step_part part = STEP_COMPUTE;
	uint32_t nr = 0;

	while (!running->nr_of[part])
		part++;
	*launched_ns = 0;
	for (uint32_t i = 0; i < running->nr_kept; i++) {
		if (running->kept[i].part != part)
			continue;
		nr++;
		if (running->kept[i].launched_ns > *launched_ns)
			*launched_ns = running->kept[i].launched_ns;
	}
	if (nr < running->nr_of[part])
		*launched_ns = STEP_RUNNING_UNKNOWN;
	return part;
}
