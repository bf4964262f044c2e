#include "stack_capture.h"

#include <stdbool.h>
#include <string.h>

#include "kernel_context.h"

#include "inject/nvtx/nvtx_ranges.h"
#include "proto/backward_frame.h"
#include "proto/launch_path.h"
#include "proto/ring/record_ring.h"
#include "proto/stack_word.h"
#include "unwind/unwind_table.h"

static const struct python_place backward_call = {
	BACKWARD_FRAME_DIRECTORY, (const char *const[]){BACKWARD_FRAME_CALLERS, NULL}};

static_assert(RECORD_STACK_DEPTH <= UINT8_MAX, "an index of a Python frame, plus one, is a byte");

static void put_native(struct stack_scratch *scratch, uint64_t address)
{
	if (scratch->nr == RECORD_STACK_DEPTH)
		return;
	scratch->python_at[scratch->nr] = 0;
	scratch->keys[scratch->nr++] = address;
}

static uint32_t put_mark(struct stack_scratch *scratch, enum stack_mark mark)
{
	put_native(scratch, stack_word_mark(mark));
	return 1u << mark;
}

static void put_python(struct stack_scratch *scratch, uint32_t index)
{
	if (scratch->nr == RECORD_STACK_DEPTH)
		return;
	scratch->python_at[scratch->nr] = (uint8_t)(index + 1);
	scratch->keys[scratch->nr++] = scratch->python[index].key;
}

static uint32_t put_python_from(struct stack_scratch *scratch, uint32_t first, uint32_t nr)
{
	for (uint32_t i = first; i < nr; i++)
		put_python(scratch, i);
	return nr;
}

/* Puts the mark for the frames that are missing after the native ones. */
static uint32_t put_end(struct stack_scratch *scratch, enum unwind_end end)
{
	switch (end) {
	case UNWIND_NOT_READY:
	case UNWIND_NO_RULE:
		return put_mark(scratch, STACK_MARK_MISSING);
	case UNWIND_FULL:
		return put_mark(scratch, STACK_MARK_TRUNCATED);
	case UNWIND_ROOT:
	case UNWIND_STOP:
	default:
		return 0;
	}
}

static bool is_within(const struct unwind_stops *stops, uint64_t address)
{
	for (uint32_t i = 0; i < stops->nr; i++)
		if (address - 1 - stops->ranges[i].start <
		    stops->ranges[i].end - stops->ranges[i].start)
			return true;
	return false;
}

uint32_t stack_capture_merge(struct stack_scratch *scratch, uint32_t nr_native, enum unwind_end end,
			     const struct unwind_stops *stops, uint32_t nr_python)
{
	uint32_t next = 0, marks = 0;
	bool differ = false;

	scratch->nr = 0;
	for (uint32_t i = 0; i < nr_native; i++) {
		if (!is_within(stops, scratch->native[i])) {
			put_native(scratch, scratch->native[i]);
			continue;
		}
		if (next == nr_python) {
			differ = true;
			put_native(scratch, scratch->native[i]);
		}
		while (next < nr_python) {
			put_python(scratch, next);
			if (scratch->python[next++].segment_end)
				break;
		}
	}
	if (!differ && (next == nr_python || end != UNWIND_ROOT)) {
		marks = put_end(scratch, end);
		put_python_from(scratch, next, nr_python);
		return marks;
	}
	/* There is one interpreter loop more or less than there are segments. The frames stand side by side, because
	 * merging them would be wrong. */
	scratch->nr = 0;
	for (uint32_t i = 0; i < nr_native; i++)
		put_native(scratch, scratch->native[i]);
	marks = put_end(scratch, end) | put_mark(scratch, STACK_MARK_MISMATCH);
	put_python_from(scratch, 0, nr_python);
	return marks;
}

/* Appends Python's frames to the native frames, which end at the loop that runs the first Python frame. */
static uint32_t append_python(struct stack_scratch *scratch, enum unwind_end end,
			      uint32_t nr_python)
{
	uint32_t marks;

	if (end == UNWIND_STOP)
		scratch->nr--; /* the loop itself */
	marks = put_end(scratch, end);
	if (end == UNWIND_ROOT)
		marks |= put_mark(scratch, STACK_MARK_MISMATCH);
	put_python_from(scratch, 0, nr_python);
	return marks;
}

static void count(const struct stack_capture *capture, enum ledger_reason reason)
{
	record_ring_count(capture->ring, LEDGER_DEVICE_NONE, reason, 1, 0);
}

/* Puts the open ranges outside of all frames. Returns false if some have no name. */
static __attribute__((noinline)) bool put_ranges(struct stack_scratch *scratch)
{
	uint32_t names[NVTX_RANGES_DEPTH + 1];
	uint32_t room = RECORD_STACK_DEPTH - scratch->nr;
	uint32_t nr = nvtx_ranges_open(names,
				       room < NVTX_RANGES_DEPTH + 1 ? room : NVTX_RANGES_DEPTH + 1);
	bool all_named = true;

	for (uint32_t i = 0; i < nr; i++) {
		put_native(scratch, stack_word_range(names[i]));
		all_named &= names[i] != NVTX_NAME_LOST;
	}
	return all_named;
}

/* Puts the lines of the model that compiled code works for. low: the stack pointer. */
static __attribute__((noinline)) void put_lines(const struct stack_capture *capture,
						struct stack_scratch *scratch, uint64_t low)
{
	const struct kernel_context_stack stack = {scratch->keys, scratch->nr, low,
						   scratch->bounds.high};
	uint64_t word = kernel_contexts_word(capture->contexts, &stack);

	if (word && scratch->nr == RECORD_STACK_DEPTH)
		count(capture, LEDGER_STACK_TRUNCATED);
	else if (word)
		put_native(scratch, word);
}

/* Counts what a stack lacks, which is rare: a launch with a whole stack touches no counter. */
static __attribute__((noinline, cold)) void count_lacks(const struct stack_capture *capture,
							uint32_t marks, enum unwind_end end)
{
	if (end == UNWIND_NOT_READY)
		count(capture, LEDGER_STACK_PARTIAL);
	if (end == UNWIND_NO_RULE)
		count(capture, LEDGER_STACK_NO_ROOT);
	if (marks & 1u << STACK_MARK_TRUNCATED)
		count(capture, LEDGER_STACK_TRUNCATED);
	if (marks & 1u << STACK_MARK_MISMATCH)
		count(capture, LEDGER_STACK_MISMATCH);
}

/* Adds a new stack with its body. */
static __attribute__((noinline, cold)) uint32_t add(const struct stack_capture *capture,
						    struct stack_scratch *scratch, uint64_t hash)
{
	const uint64_t full = stack_word_mark(STACK_MARK_CODE_TABLE_FULL);
	bool nameless = false, unranged = false;

	memcpy(scratch->words, scratch->keys, scratch->nr * sizeof(*scratch->words));
	for (uint32_t i = 0; i < scratch->nr; i++) {
		if (scratch->python_at[i] == 0 && stack_word_is_range(scratch->keys[i]) &&
		    scratch->keys[i] != stack_word_range(NVTX_NAME_LOST)) {
			scratch->words[i] = nvtx_names_word(capture->ranges, capture->ring,
							    (uint32_t)scratch->keys[i]);
			unranged |= scratch->words[i] == stack_word_range(NVTX_NAME_LOST);
		}
		if (scratch->python_at[i] == 0)
			continue;
		scratch->words[i] = python_frames_word(capture->python, &scratch->standing.texts,
						       &scratch->python[scratch->python_at[i] - 1]);
		nameless |= scratch->words[i] == full;
	}
	if (nameless)
		count(capture, LEDGER_CODE_TABLE_FULL);
	if (unranged)
		count(capture, LEDGER_NVTX_NAME_LOST);
	return stack_table_add(capture->stacks, &scratch->stacks, hash, scratch->words,
			       scratch->nr);
}

static uint32_t intern(const struct stack_capture *capture, struct stack_scratch *scratch)
{
	uint64_t hash;

	launch_meter_enter_part(&scratch->meter, LAUNCH_METER_INTERN);
	uint32_t stack_id = stack_table_find(capture->stacks, &scratch->stacks, scratch->keys,
					     scratch->nr, &hash);

	if (stack_id == RECORD_STACK_NONE && scratch->nr) {
		uint64_t begin = launch_meter_cycles();

		stack_id = add(capture, scratch, hash);
		launch_meter_add_stack(&scratch->meter, begin, 1);
	}
	if (stack_id == RECORD_STACK_NONE && scratch->nr) {
		count(capture, LEDGER_STACK_TABLE_FULL);
		return RECORD_STACK_FULL;
	}
	return stack_id;
}

/* What the native walk found. */
struct native_walk {
	uint64_t *frames;
	uint32_t nr;
	enum unwind_end end;
	uint64_t outermost; /* frames[nr - 1], whose place a Python frame may take */
};

static void walk_native(const struct stack_capture *capture, struct stack_scratch *scratch,
			const struct known_query *query, const struct unwind_stops *stops,
			uint64_t *frames, struct native_walk *native)
{
	native->frames = frames;
	native->nr = unwind_walk(capture->tables, &scratch->rules, query->start, query->high, stops,
				 frames, capture->leaf_only ? 1 : capture->options.native_depth,
				 &native->end);
	native->outermost = native->nr ? frames[native->nr - 1] : 0;
}

/* Returns the thread's first Python frame, if Python frames are wanted and available; else 0. */
static uint64_t first_python(const struct stack_capture *capture)
{
	if (capture->options.mode == STACK_MODE_NATIVE)
		return 0;
	switch (python_frames_state(capture->python)) {
	case PYTHON_READY:
		return python_frames_first(capture->python);
	case PYTHON_REFUSED:
		count(capture, LEDGER_PYTHON_OFF);
		return 0;
	case PYTHON_NONE:
	default:
		return 0;
	}
}

/* Walks the thread's Python frames. *marks: says that there are more. */
static uint32_t walk_python(const struct stack_capture *capture, struct stack_scratch *scratch,
			    uint64_t first, uint32_t *marks)
{
	bool cut = false;
	uint32_t nr =
		python_frames_walk(capture->python, first, scratch->python,
				   capture->leaf_only ? 1 : capture->options.python_depth, &cut);

	if (cut)
		*marks |= 1u << STACK_MARK_TRUNCATED;
	return nr;
}

/* Interns the Python frames of the thread that called backward(). */
static __attribute__((noinline)) uint32_t intern_caller(const struct stack_capture *capture,
							struct stack_scratch *scratch)
{
	bool cut;

	/* Their words are their keys, as with marks. */
	scratch->nr = python_frames_standing(capture->python, &scratch->standing, &backward_call,
					     scratch->keys, capture->options.python_depth, &cut);
	memset(scratch->python_at, 0, scratch->nr);
	if (cut)
		count_lacks(capture, put_mark(scratch, STACK_MARK_TRUNCATED), UNWIND_ROOT);
	uint32_t stack_id = intern(capture, scratch);
	return stack_id == RECORD_STACK_FULL ? RECORD_STACK_NONE : stack_id;
}

/* Looks whether the launch is part of a forward operation or of a backward pass. */
static void look_at_autograd(const struct stack_capture *capture, struct stack_scratch *scratch,
			     bool has_python, struct autograd_launch *launch)
{
	autograd_origin_look(capture->autograd, &scratch->autograd, has_python, launch);
	if (__builtin_expect(!launch->wants_caller, 1))
		return;
	scratch->autograd.caller_stack_id = intern_caller(capture, scratch);
	autograd_origin_look(capture->autograd, &scratch->autograd, has_python, launch);
}

/* Takes a stack that is only ranges. */
static uint32_t take_ranges(const struct stack_capture *capture, struct stack_scratch *scratch)
{
	scratch->nr = 0;
	if (!put_ranges(scratch))
		count(capture, LEDGER_NVTX_NAME_LOST);
	return intern(capture, scratch);
}

/* Walks the native frames and merges all frames into scratch->keys. Returns the marks that were set. */
static uint32_t walk_stack(const struct stack_capture *capture, struct stack_scratch *scratch,
			   const struct known_query *query, uint32_t nr_python,
			   struct native_walk *native)
{
	const struct unwind_stops *stops = python_frames_stops(capture->python);

	scratch->nr = 0;
	*native = (struct native_walk){.end = UNWIND_ROOT};
	if (capture->options.mode == STACK_MODE_PYTHON) {
		put_python_from(scratch, 0, nr_python);
		return 0;
	}
	if (nr_python && capture->options.mode == STACK_MODE_FULL) {
		walk_native(capture, scratch, query, NULL, scratch->native, native);
		return stack_capture_merge(scratch, native->nr, native->end, stops, nr_python);
	}
	walk_native(capture, scratch, query, nr_python ? stops : NULL, scratch->keys, native);
	scratch->nr = native->nr;
	memset(scratch->python_at, 0, scratch->nr);
	return nr_python ? append_python(scratch, native->end, nr_python)
			 : put_end(scratch, native->end);
}

static bool has_ranges(const struct stack_capture *capture)
{
	return __builtin_expect(capture->ranges && nvtx_ranges_any(), 0);
}

static bool has_lines(const struct stack_capture *capture)
{
	return __builtin_expect(capture->contexts && kernel_contexts_any(capture->contexts), 0);
}

/* Puts what stands outside of the frames. Returns the marks that say what is missing of the stack. */
static uint32_t put_outer(const struct stack_capture *capture, struct stack_scratch *scratch,
			  const struct known_query *query, uint32_t python_marks, uint64_t origin)
{
	uint32_t marks = python_marks;

	if (__builtin_expect(python_marks != 0, 0)) {
		if (python_marks & 1u << STACK_MARK_TRUNCATED)
			put_mark(scratch, STACK_MARK_TRUNCATED);
		if (python_marks & 1u << STACK_MARK_SUBINTERPRETER)
			put_mark(scratch, STACK_MARK_SUBINTERPRETER);
	}
	if (has_ranges(capture) && !put_ranges(scratch))
		count(capture, LEDGER_NVTX_NAME_LOST);
	if (has_lines(capture))
		put_lines(capture, scratch, query->start->sp);
	if (origin) {
		if (scratch->nr == RECORD_STACK_DEPTH) {
			scratch->nr--;
			marks |= 1u << STACK_MARK_TRUNCATED;
		}
		put_native(scratch, origin);
	}
	return marks;
}

static_assert(NVTX_RANGES_DEPTH + 2 <= STACK_OUTER_MAX, "ranges and the origin have room");

/* Writes the words of the open ranges. Returns false if some have no name. */
static __attribute__((noinline)) bool ask_ranges(struct stack_scratch *scratch, uint32_t *nr)
{
	uint32_t names[NVTX_RANGES_DEPTH + 1];

	*nr = nvtx_ranges_open(names, NVTX_RANGES_DEPTH + 1);
	for (uint32_t i = 0; i < *nr; i++) {
		if (names[i] == NVTX_NAME_LOST)
			return false;
		scratch->outer[i] = stack_word_range(names[i]);
	}
	return true;
}

/* Gives the query the words that put_outer() would put. Returns false if that is not known before the walk. */
static bool ask_outer(const struct stack_capture *capture, struct stack_scratch *scratch,
		      struct known_query *query, uint64_t origin)
{
	uint32_t nr = 0;

	if (has_lines(capture))
		return false;
	if (has_ranges(capture) && !ask_ranges(scratch, &nr))
		return false;
	if (origin)
		scratch->outer[nr++] = origin;
	query->outer = scratch->outer;
	query->nr_outer = nr;
	return true;
}

/* Records a stack that was just walked, whose frames all are there, up to the depth cap. RECORD_STACK_NONE: it is not
 * to be recorded. */
static __attribute__((noinline, cold)) void record(const struct stack_capture *capture,
						   struct stack_scratch *scratch,
						   const struct known_query *query,
						   const struct native_walk *native,
						   uint32_t stack_id, bool truncated)
{
	if (!known_stacks_wants(&scratch->known, query, stack_id))
		return;
	struct walk_reads *reads = known_stacks_reads(&scratch->known);
	uint64_t begin = launch_meter_cycles();
	bool holds = true;

	if (capture->options.mode == STACK_MODE_PYTHON) {
		walk_reads_none(reads, query->start, query->table_epoch);
	} else {
		if (native->frames != scratch->native)
			memcpy(scratch->native, native->frames,
			       native->nr * sizeof(*native->frames));
		scratch->native[native->nr - 1] = native->outermost;
		holds = walk_reads_collect(capture->tables, &scratch->rules, query->start,
					   query->high, native->end, scratch->native, native->nr,
					   reads);
	}
	if (holds)
		known_stacks_add(&scratch->known, query, stack_id, truncated);
	launch_meter_add_stack(&scratch->meter, begin, 0);
}

/* Returns whether nothing but the depth cap ended the walks. */
static bool is_whole(const struct stack_capture *capture, const struct native_walk *native,
		     uint32_t marks)
{
	return (marks & ~(1u << STACK_MARK_TRUNCATED)) == 0 &&
	       (capture->options.mode == STACK_MODE_PYTHON || native->nr > 0);
}

/* Walks, merges and interns. may_record: the query and the native stack make all of the stack. */
static __attribute__((noinline)) uint32_t walk_and_intern(const struct stack_capture *capture,
							  struct stack_scratch *scratch,
							  const struct known_query *query,
							  uint32_t python_marks, uint64_t origin,
							  bool may_record)
{
	struct native_walk native;

	if (query->python)
		launch_meter_enter_part(&scratch->meter, LAUNCH_METER_PYTHON);
	uint32_t nr_python = walk_python(capture, scratch, query->python, &python_marks);
	launch_meter_enter_part(&scratch->meter, LAUNCH_METER_NATIVE);
	uint32_t marks = walk_stack(capture, scratch, query, nr_python, &native);

	marks |= put_outer(capture, scratch, query, python_marks, origin);
	if (__builtin_expect(marks != 0, 0) && !capture->leaf_only)
		count_lacks(capture, marks, native.end);
	uint32_t stack_id = intern(capture, scratch);
	/* Where code was unloaded all stacks are looked up, which counts them (stack_table_in_places()). */
	if (may_record)
		record(capture, scratch, query, &native,
		       is_whole(capture, &native, marks) && !scratch->stacks.in_place &&
				       scratch->nr < RECORD_STACK_DEPTH &&
				       stack_id != RECORD_STACK_FULL
			       ? stack_id
			       : RECORD_STACK_NONE,
		       marks != 0);
	return stack_id;
}

/* Returns all that decides how a stack is walked and merged, in one word. */
static uint32_t options_word(const struct stack_options *options)
{
	return (uint32_t)options->mode << 16 | options->native_depth << 8 | options->python_depth;
}

static_assert(STACK_OPTIONS_DEPTH_MAX <= UINT8_MAX, "depths fit into the word");

/* Returns the id of a known stack; else RECORD_STACK_NONE. */
static inline uint32_t recognise(const struct stack_capture *capture, struct stack_scratch *scratch,
				 const struct known_query *query)
{
	const struct known_record *record = known_stacks_find(&scratch->known, query);

	if (!record)
		return RECORD_STACK_NONE;
	if (__builtin_expect(record->truncated, 0) && !capture->leaf_only)
		count(capture, LEDGER_STACK_TRUNCATED);
	return record->stack_id;
}

/* The capture proper. known: stacks may be recognised. */
static inline uint32_t take(const struct stack_capture *capture, struct stack_scratch *scratch,
			    const struct unwind_start *start, uint64_t now_ns, bool known)
{
	struct autograd_launch autograd = {0};
	uint32_t python_marks = 0, stack_id = RECORD_STACK_NONE;

	if (known)
		known_stacks_prefetch(&scratch->known);
	struct known_query query = {
		.start = start,
		.high = capture->options.mode == STACK_MODE_PYTHON
				? start->sp
				: stack_bounds_high(&scratch->bounds, start->sp, now_ns),
		.table_epoch = unwind_tables_epoch(capture->tables),
		.stack_epoch = stack_table_epoch(capture->stacks),
		.options = options_word(&capture->options),
		.layout = python_frames_layout(capture->python),
		.python = first_python(capture),
		.meter = &scratch->meter,
	};
	launch_meter_enter_part(&scratch->meter,
				query.python ? LAUNCH_METER_PYTHON : LAUNCH_METER_NATIVE);
	if (query.python && python_frames_ambiguous(capture->python))
		python_marks = 1u << STACK_MARK_SUBINTERPRETER;
	if (capture->autograd)
		look_at_autograd(capture, scratch, query.python != 0, &autograd);
	known = known && python_marks == 0 && ask_outer(capture, scratch, &query, autograd.word);
	if (known)
		stack_id = recognise(capture, scratch, &query);
	if (stack_id == RECORD_STACK_NONE)
		stack_id = walk_and_intern(capture, scratch, &query, python_marks, autograd.word,
					   known);
	if (autograd.number && stack_id != RECORD_STACK_NONE && stack_id != RECORD_STACK_FULL)
		autograd_origin_remember(capture->autograd, &autograd, stack_id);
	return stack_id;
}

uint32_t stack_capture_ranges(const struct stack_capture *capture, struct stack_scratch *scratch)
{
	return capture->ranges ? take_ranges(capture, scratch) : RECORD_STACK_NONE;
}

/* The walk begins at this function's own frame, so it must have one: it is not inlined. */
LAUNCH_PATH __attribute__((noinline)) uint32_t
stack_capture_take(const struct stack_capture *capture, struct stack_scratch *scratch,
		   uint64_t now_ns)
{
	const struct unwind_start start = UNWIND_START_HERE();

	if (capture->options.mode == STACK_MODE_NONE)
		return stack_capture_ranges(capture, scratch);
	bool first = known_stacks_begin(&scratch->known);
	bool known = first && !capture->walks_always && !known_stacks_pauses(&scratch->known);
	uint32_t stack_id = take(capture, scratch, &start, now_ns, known);

	if (first)
		known_stacks_end(&scratch->known);
	launch_meter_enter_part(&scratch->meter, LAUNCH_METER_ENTRY);
	return stack_id;
}
