/* Records all that one walk read, so that a later walk need not be done if it would read the same. docs/stacks.md says
 * why equal words make an equal walk. Records are relative to the stack pointer, so they hold at any depth and on any
 * stack. Pure but for the stack that is read; no lock, no allocation. On machines other than x86_64 no walk is
 * recorded. */
#ifndef WALK_RECORD_H
#define WALK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

#define WALK_READS_FRAMES  256u /* longer walks are not recorded */
#define WALK_READS_MAX     (3u * WALK_READS_FRAMES)
#define WALK_RECORD_FP_ANY INT32_MIN

#if defined(__x86_64__)
#define WALK_RECORD_POSSIBLE 1
#else
#define WALK_RECORD_POSSIBLE 0
#endif

/* How one frame was left. Values are addresses. */
struct walk_step {
	bool by_fp;     /* the rule starts from rbp */
	bool by_memory; /* it reads the CFA at cfa_at */
	bool loads_fp;  /* rbp was saved, and is loaded from fp_at; */
	bool knows_fp;  /* else nobody knows where from */
	uint64_t cfa_at, fp_at;
	uint64_t cfa, fp, pc; /* what it led to */
};

/* What a walk read. It is large: callers keep it off the stack. */
struct walk_reads {
	uint64_t pc;         /* of the start */
	uint32_t epoch;      /* of the tables */
	uint32_t reach;      /* bytes above the start's sp, up to the end of the highest word */
	int32_t fp_distance; /* the start's fp - sp; WALK_RECORD_FP_ANY: fp does not matter */
	uint32_t nr, nr_steps;
	struct walk_read {
		uint32_t at;   /* bytes above the start's sp */
		bool is_place; /* a place in the stack: value is its distance from the start's sp */
		uint64_t value;
	} reads[WALK_READS_MAX];
	struct walk_step steps[WALK_READS_FRAMES];
};

/* Does a walk again that has just ended in UNWIND_ROOT, UNWIND_STOP or UNWIND_FULL with these frames, with the same
 * arguments, and collects what it reads. A record of UNWIND_FULL is one for walks of as many frames at most. false: the
 * walk is not to be recorded. It may depend on more than such words (a signal's frame, code without a file), it may
 * take too much room, or the stack has changed meanwhile. */
bool walk_reads_collect(struct unwind_tables *tables, struct unwind_cache *cache,
			const struct unwind_start *start, uint64_t high, enum unwind_end end,
			const uint64_t *frames, uint32_t nr, struct walk_reads *reads);

/* Fills *reads for no walk, which starts here and reads nothing. */
static inline void walk_reads_none(struct walk_reads *reads, const struct unwind_start *start,
				   uint32_t epoch)
{
	reads->pc = start->pc;
	reads->epoch = epoch;
	reads->reach = reads->nr = reads->nr_steps = 0;
	reads->fp_distance = WALK_RECORD_FP_ANY;
}

/* Behind it stand:
 *	uint64_t words[nr_words]               values that must be equal
 *	int32_t  places[nr_places]             distances from sp that must be equal
 *	uint16_t at[nr_words + nr_places]      where each is: words above sp */
struct walk_record {
	uint64_t pc;
	uint32_t epoch, reach;
	int32_t fp_distance;
	uint16_t nr_words, nr_places;
};

/* Returns the bytes of the record with what stands behind it, a multiple of 8. */
static inline uint32_t walk_record_bytes(const struct walk_record *record)
{
	uint32_t bytes =
		(uint32_t)sizeof(*record) + record->nr_words * 10u + record->nr_places * 6u;

	return (bytes + 7) & ~7u;
}

/* Makes the head of a record, without what stands behind it. */
void walk_record_head(struct walk_record *record, const struct walk_reads *reads);

/* Writes what stands behind the head that walk_record_head() made of these reads. There is room for
 * walk_record_bytes(). */
void walk_record_write(struct walk_record *record, const struct walk_reads *reads);

/* Return what stands behind the record. Words and places begin at the innermost frame. */
static inline const uint64_t *walk_record_words(const struct walk_record *record)
{
	return (const uint64_t *)(record + 1);
}

static inline const int32_t *walk_record_places(const struct walk_record *record)
{
	return (const int32_t *)(walk_record_words(record) + record->nr_words);
}

static inline const uint16_t *walk_record_at(const struct walk_record *record)
{
	return (const uint16_t *)(walk_record_places(record) + record->nr_places);
}

/* Returns whether a walk from here, with tables of this epoch, would do what the recorded one did. Reads only inside
 * [start->sp, high). */
bool walk_record_holds(const struct walk_record *record, const struct unwind_start *start,
		       uint64_t high, uint32_t epoch);

/* Returns how many words above sp may be read: up to the end of the page of word `at`, which the record has read. 0: it
 * may not be read, because a word in a page below it, which the record has read, differs. */
uint32_t walk_record_words_to(const struct walk_record *record, const struct unwind_start *start,
			      uint64_t high, uint32_t at);

#endif
