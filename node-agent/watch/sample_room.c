#include "sample_room.h"

#define FRAMES_BYTES   3072u /* addresses and Python frames of an event */
#define PAGE_BYTES     4096u
#define MEMORY_PART    64u
#define PARTS_A_SECOND 2u

uint32_t sample_room_bytes(uint32_t cpu_hz, uint32_t nr_cpus, uint32_t stack_pages,
			   uint64_t memory_bytes)
{
	uint64_t event = FRAMES_BYTES + (uint64_t)stack_pages * PAGE_BYTES;
	uint64_t room = (uint64_t)cpu_hz * nr_cpus * event / PARTS_A_SECOND;

	if (room > memory_bytes / MEMORY_PART)
		room = memory_bytes / MEMORY_PART;
	if (room > SAMPLE_ROOM_MAX)
		return SAMPLE_ROOM_MAX;
	return room < SAMPLE_ROOM_MIN ? SAMPLE_ROOM_MIN : (uint32_t)room;
}
