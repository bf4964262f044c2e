#include "python_frames.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "python_check.h"
#include "python_code.h"
#include "python_eval.h"
#include "python_frame.h"
#include "python_library.h"

#include "proto/launch_path.h"
#include "proto/sparse_memory.h"

#define TEXT_MAX          256u
#define HIDDEN_FRAMES_MAX 4096u /* frames of one walk: more are no stack, but a circle */

struct python_frames {
	/* Written by find, before the state says that there is an interpreter. */
	struct python_library library;
	struct unwind_stops stops;
	char found_text[TEXT_MAX];

	_Atomic int state;         /* enum python_state */
	_Atomic uint32_t checked;  /* the layout was seen to be right */
	_Atomic uint32_t refusing; /* a thread writes refused_text */
	_Atomic uintptr_t text;    /* found_text or refused_text; 0: none */
	char refused_text[TEXT_MAX];
	struct python_codes codes;
};

struct python_frames *python_frames_create(struct record_ring *ring)
{
	struct python_frames *python = sparse_memory_map(sizeof(*python), PROT_READ | PROT_WRITE);

	if (!python)
		return NULL;
	python->codes.ring = ring;
	return python;
}

void python_frames_destroy(struct python_frames *python)
{
	if (python)
		munmap(python, sizeof(*python));
}

LAUNCH_PATH enum python_state python_frames_state(const struct python_frames *python)
{
	return (enum python_state)atomic_load_explicit(&python->state, memory_order_acquire);
}

const char *python_frames_text(const struct python_frames *python)
{
	uintptr_t text = atomic_load_explicit(&python->text, memory_order_acquire);

	return text ? (const char *)text : "";
}

static void publish(struct python_frames *python, const char *text, enum python_state state)
{
	atomic_store_explicit(&python->text, (uintptr_t)text, memory_order_release);
	atomic_store_explicit(&python->state, state, memory_order_release);
}

/* Finds where the evaluation loop lies. If it could not be recognised, the text says so. */
static const char *find_loop(struct python_frames *python)
{
	uint64_t size = 0;

	if (!python_eval_find(python->library.eval_frame, &python->stops))
		return " (its evaluation loop was not found)";
	for (uint32_t i = 0; i < python->stops.nr; i++)
		size += python->stops.ranges[i].end - python->stops.ranges[i].start;
	return size < PYTHON_EVAL_WHOLE_BYTES ? " (its evaluation loop is split into functions)"
					      : "";
}

enum python_state python_frames_find(struct python_frames *python)
{
	enum python_state state = python_frames_state(python);

	if (state != PYTHON_NONE)
		return state;
	switch (python_library_find(&python->library)) {
	case 0:
		snprintf(python->found_text, TEXT_MAX, "%s%s", python->library.text,
			 find_loop(python));
		publish(python, python->found_text, PYTHON_READY);
		break;
	case -ENOTSUP:
		snprintf(python->found_text, TEXT_MAX, "%s", python->library.text);
		publish(python, python->found_text, PYTHON_REFUSED);
		break;
	default:
		break;
	}
	return python_frames_state(python);
}

LAUNCH_PATH const struct python_layout *python_frames_layout(const struct python_frames *python)
{
	return &python->library.layout;
}

const struct unwind_stops *python_frames_stops(const struct python_frames *python)
{
	return &python->stops;
}

/* Checks the layout once per process, on the thread that sees the first frames. Several threads may do it at once. */
static __attribute__((noinline)) bool check_first(struct python_frames *python,
						  uint64_t thread_state)
{
	const char *what;

	switch (python_check(&python->library, thread_state, &what)) {
	case 0:
		atomic_store_explicit(&python->checked, 1, memory_order_release);
		return true;
	case -EAGAIN:
		return false;
	default:
		if (atomic_exchange_explicit(&python->refusing, 1, memory_order_acq_rel))
			return false;
		snprintf(python->refused_text, TEXT_MAX, "%s: %s is not where it should be",
			 python->library.text, what);
		publish(python, python->refused_text, PYTHON_REFUSED);
		return false;
	}
}

struct walk {
	const struct python_layout *layout;
	struct python_frame *frames;
	uint32_t max, nr;
	uint32_t segment;         /* its first frame's index */
	uint32_t hidden;          /* frames that were left out */
	uint64_t incomplete_code; /* code of the segment's innermost incomplete frame; 0: none */
	int32_t incomplete_instruction;
};

static inline void store_frame(struct walk *walk, uint64_t code, int32_t instruction,
			       bool segment_end)
{
	walk->frames[walk->nr++] = (struct python_frame){
		.key = python_frame_key(walk->layout, python_code_is_numbered(walk->layout), code,
					instruction),
		.code = code,
		.instruction = (uint32_t)instruction,
		.segment_end = segment_end,
	};
}

/* Ends the segment at a frame that was not stored. Returns false if there is no room. */
static bool end_segment(struct walk *walk)
{
	if (walk->nr == walk->segment && walk->incomplete_code) {
		if (walk->nr == walk->max)
			return false;
		store_frame(walk, walk->incomplete_code, walk->incomplete_instruction, false);
		walk->frames[walk->nr - 1].incomplete = true;
	}
	if (walk->nr > walk->segment)
		walk->frames[walk->nr - 1].segment_end = true;
	walk->segment = walk->nr;
	walk->incomplete_code = 0;
	return true;
}

static inline bool ends_segment(const struct python_layout *layout, uint64_t frame)
{
	return layout->segment == PYTHON_SEGMENT_EVERY ||
	       (layout->segment == PYTHON_SEGMENT_ENTRY &&
		python_load_byte(frame + layout->segment_mark) != 0);
}

/* false: no room for this frame. */
static inline bool walk_frame(struct walk *walk, uint64_t frame)
{
	const struct python_layout *layout = walk->layout;

	if (python_frame_is_shim(layout, frame))
		return ++walk->hidden < HIDDEN_FRAMES_MAX && end_segment(walk);

	uint64_t code = python_frame_code(layout, frame);
	int32_t instruction = python_frame_instruction(layout, frame, code);
	bool segment_end = ends_segment(layout, frame);
	if (python_frame_is_incomplete(layout, frame, code, instruction)) {
		if (!walk->incomplete_code) {
			walk->incomplete_code = code;
			walk->incomplete_instruction = instruction;
		}
		return ++walk->hidden < HIDDEN_FRAMES_MAX && (!segment_end || end_segment(walk));
	}
	if (walk->nr == walk->max)
		return false;
	store_frame(walk, code, instruction, segment_end);
	if (segment_end) {
		walk->segment = walk->nr;
		walk->incomplete_code = 0;
	}
	return true;
}

/* Returns the calling thread's state; 0: none. A finalizing interpreter frees other threads' states while these threads
 * run. */
static uint64_t own_thread_state(struct python_frames *python)
{
	const struct python_library *library = &python->library;

	if (!library->is_initialized())
		return 0;
	uint64_t thread_state = (uint64_t)(uintptr_t)library->this_thread_state();
	if (thread_state && !atomic_load_explicit(&python->checked, memory_order_acquire) &&
	    !check_first(python, thread_state))
		return 0;
	return thread_state;
}

LAUNCH_PATH uint64_t python_frames_first(struct python_frames *python)
{
	const struct python_layout *layout = &python->library.layout;

	if (python_frames_state(python) != PYTHON_READY)
		return 0;
	uint64_t thread_state = own_thread_state(python);
	if (!thread_state)
		return 0;

	uint64_t frame = python_load(thread_state + layout->thread_frame);
	if (frame && layout->c_frame_frame != PYTHON_LAYOUT_NONE)
		frame = python_load(frame + layout->c_frame_frame);
	return frame;
}

uint32_t python_frames_walk(const struct python_frames *python, uint64_t first,
			    struct python_frame *frames, uint32_t max, bool *cut)
{
	const struct python_layout *layout = &python->library.layout;
	struct walk walk = {.layout = layout, .frames = frames, .max = max};

	*cut = false;
	for (uint64_t frame = first; frame; frame = python_load(frame + layout->frame_back)) {
		if (!walk_frame(&walk, frame)) {
			*cut = true;
			break;
		}
	}
	return walk.nr;
}

uint32_t python_frames_standing(struct python_frames *python, struct python_standing *remembered,
				const struct python_place *place, uint64_t *words, uint32_t max,
				bool *cut)
{
	*cut = false;
	if (python_frames_state(python) != PYTHON_READY || !python->library.is_initialized())
		return 0;
	return python_standing_walk(&python->library, &python->codes, remembered, place, words, max,
				    cut);
}

/* New interpreters are put before the others, and the main one was first. The walk follows neither pointer, because the
 * interpreter could be freed meanwhile. */
LAUNCH_PATH bool python_frames_ambiguous(const struct python_frames *python)
{
	const struct python_library *library = &python->library;

	if (python_frames_state(python) != PYTHON_READY || library->layout.minor > 11 ||
	    !library->interpreter_head || !library->interpreter_main)
		return false;
	return library->interpreter_head() != library->interpreter_main();
}

uint64_t python_frames_word(struct python_frames *python, struct python_texts **texts,
			    const struct python_frame *frame)
{
	return python_codes_word(&python->codes, &python->library, texts, frame->code,
				 (int32_t)frame->instruction);
}
