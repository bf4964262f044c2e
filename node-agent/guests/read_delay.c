#include "read_delay.h"

static bool is_early(struct read_delay *delay, uint64_t nr_records, uint64_t now_ns)
{
	if (!delay->early_ns)
		delay->early_ns = now_ns;
	return nr_records < READ_DELAY_EARLY_RECORDS &&
	       now_ns - delay->early_ns < READ_DELAY_EARLY_NS;
}

bool read_delay_waits(struct read_delay *delay, uint64_t nr_records, bool is_described,
		      uint64_t now_ns)
{
	const uint64_t slot = now_ns / READ_DELAY_NS;
	const bool is_new_slot = slot != delay->slot;

	if (!delay->born_ns)
		delay->born_ns = now_ns;
	delay->slot = slot;
	if (nr_records && !is_described && is_early(delay, nr_records, now_ns))
		return true;
	return nr_records && nr_records < READ_DELAY_RECORDS && !is_new_slot &&
	       now_ns - delay->born_ns >= READ_DELAY_AGE_NS;
}
