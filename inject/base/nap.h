/* Lets a thread sleep that is the program's: it is no cancellation point, as nanosleep() is. Any thread; changes
 * errno. */
#ifndef NAP_H
#define NAP_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ns: below a second. */
static inline void nap(long ns)
{
	const struct timespec time = {.tv_nsec = ns};

	syscall(SYS_nanosleep, &time, NULL);
}

#endif
