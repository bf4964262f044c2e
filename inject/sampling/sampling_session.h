/* Samples the kernels of one CUDA context (CUPTI's PC Sampling): while they run as they would, or one by one in windows
 * (exact_windows.h). Every million cycles, or more often in windows, the GPU notes, for one warp of each
 * multiprocessor, which instruction it is at, and why it waits. CUPTI's own threads fetch what the GPU noted. One
 * context of a GPU at a time can be sampled, over all processes. One thread at a time; in CUPTI's callbacks only where
 * a context is about to be destroyed. Memory comes from mmap(), not malloc().
 *
 * Measured on an H200 (CUPTI 13.0): records of kernels stay complete; kernels of graphs are sampled, too; the first
 * session of a process begins in 0.1 s, later ones in 0.3 ms; the first look takes 0.3 s; a session ends in 0.1 s. */
#ifndef SAMPLING_SESSION_H
#define SAMPLING_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_sampling_abi.h"
#include "proto/definition.h"

/* How often a GPU looks at its multiprocessors, all in the same cycle, and at one warp of each; at most, and half of
 * that at least. With fewer looks a kernel that comes for a moment now and then is missed, however many warps each look
 * has. */
#define SAMPLING_LOOKS_PER_SECOND 2000u

#define SAMPLING_INSTRUCTIONS 16384u /* of one look at most */

struct cupti_library;

/* Embedded; zeroed memory is a session that never began. */
struct sampling_session {
	void *context;
	struct cupti_samples *samples; /* owns, with all behind it; NULL: no memory yet */
	struct cupti_samples *last;    /* within it: CUPTI writes here what is left at the end */
	/* within it: the reasons by CUPTI's index; "": not one of those that are counted */
	char (*names)[CUPTI_ABI_STALL_NAME_SIZE];
	uint32_t *reasons; /* within it: the indexes that are counted */
	uint32_t nr_reasons;
};

struct sampling_session_way {
	uint32_t
		period; /* the GPU notes one sample each 2^period cycles; 0: as often as CUPTI chooses */
	bool windows; /* only between cuptiPCSamplingStart() and …Stop(), where kernels run one by one */
};

/* Begins. Returns a CUptiResult; CUPTI_ABI_OUT_OF_MEMORY, too, if there is none for the session. On error it has not
 * begun. */
int sampling_session_begin(struct sampling_session *session, const struct cupti_library *library,
			   void *context, struct sampling_session_way way);

/* Fetches what CUPTI has. It is in session->samples until the next call, and *more says whether there is more. Returns
 * a CUptiResult; CUPTI_ABI_OUT_OF_MEMORY: the GPU's buffer was full, and this session gets nothing any more. */
int sampling_session_look(struct sampling_session *session, const struct cupti_library *library,
			  bool *more);

/* Ends the session. What was left is in session->last. No launch may be under way (launch_gate.h). */
void sampling_session_end(struct sampling_session *session, const struct cupti_library *library);

/* The period that gives so many looks a second at a clock, at most. Pure. */
uint32_t sampling_session_period(uint32_t clock_khz, uint32_t looks);

/* The name of a reason by CUPTI's index, cut to what people read: "long_scoreboard"; "": it is not counted. Borrowed
 * until the session begins again. */
const char *sampling_session_reason(const struct sampling_session *session, uint32_t index);

#endif
