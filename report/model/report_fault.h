/* A kind of fault in a profile, and the places with this fault. Part of report_completeness; used by one thread. */
#ifndef REPORT_FAULT_H
#define REPORT_FAULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregator/store/store_note.h"

#define REPORT_FAULT_PLACES 4u /* places of a fault that a sentence names */
#define REPORT_FAULT_RANGES 8u /* ranges of ranks that it names of a place */

/* A host. */
struct report_fault_place {
	uint32_t host; /* roster id */
	/* borrowed from report_names; the caller sets it after all places were added */
	const char *name;
	/* the earliest of the last signs of life, CLOCK_REALTIME; 0: not known */
	uint64_t since_ns;
	int32_t *ranks; /* owns */
	uint32_t nr_ranks;
};

/* A fault begins as zeros. report_fault_fini() frees its memory. */
struct report_fault {
	struct report_fault_place *places; /* owns; each host once */
	uint32_t nr_places;
	uint64_t count; /* kept by the caller */
};

void report_fault_fini(struct report_fault *fault);

/* Returns the place of this host, and adds it if there is none. Borrowed until the next call. NULL: out of memory. */
struct report_fault_place *report_fault_place(struct report_fault *fault, uint32_t host);

/* Keeps the earliest time at which a part of the place was last heard of. spoke_ns: CLOCK_REALTIME; 0 changes
 * nothing. */
void report_fault_spoke(struct report_fault_place *place, uint64_t spoke_ns);

/* Adds a rank; a negative one changes nothing. 0; -ENOMEM: the place is unchanged. */
int report_fault_add_rank(struct report_fault_place *place, int32_t rank);

/* An agent says at least every 10 s what it costs, a node's link sends at least every 10 s, and both may be late. */
#define REPORT_FAULT_SILENT_NS 30000000000ull

/* Returns whether a node of a live profile, read at read_ns, has said nothing for so long. Both are CLOCK_REALTIME;
 * spoke_ns 0: not known. */
bool report_fault_is_silent(uint64_t spoke_ns, uint64_t read_ns);

/* Writes "2 of 64 processes"; of 0: "2 processes". what is in the plural. */
void report_fault_write_share(FILE *out, uint64_t count, uint64_t of, const char *what);

/* Writes " has not been heard of for 63 s, …" of such nodes. There is one at least. */
void report_fault_write_silence(const struct report_fault *fault, uint64_t read_ns, FILE *out);

/* Begins a list of the parts of the profile, count of them, with a note of this kind: writes what they lack, if the
 * notes do not say so. is_live: more may come. */
void report_fault_write_lack(enum store_note_kind kind, uint32_t count, bool is_live, FILE *out);

/* Writes that so many nodes of all did not join. */
void report_fault_write_nodes(uint64_t missing, uint64_t of, bool has_parts, FILE *out);

/* Writes that so many aggregators of all ended without closing their parts. */
void report_fault_write_abandoned(uint64_t nr_open, uint64_t nr_writers, FILE *out);

/* Returns what killed processes are and lack. sampled: kernels of one of them were sampled, whose samples the guest
 * fetches once a second. */
const char *report_fault_killed(bool sampled);

/* Writes "stopped by …" with the time of that, if it is known, and what may be missing. */
void report_fault_write_stop(const struct report_fault *fault, const char *how, FILE *out);

/* Writes the local date and time: "2026-11-22 12:01:07". */
void report_fault_write_time(uint64_t time_ns, FILE *out);

/* Writes ": node07 (ranks 56-63) since 2026-11-22 12:01:07, and 3 more nodes", where when is "since".
 * Sorts the places by their names, which must be set, and the ranks that it writes. */
void report_fault_write_places(const struct report_fault *fault, const char *when, FILE *out);

#endif
