/* Reads the counters of a guest, as far as they can be believed. Counters only grow, and no counter exceeds what a
 * process can count. A ring whose counters break these rules is never believed again, but its earlier counters stay.
 * Part of the ring source; single-threaded. */
#ifndef GUEST_COUNTS_H
#define GUEST_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ledger.h"

struct record_ring;

/* Embedded. Zeroed memory is the state before the first read. */
struct guest_counts {
	struct ledger_entry *entries; /* owns; sorted by device and reason, without zeros */
	uint32_t nr, room;
	bool given_up;
};

void guest_counts_fini(struct guest_counts *counts); /* accepts zeroed memory */

/* Reads the ring's counters. 0; -EPROTO, once: they make no sense; -ENOMEM. On error the entries keep their last
 * values. */
int guest_counts_read(struct guest_counts *counts, const struct record_ring *ring);

#endif
