/* Does the parts of one piece of work at once, for a process that has nothing else to do meanwhile. */
#ifndef THREAD_CREW_H
#define THREAD_CREW_H

#include <stdint.h>

#define THREAD_CREW_MOST 8u
#define THREAD_CREW_NAME "flamegrid-crew" /* of the threads that it adds to the caller's */

/* Returns into how many parts to divide work: as many as there are CPUs that this process may use, at most
 * THREAD_CREW_MOST. */
uint32_t thread_crew_size(void);

/* Calls work for each part from 0 to nr_parts - 1, and returns when all have returned. Part 0 is done by the caller's
 * thread, and so are those for which there is no thread. nr_parts: 1 to THREAD_CREW_MOST. Any thread. */
void thread_crew_run(uint32_t nr_parts, void (*work)(void *context, uint32_t part), void *context);

#endif
