/* Reads the calling thread's Python frames from CPython's own structures. Never takes the GIL, and allocates only
 * python_texts.h. On the launch path it calls four functions of Python, each of which only reads a word:
 * PyGILState_GetThisThreadState(), Py_IsInitialized(), PyInterpreterState_Head() and PyInterpreterState_Main(). */
#ifndef PYTHON_FRAMES_H
#define PYTHON_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "python_standing.h"

#include "unwind/unwind.h"

struct python_frames;
struct record_ring;

enum python_state {
	PYTHON_NONE,  /* no interpreter in the process so far */
	PYTHON_READY, /* frames can be read */
	PYTHON_REFUSED, /* an interpreter whose frames cannot be read; python_frames_text() says why */
};

/* Code names go to the ring, which is borrowed until python_frames_destroy(). Memory comes from mmap(), not malloc().
 * The caller owns the result. NULL: out of memory. python_frames_destroy() accepts NULL. */
struct python_frames *python_frames_create(struct record_ring *ring);
void python_frames_destroy(struct python_frames *python);

/* Looks for an interpreter, unless one was found before. It takes the loader's lock: never call it on the launch path.
 * One thread at a time. */
enum python_state python_frames_find(struct python_frames *python);

/* Any thread; takes no lock. The state becomes PYTHON_REFUSED if the first frames that are seen fail the check
 * (python_check.h). */
enum python_state python_frames_state(const struct python_frames *python);

/* Text for people: "CPython 3.11.2", or why the interpreter is refused; "" if there is none. Borrowed until
 * python_frames_destroy(). */
const char *python_frames_text(const struct python_frames *python);

/* Where the interpreter keeps its fields. Only in the state PYTHON_READY. Borrowed until python_frames_destroy(). */
const struct python_layout *python_frames_layout(const struct python_frames *python);

/* Where the evaluation loop's code lies; nr is 0 if it was not found. Only in the state PYTHON_READY. Borrowed until
 * python_frames_destroy(). */
const struct unwind_stops *python_frames_stops(const struct python_frames *python);

struct python_frame {
	uint64_t key;  /* equal for equal code (by identity, not address alone) and instruction */
	uint64_t code; /* address of the code object */
	uint32_t instruction; /* which runs: bytes from the start of the bytecode, as int32_t */
	bool segment_end; /* the outermost frame that one evaluation loop on the native stack runs */
	bool incomplete; /* it has not begun, so the interpreter hides it; its loop has no other frame */
};

/* Returns the address of the calling thread's innermost frame. 0: the thread has no Python, or the state is another one
 * than PYTHON_READY. */
uint64_t python_frames_first(struct python_frames *python);

/* Stores the frames from the thread's first one outwards. *cut: there are more than max. Leaves out frames of the
 * interpreter itself. Leaves out frames that have not begun, unless their loop has no other. Returns the number of
 * frames; 0 if first is 0. */
uint32_t python_frames_walk(const struct python_frames *python, uint64_t first,
			    struct python_frame *frames, uint32_t max, bool *cut);

/* Writes the stack words of the one other thread that stands in a call of such a function (python_standing.h), leaf
 * first. remembered: of the calling thread. Returns their number; 0 also in a state other than PYTHON_READY, and for an
 * interpreter whose threads cannot be listed. */
uint32_t python_frames_standing(struct python_frames *python, struct python_standing *remembered,
				const struct python_place *place, uint64_t *words, uint32_t max,
				bool *cut);

/* Returns whether the process has several interpreters of a version that mixes up their threads (up to 3.11). */
bool python_frames_ambiguous(const struct python_frames *python);

/* Returns the stack word (stack_word.h) of a frame that the same thread has just walked. Copies names that are new into
 * the ring. texts: of the calling thread (python_texts.h). If there is no room for names, returns
 * STACK_MARK_CODE_TABLE_FULL as a word. */
uint64_t python_frames_word(struct python_frames *python, struct python_texts **texts,
			    const struct python_frame *frame);

#endif
