/* Captures one launch's stack: walks the native and Python frames of the calling thread, merges and interns them. It
 * is on the launch path: no lock and no allocation, but for what autograd_origin_look(), kernel_contexts_word(),
 * known_stacks_wants() and python_texts_own() name. */
#ifndef STACK_CAPTURE_H
#define STACK_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "autograd_origin.h"
#include "known_stacks.h"
#include "launch_meter.h"

#include "inject/base/stack_table.h"
#include "proto/options/stack_options.h"
#include "proto/record.h"
#include "python/python_frames.h"
#include "unwind/stack_bounds.h"
#include "unwind/unwind.h"

#define STACK_OUTER_MAX 66u /* NVTX_RANGES_DEPTH, one word for all others, and the origin */

struct kernel_contexts;
struct nvtx_names;
struct record_ring;
struct unwind_tables;

/* What captures share; all pointers are borrowed for good. */
struct stack_capture {
	struct record_ring *ring;
	struct stack_table *stacks;
	struct unwind_tables *tables;
	struct python_frames *python;
	struct stack_options options;
	struct nvtx_names *ranges;        /* NVTX ranges become frames; NULL: they do not */
	struct autograd_origin *autograd; /* backward stacks get an origin; NULL: they do not */
	struct kernel_contexts
		*contexts; /* compiled code has lines of its model; NULL: it has not */
	/* Takes the innermost frame of each walk alone, and does not count that others are missing. Goes with
	 * walks_always. */
	bool leaf_only;
	bool walks_always; /* recognises no stack */
};

/* What one thread keeps for its captures. A new one is zeroed. */
struct stack_scratch {
	/* what each launch touches comes first, side by side */
	struct stack_bounds bounds;
	struct known_stacks known;
	struct launch_meter meter;
	struct autograd_thread autograd;
	struct python_standing standing;
	_Alignas(64) struct unwind_cache rules; /* has cache lines of its own */
	struct stack_cache stacks;
	uint64_t outer[STACK_OUTER_MAX]; /* ranges and the origin of the present stack */
	uint32_t nr;                     /* number of keys */
	/* keys of the present stack; a native frame or a mark is its own key */
	uint64_t keys[RECORD_STACK_DEPTH];
	uint64_t native[RECORD_STACK_DEPTH]; /* STACK_MODE_FULL: before the merge */
	uint64_t words[RECORD_STACK_DEPTH];  /* the body of a new stack */
	/* per key: 1 + index in python; 0: not a Python frame */
	uint8_t python_at[RECORD_STACK_DEPTH];
	struct python_frame python[RECORD_STACK_DEPTH];
};

/* Returns the id of the calling thread's stack: its frames from the caller outwards, and around them the NVTX ranges
 * that are open in the thread, lines of a model, and the origin of a backward pass. All that the stack lacks is counted
 * in the ledger. RECORD_STACK_NONE: no stack was asked for, or there is none. RECORD_STACK_FULL: there is no room for
 * another one. */
uint32_t stack_capture_take(const struct stack_capture *capture, struct stack_scratch *scratch,
			    uint64_t now_ns);

/* Returns the id of a stack that has the calling thread's open ranges alone; RECORD_STACK_NONE: none is open, or they
 * are no frames. */
uint32_t stack_capture_ranges(const struct stack_capture *capture, struct stack_scratch *scratch);

/* Merges native frames (leaf first, as unwind_walk() ended with `end`) and Python frames into scratch->keys. Each
 * native frame within `stops` is replaced by the Python frames up to the end of their segment. Pure but for scratch.
 * Returns the marks that were set, one bit each (1 << enum stack_mark). */
uint32_t stack_capture_merge(struct stack_scratch *scratch, uint32_t nr_native, enum unwind_end end,
			     const struct unwind_stops *stops, uint32_t nr_python);

#endif
