#include "strip_pauses.h"

#include <stdbool.h>

#include "aggregator/profile/roster.h"

static bool has_work(const struct strip_devices *devices, const struct roster_process *process,
		     uint32_t process_id, const uint8_t *have)
{
	bool has = false;

	for (uint32_t i = 0; i < process->nr_devices && !has; i++)
		has = have[strip_devices_find(devices, process_id, process->devices[i].device_id)] &
		      STRIP_HAS_WORK;
	return has;
}

void strip_pauses_show(const struct capture_pauses *pauses, const struct strip_devices *devices,
		       uint64_t from_ns, uint64_t to_ns, uint8_t *have)
{
	for (uint32_t i = 0; i < pauses->nr_pauses; i++) {
		const struct capture_pause *pause = &pauses->pauses[i];
		const struct roster_process *process =
			roster_process(devices->roster, pause->process_id);

		if (pause->begin_ns >= to_ns || pause->end_ns <= from_ns ||
		    has_work(devices, process, pause->process_id, have))
			continue;
		for (uint32_t k = 0; k < process->nr_devices; k++)
			have[strip_devices_find(devices, pause->process_id,
						process->devices[k].device_id)] |= STRIP_HAS_PAUSE;
	}
}
