/* Samples the counters of one GPU by CUPTI, without a context of CUDA. It is a part of the process that samples
 * (counter_child.h), because CUPTI takes much memory, and a call may never return. Single-threaded. */
#ifndef PM_SESSION_H
#define PM_SESSION_H

#include <stdint.h>

#include "pm_library.h"

#include "proto/counter_sampling.h"

struct pm_session;

enum pm_round {
	PM_ROUND_DONE, /* all samples that there were */
	PM_ROUND_MORE, /* there are more */
	PM_ROUND_FULL, /* CUPTI's buffer was full: further samples come after pm_session_restart() */
	PM_ROUND_ERROR, /* it is of no more use */
};

/* device_id is not set. Borrowed for the call. invalid: the bits of known that would be set if their values could be.
 * */
typedef void pm_session_take(void *context, const struct counter_sample *sample, uint32_t invalid);

/* Starts to sample a device (CUDA's number). The counters are those that its chip can sample together in one pass.
 * The caller owns *session. Returns enum counter_refusal; then *session is NULL. */
uint32_t pm_session_open(struct pm_library *library, size_t device, uint64_t interval_ns,
			 struct pm_session **session);
void pm_session_close(struct pm_session *session); /* accepts NULL */

/* Gives samples to take(), at most an image of them. The first sample after a start is dropped, as it begins with the
 * session before. So are those whose length is impossible. *dropped counts them. */
enum pm_round pm_session_decode(struct pm_session *session, pm_session_take *take, void *context,
				uint64_t *dropped);

/* Begins anew. Returns enum counter_refusal; then only close() may be called. */
uint32_t pm_session_restart(struct pm_session *session);

#endif
