/* Decides whether a pass reads the records of a ring, or leaves them for a later one. A message costs as much as dozens
 * of records, so a few records wait for more. Time is cut into slots, and the first pass of a slot leaves nothing in
 * any ring: so an agent's passes are complete now and then, however many rings it has. When passes come decides
 * agent_pass.h. The first records also wait for what the guest's helper thread tells: a GPU's pauses, and the causes of
 * its idle time, are not known of work that comes before its device. Pure. */
#ifndef READ_DELAY_H
#define READ_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#define READ_DELAY_NS            100000000ull  /* a slot: records wait no longer */
#define READ_DELAY_RECORDS       512u          /* so many do not wait */
#define READ_DELAY_EARLY_NS      2000000000ull /* for clock and devices no longer */
#define READ_DELAY_EARLY_RECORDS 32768u        /* so many do not wait for them */
#define READ_DELAY_AGE_NS        1000000000ull /* few records of a younger ring do not wait for more */

struct read_delay {        /* zeroed: the ring is new */
	uint64_t born_ns;  /* when the ring was first seen; 0: never */
	uint64_t slot;     /* of the last pass */
	uint64_t early_ns; /* when records first waited for clock and devices; 0: never */
};

/* Returns whether the records that are in the ring wait. If not, the caller reads them all. is_described: the guest has
 * told its clock and devices, or tells none. now_ns: CLOCK_MONOTONIC. */
bool read_delay_waits(struct read_delay *delay, uint64_t nr_records, bool is_described,
		      uint64_t now_ns);

#endif
