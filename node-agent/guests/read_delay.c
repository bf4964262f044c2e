#include "read_delay.h"

bool read_delay_waits(struct read_delay *delay, uint64_t nr_records, uint64_t now_ns)
{
	if (!delay->born_ns)
		delay->born_ns = now_ns;
	if (nr_records && !delay->since_ns)
		delay->since_ns = now_ns;
	if (nr_records && nr_records < READ_DELAY_RECORDS &&
	    now_ns - delay->since_ns < READ_DELAY_NS &&
	    now_ns - delay->born_ns >= READ_DELAY_AGE_NS)
		return true;
	delay->since_ns = 0;
	return false;
}
