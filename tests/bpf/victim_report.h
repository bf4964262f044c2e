/* What bpf_victim did in its main thread, by its own clocks. */
#ifndef VICTIM_REPORT_H
#define VICTIM_REPORT_H

#include <stdint.h>

struct victim_report {
	uint32_t pid, reserved;
	uint64_t begin_ns, end_ns;         /* CLOCK_MONOTONIC */
	uint64_t cpu_begin_ns, cpu_end_ns; /* of the main thread */
	uint64_t waited_ns;                /* of "all": the time of its waits, before it works */
};

#endif
