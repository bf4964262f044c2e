/* Knows each thread's open NVTX ranges, in the order in which they were opened.
 *
 * Ranges that are pushed and popped belong to their thread. Ranges that are started and ended may end on another
 * thread. They are frames of the thread that started them, until any thread ends them. If a range applied to all
 * threads, it would be in the stack of every launch of the process, even of launches that have nothing to do with it.
 *
 * NVTX calls it on the application's threads, and so do launches. There is no lock. A thread's memory is mapped at its
 * first range, and freed when the thread ends. Any thread may call, for its own ranges. */
#ifndef NVTX_RANGES_H
#define NVTX_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "nvtx_names.h"

#define NVTX_RANGES_DEPTH   64u   /* open ranges of a thread that have a frame of their own */
#define NVTX_RANGES_STARTED 1024u /* started ranges of the process, open at the same time */

#define NVTX_RANGES_TEXT NVTX_NAMES_WHOLE

struct nvtx_thread;

/* Remembers ranges from now on. Call it once or more often, before the first range. The digits of the first call hold.
 * The returned table of names lives as long as the process. NULL: no memory, and there will be no ranges. */
struct nvtx_names *nvtx_ranges_on(enum nvtx_digits digits);

/* Stops remembering ranges in this process, for good. */
void nvtx_ranges_off(void);

/* Calls changed() on the application's thread after it has opened or closed a range, but not for steps. Call it before
 * the first range. */
void nvtx_ranges_tell(void (*changed)(void));

/* Copies the n-th name, from 1, of all names that opened ranges, cut to NVTX_TEXT_MAX bytes. Returns false if there are
 * fewer. */
bool nvtx_ranges_name(uint32_t n, char text[static NVTX_TEXT_MAX + 1]);

/* Opens a range; *text may be changed (nvtx_names_intern). Returns how many ranges of its domain were open in the
 * thread before, or NVTX_ABI_NO_TRACKING. */
int nvtx_ranges_push(uint32_t domain, struct nvtx_text *text);
int nvtx_ranges_push_name(uint32_t domain, uint32_t name); /* an interned name */

/* Closes the innermost range of the domain. Returns how many of the domain's ranges are still open;
 * NVTX_ABI_NO_TRACKING: none was open. Ranges beyond NVTX_RANGES_DEPTH close first, in any domain. */
int nvtx_ranges_pop(uint32_t domain);

/* Begins a step of the calling thread, whose step before ends. It is a range of the default domain with this name, but
 * for one thing: nvtx_ranges_pop() does not close it. Beyond NVTX_RANGES_DEPTH it is not remembered. *text may be
 * changed. */
void nvtx_ranges_step(struct nvtx_text *text);
void nvtx_ranges_step_end(void); /* without a step: nothing */

/* Opens a range that any thread may end. Returns its id; 0: too many are open, and this range will be in no stack. */
uint64_t nvtx_ranges_start(uint32_t domain, struct nvtx_text *text);
uint64_t nvtx_ranges_start_name(uint32_t domain, uint32_t name);
void nvtx_ranges_end(uint64_t range_id); /* an id of no open range is ignored */

/* Calls opened() when a thread opens a range of this name while no such range is open, and closed() when the last one
 * is closed. Both run on the application's threads, inside its NVTX call, so they must be short and must not call NVTX.
 * `name` is the range's name; with a domain it is "domain:name". It and the functions are borrowed for good. Ranges
 * that are already open do not count. Names of registered strings are compared after the change of digits by
 * NVTX_DIGITS_AUTO and the like, other names as they were given. Call it once, or again with NULL to end it. */
void nvtx_ranges_watch(const char *name, void (*opened)(void), void (*closed)(void));

extern __thread struct nvtx_thread *nvtx_ranges_own
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Returns whether the calling thread has ever opened a range. */
static inline bool nvtx_ranges_any(void)
{
	return nvtx_ranges_own != NULL;
}

/* Writes the names of the calling thread's open ranges, innermost first. NVTX_NAME_LOST stands for each range without a
 * name, and once for all the innermost ranges that do not fit into max. Returns the number written. Launches call it:
 * no system call. */
uint32_t nvtx_ranges_open(uint32_t *names, uint32_t max);

/* Offers the calling thread's open ranges that were not offered before, outermost first, until take() accepts one by a
 * token, which is not 0. ended() is told the token when that range ends: on its thread, when the range is closed or the
 * thread ends. If another thread ends a started range, that is at the next range or launch of its own thread. ended():
 * call it once, before the first offer. */
void nvtx_ranges_tell_ends(void (*ended)(uint8_t token, bool with_thread));
void nvtx_ranges_offer(uint8_t (*take)(void *context, uint32_t name), void *context);

/* Writes a name that was offered, as nvtx_names_whole(). */
void nvtx_ranges_text(uint32_t name, char text[static NVTX_RANGES_TEXT]);

#endif
