#include "python_frames.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "python_check.h"
#include "python_code.h"
#include "python_eval.h"
#include "python_library.h"
#include "python_string.h"

#include "unwind/process_memory.h"

#define TEXT_MAX          256u
#define OTHER_THREADS_MAX 1024u
#define FRAME_BYTES       256u  /* that a walk reads of a frame */
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
	struct python_frames *python = mmap(NULL, sizeof(*python), PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (python == MAP_FAILED)
		return NULL;
	python->codes.ring = ring;
	return python;
}

void python_frames_destroy(struct python_frames *python)
{
	if (python)
		munmap(python, sizeof(*python));
}

enum python_state python_frames_state(const struct python_frames *python)
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

static inline uint8_t load_byte(uint64_t address)
{
	return *(const uint8_t *)(uintptr_t)address;
}

static inline int32_t load_int(uint64_t address)
{
	int32_t value;

	memcpy(&value, (const void *)(uintptr_t)address, sizeof(value));
	return value;
}

static inline int32_t load_instruction(const struct python_layout *layout, uint64_t frame,
				       uint64_t code)
{
	switch ((enum python_instruction)layout->instruction) {
	case PYTHON_INSTRUCTION_BYTES:
		return load_int(frame + layout->frame_instruction);
	case PYTHON_INSTRUCTION_UNITS:
		return 2 * load_int(frame + layout->frame_instruction);
	case PYTHON_INSTRUCTION_POINTER:
	default:
		return (int32_t)(python_load(frame + layout->frame_instruction) -
				 (code + layout->code_bytecode));
	}
}

/* Judges as the interpreter itself does (_PyFrame_IsIncomplete in pycore_frame.h). A generator's frame is always
 * complete. Another frame is complete once it has come to the first traceable instruction. */
static inline bool is_incomplete(const struct python_layout *layout, uint64_t frame, uint64_t code,
				 int32_t instruction)
{
	return layout->code_first_traceable != PYTHON_LAYOUT_NONE &&
	       load_byte(frame + layout->frame_owner) != PYTHON_OWNER_GENERATOR &&
	       instruction < 2 * load_int(code + layout->code_first_traceable);
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
		.key = python_mix(python_code_identity(walk->layout, code) ^ PYTHON_MIX_B,
				  (uint32_t)instruction ^ PYTHON_MIX_C),
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
		load_byte(frame + layout->segment_mark) != 0);
}

/* false: no room for this frame. */
static inline bool walk_frame(struct walk *walk, uint64_t frame)
{
	const struct python_layout *layout = walk->layout;

	if (layout->segment == PYTHON_SEGMENT_SHIM &&
	    load_byte(frame + layout->segment_mark) >= layout->shim_owner)
		return ++walk->hidden < HIDDEN_FRAMES_MAX && end_segment(walk);

	uint64_t code = python_load(frame + layout->frame_code) & layout->code_mask;
	int32_t instruction = load_instruction(layout, frame, code);
	bool segment_end = ends_segment(layout, frame);
	if (is_incomplete(layout, frame, code, instruction)) {
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

uint32_t python_frames_walk(struct python_frames *python, struct python_frame *frames, uint32_t max,
			    bool *cut)
{
	const struct python_layout *layout = &python->library.layout;
	struct walk walk = {.layout = layout, .frames = frames, .max = max};

	*cut = false;
	if (python_frames_state(python) != PYTHON_READY)
		return 0;
	uint64_t thread_state = own_thread_state(python);
	if (!thread_state)
		return 0;

	uint64_t frame = python_load(thread_state + layout->thread_frame);
	if (frame && layout->c_frame_frame != PYTHON_LAYOUT_NONE)
		frame = python_load(frame + layout->c_frame_frame);
	for (; frame; frame = python_load(frame + layout->frame_back)) {
		if (!walk_frame(&walk, frame)) {
			*cut = true;
			break;
		}
	}
	return walk.nr;
}

/* ---- another thread */

static uint64_t read_word(uint64_t address)
{
	uint64_t word;

	return process_memory_read(address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

static uint64_t innermost_frame(const struct python_layout *layout, uint64_t thread_state)
{
	uint64_t frame = read_word(thread_state + layout->thread_frame);

	return frame && layout->c_frame_frame != PYTHON_LAYOUT_NONE
		       ? read_word(frame + layout->c_frame_frame)
		       : frame;
}

static bool is_code(const struct python_library *library, uint64_t code)
{
	return code && read_word(code + PYTHON_OBJECT_TYPE) == library->code_type;
}

/* Returns whether the frame's file has this part in its path. */
static __attribute__((noinline)) bool is_in_file(const struct python_library *library,
						 uint64_t frame, const char *part)
{
	const struct python_layout *layout = &library->layout;
	uint64_t code = frame ? read_word(frame + layout->frame_code) & layout->code_mask : 0;
	struct python_text file;

	if (!is_code(library, code))
		return false;
	uint64_t name = read_word(code + layout->code_file);
	if (!name || read_word(name + PYTHON_OBJECT_TYPE) != library->string_type)
		return false;
	python_string_read(layout, name, &file);
	return memmem(file.text, file.size, part, strlen(part)) != NULL;
}

/* Returns the innermost frame of the one other thread that stands in such a file; 0: there are none or several. */
static uint64_t find_standing(const struct python_library *library, const char *part)
{
	const struct python_layout *layout = &library->layout;
	uint64_t interpreter =
		library->runtime ? read_word(library->runtime + layout->runtime_interpreters) : 0;
	uint64_t thread = interpreter ? read_word(interpreter + layout->interpreter_threads) : 0;
	uint64_t own = (uint64_t)(uintptr_t)library->this_thread_state(), found = 0;

	for (uint32_t i = 0; thread && i < OTHER_THREADS_MAX; i++) {
		uint64_t frame = innermost_frame(layout, thread);

		if (thread != own && is_in_file(library, frame, part)) {
			if (found)
				return 0;
			found = frame;
		}
		thread = read_word(thread + layout->thread_next);
	}
	return thread ? 0 : found;
}

uint32_t python_frames_walk_other(struct python_frames *python, const char *part,
				  struct python_frame *frames, uint32_t max, bool *cut)
{
	const struct python_library *library = &python->library;
	const struct python_layout *layout = &library->layout;
	struct walk walk = {.layout = layout, .frames = frames, .max = max};
	uint8_t copy[PYTHON_LAYOUT_OFFSET_MAX + sizeof(uint64_t)];
	uint64_t here = (uint64_t)(uintptr_t)copy, frame;

	*cut = false;
	if (python_frames_state(python) != PYTHON_READY || !library->is_initialized())
		return 0;
	for (frame = find_standing(library, part); frame;
	     frame = python_load(here + layout->frame_back)) {
		memset(copy, 0, sizeof(copy));
		process_memory_read(frame, copy, FRAME_BYTES);
		bool hidden = layout->segment == PYTHON_SEGMENT_SHIM &&
			      load_byte(here + layout->segment_mark) >= layout->shim_owner;
		if (!hidden &&
		    !is_code(library, python_load(here + layout->frame_code) & layout->code_mask))
			return 0;
		if (!walk_frame(&walk, here)) {
			*cut = true;
			break;
		}
	}
	return walk.nr;
}

/* New interpreters are put before the others, and the main one was first. The walk follows neither pointer, because the
 * interpreter could be freed meanwhile. */
bool python_frames_ambiguous(const struct python_frames *python)
{
	const struct python_library *library = &python->library;

	if (python_frames_state(python) != PYTHON_READY || library->layout.minor > 11 ||
	    !library->interpreter_head || !library->interpreter_main)
		return false;
	return library->interpreter_head() != library->interpreter_main();
}

uint64_t python_frames_word(struct python_frames *python, const struct python_frame *frame)
{
	return python_codes_word(&python->codes, &python->library, frame->code,
				 (int32_t)frame->instruction);
}
