/* Times of CLOCK_REALTIME as people read them. Any thread. */
#ifndef LOCAL_TIME_H
#define LOCAL_TIME_H

#include <stdint.h>

#define LOCAL_TIME_SIZE 32u

/* Writes a time in the reader's time zone, in strftime()'s format, and returns text; "?": it cannot be written so. */
__attribute__((format(strftime, 2, 0))) const char *
local_time_text(uint64_t time_ns, const char *format, char text[static LOCAL_TIME_SIZE]);

#endif
