#include "local_time.h"

#include <stdio.h>
#include <time.h>

const char *local_time_text(uint64_t time_ns, const char *format, char text[static LOCAL_TIME_SIZE])
{
	const time_t seconds = (time_t)(time_ns / 1000000000u);
	struct tm local;

	if (!localtime_r(&seconds, &local) || !strftime(text, LOCAL_TIME_SIZE, format, &local))
		snprintf(text, LOCAL_TIME_SIZE, "?");
	return text;
}
