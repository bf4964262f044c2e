/* Compares this process's clocks with the kernel's own, which BPF programs read. They differ in a time namespace
 * (time_namespaces(7)). Any thread. */
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H

#include <stdint.h>

/* Ours - the kernel's, ns; both 0 outside of time namespaces. */
struct kernel_clock {
	int64_t monotonic_ns, boottime_ns;
};

/* Reads the offsets from a text as in /proc/PID/timens_offsets: "monotonic 5 0\nboottime -5 0\n", seconds and
 * nanoseconds. An offset that is missing or impossible is 0. */
void kernel_clock_parse(const char *text, struct kernel_clock *clock);

/* Reads the offsets of this process. On a kernel without time namespaces they are zeros. */
void kernel_clock_read(struct kernel_clock *clock);

#endif
