/* The truth of fake NCCL (tests/support/fake_nccl/README.md), and what a source has sent of the same calls beside it.
 * Fails the running test on any difference. */
#ifndef COLLECTIVE_TRUTH_H
#define COLLECTIVE_TRUTH_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf_fixture.h"

struct collective_truth {
	struct truth_row *rows; /* owns */
	uint32_t count;
};

/* What is in these files by now; a file that is not there has nothing. */
void collective_truth_read(struct collective_truth *truth, const char *folder);
void collective_truth_fini(struct collective_truth *truth);

/* Calls and groups of the truth. */
uint32_t collective_truth_calls(const struct collective_truth *truth);

/* What has begun from a time on is all that was sent, each once and like the truth; keys: so are the communicators. */
void collective_truth_check(const struct collective_truth *truth, const struct bpf_fixture *fixture,
			    uint64_t from_ns, bool keys);

#endif
