#include "read_delay.h"

bool read_delay_waits(struct read_delay *delay, uint64_t nr_records, uint64_t now_ns)
{
	const uint64_t slot = now_ns / READ_DELAY_NS;
	const bool is_new_slot = slot != delay->slot;

	if (!delay->born_ns)
		delay->born_ns = now_ns;
	delay->slot = slot;
	return nr_records && nr_records < READ_DELAY_RECORDS && !is_new_slot &&
	       now_ns - delay->born_ns >= READ_DELAY_AGE_NS;
}
