/* Decides whether a profile is whole. No other file does, so that every report says it in the same words. Part of
 * report_build; used by one thread. */
#ifndef REPORT_COMPLETENESS_H
#define REPORT_COMPLETENESS_H

#include "report_names.h"
#include "report_tree.h"

#include "report/profile/profile.h"

/* REPORT_COMPLETE: every agent and process said goodbye, every expected node came, each process that started CUDA was
 * recorded, and each process's accounts close:
 *		GPU records delivered = received + lost by reason
 *		launches seen = received + lost by reason
 *	Losses that the ledgers count do not change this, because their amount is known.
 * REPORT_STOPPED: as complete, but a signal of a user or scheduler ended processes.
 * REPORT_LIVE: the profile is being written, and no fault is known. The sentence names nodes of which nothing has come
 *	for 30 s.
 * REPORT_EMPTY: nothing was recorded, and no fault is known.
 * REPORT_INCOMPLETE: an unknown amount is missing. The sentence names it.
 *
 * *tree has its sums and losses. absent: as of report_notices_make(); a complete profile of several aggregators says
 * so. *sentence is one line without an end, which the caller owns (free()): "nothing lost",
 * or "INCOMPLETE: 3 of 64 agents did not say goodbye: node07 (ranks 56-63) since 2026-11-22 12:01:07". A fault names at
 * most REPORT_FAULT_PLACES places, and a place at most REPORT_FAULT_RANGES ranges of ranks (report_fault.h). 0;
 * -ENOMEM: *sentence is NULL.
 *
 * tree NULL: profile_load_names() loaded the profile. Then the state is REPORT_INCOMPLETE, REPORT_STOPPED, or
 * REPORT_COMPLETE with the sentence "". */
int report_completeness_make(const struct profile *profile, struct report_names *names,
			     const struct report_tree *tree, uint32_t absent,
			     enum report_state *state, char **sentence);

#endif
