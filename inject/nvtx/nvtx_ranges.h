/* Which NVTX ranges are open, thread by thread, in the order in which they were opened.
 *
 * Ranges that are pushed and popped belong to their thread. Ranges that are started and ended may end
 * on another one: they are frames of the thread that started them, until they are ended anywhere,
 * because a range that applied to all threads would have to be put into the stack of every launch of
 * the process, whatever that launch has to do with it.
 *
 * Called by NVTX on the application's threads, and by launches: no lock; memory is mapped, at a
 * thread's first range, and goes with the thread. Any thread, for its own ranges. */
#ifndef NVTX_RANGES_H
#define NVTX_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "nvtx_names.h"

#define NVTX_RANGES_DEPTH   64u   /* open ranges of a thread that have a frame of their own */
#define NVTX_RANGES_STARTED 1024u /* started ranges of the process, open at the same time */

struct nvtx_thread;

/* Makes ranges be remembered. Once or more often, before the first of them; from then on the first
 * call's digits hold. The table of names is for the life of the process. NULL: no memory; there will
 * be no ranges. */
struct nvtx_names *nvtx_ranges_on(enum nvtx_digits digits);

/* Ranges are of no use in this process: nothing is remembered any more. For good. */
void nvtx_ranges_off(void);

/* The n-th name, from 1, of those that ranges were opened by, cut to NVTX_TEXT_MAX bytes. false: there are not so
 * many. */
bool nvtx_ranges_name(uint32_t n, char text[static NVTX_TEXT_MAX + 1]);

/* Opens a range; *text may be changed (nvtx_names_intern). Returns how many of its domain were open in
 * the thread before, or NVTX_ABI_NO_TRACKING. */
int nvtx_ranges_push(uint32_t domain, struct nvtx_text *text);
int nvtx_ranges_push_name(uint32_t domain, uint32_t name); /* an interned one */

/* Closes the innermost range of the domain. Returns how many of them are still open;
 * NVTX_ABI_NO_TRACKING: none was. Those beyond NVTX_RANGES_DEPTH close first, whatever their domain. */
int nvtx_ranges_pop(uint32_t domain);

/* Opens a range that any thread may end. 0: too many are open; it will be in no stack. */
uint64_t nvtx_ranges_start(uint32_t domain, struct nvtx_text *text);
uint64_t nvtx_ranges_start_name(uint32_t domain, uint32_t name);
void nvtx_ranges_end(uint64_t range_id); /* what is no open range is ignored */

/* Calls opened() when a range of this name is opened in any thread while none of that name is open,
 * and closed() when the last one is closed: on the application's threads, inside its NVTX call, so they
 * must be short and not call NVTX. `name` is the range's, "domain:name" with a domain; it and the
 * functions are borrowed for good. Ranges that are open already do not count. Names are compared as
 * NVTX_DIGITS_AUTO and so on leave them for registered strings, and as they were given for others.
 * Once, or again with NULL to end it. */
void nvtx_ranges_watch(const char *name, void (*opened)(void), void (*closed)(void));

extern __thread struct nvtx_thread *nvtx_ranges_own
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Whether the calling thread has ever opened a range. */
static inline bool nvtx_ranges_any(void)
{
	return nvtx_ranges_own != NULL;
}

/* The names of the calling thread's open ranges, innermost first. NVTX_NAME_LOST stands for those
 * without one, and for those that do not fit into max (the outermost do). Returns their number. From a launch: no
 * system call. */
uint32_t nvtx_ranges_open(uint32_t *names, uint32_t max);

#endif
