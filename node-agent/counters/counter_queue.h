/* Chooses which samples of a GPU's counters are kept, and holds them until they are sent. A sample belongs to the
 * window of its begin, as a piece of GPU work does to that of its start (kept_log.h). Windows are kept by their level
 * (kept_window.h). So what ran in a window whose samples are kept is often known, also without a timeline. The level
 * rises each time that so many more samples have been kept: an hour at 1,000 samples a second keeps some 230,000, and a
 * day some 390,000. Pure; any thread. */
#ifndef COUNTER_QUEUE_H
#define COUNTER_QUEUE_H

#include <stdint.h>

#include "proto/counter_sampling.h"

#define COUNTER_QUEUE_LEVEL 32768u /* samples that are kept at a level */
#define COUNTER_QUEUE_MAX   32768u /* samples that wait */

/* All samples, of time that is sampled: by bit of counter_sample.known. */
struct counter_sums {
	uint64_t known_ns[COUNTER_USES + COUNTER_TRAFFICS];
	uint64_t amounts[COUNTER_USES + COUNTER_TRAFFICS]; /* use by time in ns; bytes */
};

struct counter_queue {
	struct counter_sample *samples; /* owns: a ring */
	uint32_t first, count;
	uint32_t level;            /* of windows that are kept now */
	uint32_t nr_at_level;      /* samples that were kept at it */
	struct counter_state sums; /* device_id is the caller's */
	struct counter_sums all;
	uint64_t newest_begin_ns, newest_end_ns; /* of samples; 0: none has come */
};

/* Begins. begin_ns: CLOCK_REALTIME. 0 or -ENOMEM. Call fini() in either case. */
int counter_queue_init(struct counter_queue *queue, uint64_t begin_ns, uint64_t interval_ns);
void counter_queue_fini(struct counter_queue *queue);

/* Takes a sample; invalid: its impossible values. Its length is above 0 and at most COUNTER_LENGTH_MOST intervals.
 * It lies after the begin and before now (CLOCK_REALTIME), of which it may be a second off. It begins later than the
 * sample before, and not in time that this one covers, but for half of an interval. All others are dropped. */
void counter_queue_add(struct counter_queue *queue, const struct counter_sample *sample,
		       uint32_t invalid, uint64_t now_ns);

/* Counts samples that were dropped, and an overflow. No number is ever above INT64_MAX. */
void counter_queue_drop(struct counter_queue *queue, uint64_t number);
void counter_queue_overflow(struct counter_queue *queue);

/* Says whether the GPU is sampled (enum counter_refusal), and since when. */
void counter_queue_refuse(struct counter_queue *queue, uint32_t refusal, uint64_t now_ns);

/* Takes up to most samples out, the oldest first. Returns their number. */
uint32_t counter_queue_take(struct counter_queue *queue, struct counter_sample *samples,
			    uint32_t most);

#endif
