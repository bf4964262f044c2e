/* Computes how large the kernel's buffer has to be for samples and waits. Pure; any thread. */
#ifndef SAMPLE_ROOM_H
#define SAMPLE_ROOM_H

#include <stdint.h>

#define SAMPLE_ROOM_MIN (8u << 20) /* bytes */
/* the least size with waits, since threads may wait as often as they like */
#define SAMPLE_ROOM_WAITS (32u << 20)
#define SAMPLE_ROOM_MAX   (128u << 20)

/* Returns the bytes for half a second of samples of all CPUs, with stack_pages of 4 KiB each. An agent that has to
 * share its CPU comes that late. The result is at most a 64th of the machine's memory (memory_bytes), and within the
 * bounds above. */
uint32_t sample_room_bytes(uint32_t cpu_hz, uint32_t nr_cpus, uint32_t stack_pages,
			   uint64_t memory_bytes);

#endif
