/* Counts work of one CUDA context with CUPTI's Range Profiler. A range is what is counted between a push and a
 * pop: a launch, or a range of the program. All that the GPU does meanwhile counts, also that of other streams. Sets
 * that the GPU cannot count at once take several of these, a pass each, into one range.
 *
 * Measured on an H200 (CUPTI 13.0): a process's first start takes 0.2 s, later ones 21 ms, a stop 7 ms; a push 0.4 ms;
 * a pop 0.5 ms more than the kernel, for whose end it waits; launches between ranges cost nothing. Records of kernels
 * stay complete, and kernels take as long. One context of a GPU at a time can be counted.
 *
 * A call while any thread of the process captures a stream fails, breaks that capture, and may break the context. The
 * caller has to rule that out. One thread at a time; in CUPTI's callbacks, too. Own memory comes from mmap(), but
 * CUPTI's functions allocate. */
#ifndef METRICS_SESSION_H
#define METRICS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics_config.h"

#define METRICS_SESSION_RANGES 32u /* between two looks */
#define METRICS_SESSION_PASSES 16u /* at most */

struct metrics_library;

/* Embedded; zeroed memory has never begun. */
struct metrics_session {
	void *profiler; /* CUPTI's; NULL: it has not begun */
	struct metrics_config config;
	uint8_t *counters; /* owns */
	size_t counters_size;
	uint32_t nr_ranges;       /* pushed since the last look */
	uint32_t pass;            /* the next launch is counted in this one, from 0 */
	bool is_started, is_open; /* a range is open */
};

/* Begins for a context, which must be the thread's current one. Returns a CUptiResult; on error it has not begun.
 * session->config.unknown then says which metrics the chip does not have. */
int metrics_session_begin(struct metrics_session *session, const struct metrics_library *library,
			  void *context, uint32_t device_id, const struct metric_options *options);

/* Opens and closes a range. Each returns a CUptiResult; after an error the session must end. With one
 * pass METRICS_SESSION_RANGES fit until the next look, with several passes one. */
int metrics_session_push(struct metrics_session *session, const struct metrics_library *library);
int metrics_session_pop(struct metrics_session *session, const struct metrics_library *library);

/* Returns whether a look is due before the next push. */
bool metrics_session_is_full(const struct metrics_session *session);

/* Stops, and decodes what was counted: *nr_ranges ranges, in the order of their first pushes. They can be evaluated
 * until the next push. A range whose passes are not all there is forgotten. Returns a CUptiResult. */
int metrics_session_look(struct metrics_session *session, const struct metrics_library *library,
			 uint32_t *nr_ranges);

/* Ends. is_gone: CUPTI has ended the session already. */
void metrics_session_end(struct metrics_session *session, const struct metrics_library *library,
			 bool is_gone);

#endif
