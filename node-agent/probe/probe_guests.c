#include "probe_guests.h"

#include "probe_source.h"

#include "node-agent/guests/guest_process.h"
#include "node-agent/guests/process_table.h"

bool probe_guests_watch_one(struct probe_source *source, struct process_table *processes)
{
	for (uint32_t i = 0; source && i < process_table_count(processes); i++) {
		struct guest_process *process = process_table_at(processes, i);

		if (guest_process_was_tried(process) || guest_process_is_ending(process))
			continue;
		guest_process_set_probe(process,
					probe_source_attach(source, guest_process_pid(process)));
		guest_process_tried(process);
		return true;
	}
	return false;
}

int probe_guests_pass(struct probe_source *source, struct process_table *processes, uint64_t now_ns)
{
	for (uint32_t i = 0; source && i < process_table_count(processes); i++)
		if (guest_process_probe(process_table_at(processes, i)))
			guest_process_begin(process_table_at(processes, i), now_ns);
	return probe_source_pass(source, now_ns);
}
