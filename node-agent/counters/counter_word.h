/* What the process that samples counters (counter_child.h) and the agent (counter_reader.h) tell each other. Both are
 * the same program. Plain data. */
#ifndef COUNTER_WORD_H
#define COUNTER_WORD_H

#include <assert.h>
#include <stdint.h>

#include "proto/device_counters.h"

/* The only argument but for the interval in ns, by which the program knows that it is to sample. */
#define COUNTER_WORD_ARGUMENT "--sample-counters-for-agent"

#define COUNTER_WORD_DEVICES 64u /* GPUs */

/* To the process: sample the GPU at this PCI address, or no longer. */
struct counter_order {
	uint32_t is_used;
	uint32_t device; /* below COUNTER_WORD_DEVICES; words name it so */
	uint32_t pci_domain, pci_bus, pci_device;
};

enum counter_word_kind {
	COUNTER_WORD_SAMPLE,
	COUNTER_WORD_REFUSAL, /* number: enum counter_refusal; COUNTER_SAMPLED: the sampling has begun */
	COUNTER_WORD_DROPPED,  /* number: so many more samples */
	COUNTER_WORD_OVERFLOW, /* one more */
	COUNTER_WORD_ROUND, /* at least once a second. number: its CPU time in ns, size: its memory */
};

/* From the process. */
struct counter_word {
	uint32_t kind, device;
	union {
		struct counter_sample sample;
		struct {
			uint64_t number, size;
		};
	};
};

static_assert(sizeof(struct counter_word) == 72, "no hole");

#endif
