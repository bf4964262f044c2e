/* Recognises stacks that a thread has captured before. A known stack is one contiguous record: all that its walk read
 * (unwind/walk_record.h, python/python_record.h), and its id. A few words of a stack choose a record (known_tree.h),
 * and all words of the record prove it. Each thread has its own; it takes no lock. The only allocation is that of
 * known_stacks_wants(). */
#ifndef KNOWN_STACKS_H
#define KNOWN_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "known_record.h"
#include "launch_meter.h"

#include "python/python_layout.h"
#include "unwind/unwind.h"
#include "unwind/walk_record.h"

#define KNOWN_STACKS_BYTES   (1u << 20) /* of one thread */
#define KNOWN_STACKS_THREADS 8u         /* that have memory at a time; others walk each stack */

struct known_memory;

/* Zeroed: knows nothing. */
struct known_stacks {
	struct known_memory *memory; /* owns; NULL: none yet */
	uint32_t last, last_but_one; /* records that were found; 0: none */
	uint32_t used, nr_records;   /* units of 64 bytes, and records in them */
	uint32_t rest; /* captures that are not to be recorded, because memory was full too soon */
	uint32_t vain; /* captures that looked in vain, and recorded nothing */
	uint64_t hits; /* since the memory was empty */
	uint64_t hits_before; /* when `vain` was 0 */
	uint32_t pause;       /* captures that are not to look, because few found anything; */
	uint32_t pauses;      /* the last pause; 0: looking was worth it since */
	uint32_t table_epoch, stack_epoch; /* of the records */
	volatile bool busy;                /* a capture is in progress */
	volatile bool disturbed; /* and another one came in between, in a signal's handler */
};

/* What a stack is, apart from the memory that the walks read. */
struct known_query {
	const struct unwind_start *start;
	uint64_t high;                     /* end of the thread's stack */
	uint32_t table_epoch, stack_epoch; /* of unwind tables and of the table of stacks */
	uint32_t options;                  /* all that decides how stacks are walked and merged */
	const struct python_layout *layout;
	uint64_t python;       /* the innermost Python frame; 0: none */
	const uint64_t *outer; /* words that stand outside of all frames: ranges, and the origin */
	uint32_t nr_outer;     /* at most UINT16_MAX */
	struct launch_meter *meter;
};

/* Begins and ends a capture. Between them the known stacks may be used if begin returned true. false: this capture is
 * in a signal's handler, which interrupted another one, so known_stacks_end() must not be called. */
bool known_stacks_begin(struct known_stacks *known);
void known_stacks_end(struct known_stacks *known);

/* Fetches what known_stacks_find() is likely to need. */
void known_stacks_prefetch(const struct known_stacks *known);

/* Returns whether this capture is to be walked without looking, because few stacks were found lately. Such captures are
 * not recorded. */
static inline bool known_stacks_pauses(struct known_stacks *known)
{
	if (__builtin_expect(known->pause == 0, 1))
		return false;
	known->pause--;
	return true;
}

/* Returns the record of the stack, borrowed until the capture ends. NULL: the stack is not known. */
const struct known_record *known_stacks_find(struct known_stacks *known,
					     const struct known_query *query);

/* Returns whether the stack with this id, which was not found, should be recorded: it has come before, it was not
 * recorded too often in other shapes, and there is memory. The thread's first call maps KNOWN_STACKS_BYTES, if fewer
 * than KNOWN_STACKS_THREADS threads have memory. A thread that gets none asks again 65,536 calls later. Forgets the
 * records of other epochs than the query's. RECORD_STACK_NONE: a stack that cannot be recorded. */
bool known_stacks_wants(struct known_stacks *known, const struct known_query *query,
			uint32_t stack_id);

/* Returns memory for walk_reads_collect(), once known_stacks_wants() has returned true. */
struct walk_reads *known_stacks_reads(struct known_stacks *known);

/* Records a stack that was not found, by what is in known_stacks_reads(). truncated: the depth cap ended its walks. The
 * query's epochs are those before the walk and before the id was looked up; the record has the one of
 * walk_reads_collect(). Does nothing if another capture came in between. */
void known_stacks_add(struct known_stacks *known, const struct known_query *query,
		      uint32_t stack_id, bool truncated);

/* Forgets all stacks, and keeps the memory. */
void known_stacks_clear(struct known_stacks *known);

/* Unmaps the memory. */
void known_stacks_fini(struct known_stacks *known);

#endif
