/* The calling thread's Python frames, read from CPython's own structures: never the GIL, never an
 * allocation, and on the launch path no call into Python but PyGILState_GetThisThreadState(),
 * Py_IsInitialized() and the interpreter's PyInterpreterState_Head() and _Main(), which only read
 * a word each. */
#ifndef PYTHON_FRAMES_H
#define PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

struct python_frames;
struct record_ring;

enum python_state {
	PYTHON_NONE,  /* no interpreter in the process so far */
	PYTHON_READY, /* frames can be read */
	PYTHON_REFUSED, /* an interpreter whose frames cannot be read: why is said by python_frames_text() */
};

/* Code names go to the ring, which is borrowed until destroy. mmap, not malloc. NULL: out of
 * memory. The caller owns; destroy accepts NULL. */
struct python_frames *python_frames_create(struct record_ring *ring);
void python_frames_destroy(struct python_frames *python);

/* Looks for an interpreter, unless one was found. Takes the loader's lock, so never on the launch
 * path; one thread at a time. */
enum python_state python_frames_find(struct python_frames *python);

/* Any thread, no lock. The state may become PYTHON_REFUSED at the first frames that are seen
 * (the self-check). */
enum python_state python_frames_state(const struct python_frames *python);

/* "CPython 3.11.2", or why it is refused, for people; "" without one. Borrowed until destroy. */
const char *python_frames_text(const struct python_frames *python);

/* Where the evaluation loop's code lies; none (nr 0) where that could not be found out. Borrowed
 * until destroy; PYTHON_READY only. */
const struct unwind_stops *python_frames_stops(const struct python_frames *python);

struct python_frame {
	uint64_t key;  /* equal for equal code (by identity, not address alone) and instruction */
	uint64_t code; /* address of the code object */
	uint32_t instruction; /* which runs: bytes from the start of the bytecode, as int32_t */
	bool segment_end; /* outermost of those that one evaluation loop on the native stack runs */
	bool incomplete; /* not begun yet (the interpreter hides it): its loop has no other frame */
};

/* Stores the thread's frames, leaf first. *cut: there are more than max. Frames of the interpreter
 * itself are left out, and those that are not complete yet, unless a segment would be without any.
 * Returns their number; 0 also for a thread without Python, or a state other than PYTHON_READY. */
uint32_t python_frames_walk(struct python_frames *python, struct python_frame *frames, uint32_t max,
			    bool *cut);

/* The process has more than one interpreter and its version mixes up their threads (up to 3.11). */
bool python_frames_ambiguous(const struct python_frames *python);

/* The stack word (stack_word.h) of a frame that the same thread has walked just now, its names
 * copied into the ring if they are new; STACK_MARK_CODE_TABLE_FULL as a word: no room for them. */
uint64_t python_frames_word(struct python_frames *python, const struct python_frame *frame);

#endif
