/* What a guest has counted, as far as it can be believed: counters only grow, and none is above what a process can
 * count. A ring whose counters break this is believed no more; what it had said before stays. Part of the ring
 * source; single-threaded. */
#ifndef GUEST_COUNTS_H
#define GUEST_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ledger.h"

struct record_ring;

/* Embedded; zeroed memory is one that was never read. */
struct guest_counts {
	struct ledger_entry *entries; /* owns; by device and reason, without zeros */
	uint32_t nr;
	bool given_up;
};

void guest_counts_fini(struct guest_counts *counts); /* accepts zeroed memory */

/* Reads the ring's counters. 0; -EPROTO: they make no sense, said once; -ENOMEM. On error the entries are as they
 * were. */
int guest_counts_read(struct guest_counts *counts, const struct record_ring *ring);

#endif
