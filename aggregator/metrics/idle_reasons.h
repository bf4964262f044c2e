/* Tells why the GPUs of a growing profile were idle: what the thread did meanwhile that launched the next work. Reads
 * what the store has of work and samples. Gaps below IDLE_GAP_MIN_NS have no reason here. One thread at a time uses
 * one. */
#ifndef IDLE_REASONS_H
#define IDLE_REASONS_H

#include <stdbool.h>
#include <stdint.h>

struct collection;
struct database;

enum idle_reason {
	IDLE_REASON_ON_CPU,  /* it ran */
	IDLE_REASON_WAITING, /* it waited, for another thread, a disk, the GPU… */
	IDLE_REASON_NO_CPU,  /* it would have run, but had no CPU */
	IDLE_REASON_UNKNOWN, /* no sample says it */
	IDLE_REASONS,
};

/* A gap has a reason once the GPU has work that ends so much later: until then earlier work may come, and samples. */
#define IDLE_REASONS_SETTLE_NS 5000000000u
/* It has none before what was launched earlier has come, unless that is older than this. CUPTI tells of a kernel at its
 * end, so a long one may fill gaps of other streams. */
#define IDLE_REASONS_LONGEST_NS 600000000000u
/* Each look takes up every tenth GPU, so reading never takes long. */
#define IDLE_REASONS_TURNS 10u

struct idle_reason_sums { /* none falls */
	uint64_t ns[IDLE_REASONS];
	bool are_known; /* the GPU's process has samples, and its work is logged */
};

struct idle_reasons;

/* NULL: out of memory. destroy() accepts NULL. */
struct idle_reasons *idle_reasons_create(void);
void idle_reasons_destroy(struct idle_reasons *reasons);

/* Adds the gaps that are settled since the last look at a GPU. all: of all GPUs, settled or not; for the last look.
 * 0, or an error of the database or -ENOMEM: what is not added will be by the next look. */
int idle_reasons_look(struct idle_reasons *reasons, struct database *database,
		      const struct collection *collection, bool all);

/* A GPU's sums by the roster's id; zeroes: there are none. Borrowed until the next look. */
const struct idle_reason_sums *idle_reasons_of(const struct idle_reasons *reasons, uint32_t device);

#endif
