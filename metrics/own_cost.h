/* What this program costs its machine, under the names that all exporters use: process_cpu_seconds_total,
 * process_resident_memory_bytes, process_open_fds, process_start_time_seconds. Any thread. */
#ifndef OWN_COST_H
#define OWN_COST_H

struct metrics_text;

/* What cannot be read is left out. */
void own_cost_write(struct metrics_text *text);

#endif
