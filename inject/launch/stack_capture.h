/* One launch's stack: native and Python frames of the calling thread, merged, interned. The launch
 * path: no lock, no allocation. */
#ifndef STACK_CAPTURE_H
#define STACK_CAPTURE_H

#include <stdint.h>

#include "inject/base/stack_table.h"
#include "proto/options/stack_options.h"
#include "proto/record.h"
#include "python/python_frames.h"
#include "unwind/stack_bounds.h"
#include "unwind/unwind.h"

struct nvtx_names;
struct record_ring;
struct unwind_tables;

/* What captures share; all borrowed for good. */
struct stack_capture {
	struct record_ring *ring;
	struct stack_table *stacks;
	struct unwind_tables *tables;
	struct python_frames *python;
	struct stack_options options;
	struct nvtx_names *ranges; /* NVTX ranges are frames; NULL: they are not */
};

/* What one thread keeps for its captures. Zeroed: new. */
struct stack_scratch {
	struct stack_bounds bounds;
	struct stack_cache stacks;
	struct unwind_cache rules;
	uint32_t nr; /* of keys */
	/* of the stack at hand: a native frame or a mark is its own key */
	uint64_t keys [RECORD_STACK_DEPTH];
	uint64_t native[RECORD_STACK_DEPTH];   /* STACK_MODE_FULL: before the merge */
	uint64_t words[RECORD_STACK_DEPTH];    /* the body of a new stack */
	uint8_t python_at[RECORD_STACK_DEPTH]; /* per key: 1 + index in python, 0: not Python's */
	struct python_frame python[RECORD_STACK_DEPTH];
};

/* The id of the calling thread's stack, from the caller outwards, and around it the NVTX ranges that are
 * open in the thread; whatever it lacks is counted in the
 * ledger. RECORD_STACK_NONE: nothing was asked for, or nothing is there;
 * RECORD_STACK_FULL: no room for another stack. */
uint32_t stack_capture_take(const struct stack_capture *capture, struct stack_scratch *scratch,
			    uint64_t now_ns);

/* Merges native frames (leaf first, as unwind_walk() ended with `end`) and Python frames into
 * scratch->keys: each native frame within `stops` stands for the Python frames up to the end of
 * their segment. Pure but for scratch. Returns the marks that were set, a bit each (1 << enum
 * stack_mark). */
uint32_t stack_capture_merge(struct stack_scratch *scratch, uint32_t nr_native, enum unwind_end end,
			     const struct unwind_stops *stops, uint32_t nr_python);

#endif
