/* What the process that samples counters (counter_child.h) and the agent (counter_reader.h) tell each other. Both are
 * the same program. But libraries of others run in the process, so the agent checks each word. Pure; any thread. */
#ifndef COUNTER_WORD_H
#define COUNTER_WORD_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/counter_sampling.h"

/* The only argument but for the interval in ns, by which the program knows that it is to sample. */
#define COUNTER_WORD_ARGUMENT "--sample-counters-for-agent"

#define COUNTER_WORD_DEVICES 64u /* GPUs */

/* The process's descriptor of words. Its standard output is not for them, because libraries print there. */
#define COUNTER_WORD_FD 3

#define COUNTER_WORD_MAGIC 0x46475744u

/* What a sample can be: a longer one spans a gap, and more traffic is nonsense. */
#define COUNTER_LENGTH_MOST  4u      /* intervals */
#define COUNTER_BYTES_NS_MAX 100000u /* bytes in a nanosecond */

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
	COUNTER_WORD_KINDS,
};

/* From the process. */
struct counter_word {
	uint32_t magic; /* COUNTER_WORD_MAGIC */
	uint32_t kind, device;
	uint32_t invalid; /* of a sample: the bits of known whose values are impossible; else 0 */
	union {
		struct counter_sample sample;
		struct {
			uint64_t number, size;
		};
	};
};

static_assert(sizeof(struct counter_word) == 80, "no hole");

/* Returns whether the process can have written this. Times of samples are not looked at: impossible ones are
 * dropped (counter_queue.h). */
bool counter_word_is_valid(const struct counter_word *word);

#endif
