#include "lag_time.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"

#define NS_PER_S 1000000000ll

const char *lag_time_text(uint64_t monotonic_ns, char text[static LAG_TIME_SIZE])
{
	time_t seconds = (time_t)(((int64_t)monotonic_ns + clock_realtime_offset_ns()) / NS_PER_S);
	struct tm parts;

	if (!localtime_r(&seconds, &parts) || !strftime(text, LAG_TIME_SIZE, "%H:%M:%S", &parts))
		snprintf(text, LAG_TIME_SIZE, "?");
	return text;
}
