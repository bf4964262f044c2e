/* Where each minor version of CPython keeps the fields that a walk of frames needs. Plain data and one table. All
 * offsets are in bytes. Any thread. */
#ifndef PYTHON_LAYOUT_H
#define PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a frame names the instruction that runs. */
enum python_instruction {
	PYTHON_INSTRUCTION_BYTES,   /* int, bytes from the start of the bytecode */
	PYTHON_INSTRUCTION_UNITS,   /* int, units of two bytes */
	PYTHON_INSTRUCTION_POINTER, /* its address */
};

/* Which frame is the outermost that one evaluation loop on the native stack runs. */
enum python_segment {
	PYTHON_SEGMENT_EVERY, /* every frame: one loop a frame */
	PYTHON_SEGMENT_ENTRY, /* one whose byte at segment_mark is 1 */
	PYTHON_SEGMENT_SHIM, /* one before a frame whose byte at segment_mark is shim_owner or more */
};

enum python_line_format {
	PYTHON_LINE_LNOTAB,    /* up to 3.9 */
	PYTHON_LINE_PAIRS,     /* 3.10 */
	PYTHON_LINE_LOCATIONS, /* from 3.11 */
};

#define PYTHON_LAYOUT_NONE        0xffffu /* for an offset: there is no such field */
#define PYTHON_LAYOUT_OFFSET_MAX  1024u   /* every field that is read lies below ... */
#define PYTHON_LAYOUT_THREADS_MAX 0x8000u /* ... but an interpreter's list of threads */

#define PYTHON_OBJECT_TYPE     8u  /* of every object */
#define PYTHON_OBJECT_SIZE     16u /* items of a bytes object, code points of a string */
#define PYTHON_STRING_HASH     24u /* -1: not computed yet */
#define PYTHON_STRING_STATE    32u
#define PYTHON_STRING_HEAD     40u /* bytes up to the state, and it: data begins behind them */
#define PYTHON_BYTES_DATA      32u
#define PYTHON_STRING_KIND(s)  ((s) >> 2 & 7u) /* bytes of a code point */
#define PYTHON_STRING_INTERNED 3u
#define PYTHON_STRING_COMPACT  (1u << 5)
#define PYTHON_STRING_ASCII    (1u << 6)
#define PYTHON_STRING_SHAPE    (7u << 2 | PYTHON_STRING_COMPACT | PYTHON_STRING_ASCII)
#define PYTHON_OWNER_GENERATOR 1u

struct python_layout {
	uint16_t minor;
	uint16_t thread_frame;  /* in the thread state: the innermost frame, or the C frame */
	uint16_t c_frame_frame; /* in the C frame: the innermost frame; NONE: no C frame */

	uint16_t frame_code, frame_back, frame_instruction;
	uint16_t frame_owner;  /* NONE: frames have no owner */
	uint16_t segment_mark; /* NONE with PYTHON_SEGMENT_EVERY */
	uint8_t segment, instruction, line_format;
	uint8_t shim_owner;
	uint64_t code_mask; /* of the frame's pointer to its code: the rest are tag bits */

	uint16_t code_first_line, code_file, code_name, code_lines;
	uint16_t code_qualified_name;  /* code_name where there is none */
	uint16_t code_bytecode;        /* NONE: the instruction is no pointer */
	uint16_t code_first_traceable; /* int, units; NONE: frames are complete from the start */
	uint16_t code_version;         /* a number of its own for each code; NONE */

	uint16_t string_ascii, string_other; /* data of compact strings */

	/* The list of all thread states. */
	uint16_t runtime_interpreters; /* in _PyRuntime: the first interpreter */
	uint16_t interpreter_next, interpreter_threads;
	uint16_t thread_prev, thread_next, thread_interpreter;
	uint16_t thread_id; /* what pthread_self() gives */
};

/* The result is static. NULL: the minor version is not known. */
const struct python_layout *python_layout_of(unsigned minor);

/* Size of the table of offsets with which _PyRuntime of 3.13 and later begins. */
#define PYTHON_DEBUG_OFFSETS_BYTES 760u

enum python_offsets {
	PYTHON_OFFSETS_TAKEN,
	PYTHON_OFFSETS_ABSENT,        /* a version without them: nothing to take */
	PYTHON_OFFSETS_OTHER,         /* not this version's, or they make no sense */
	PYTHON_OFFSETS_FREE_THREADED, /* a build without the GIL */
};

/* Replaces the layout's offsets by those that the running interpreter tells. words: the first
 * PYTHON_DEBUG_OFFSETS_BYTES of _PyRuntime. PYTHON_OFFSETS_TAKEN alone changes the layout. */
enum python_offsets python_layout_take_offsets(struct python_layout *layout, const uint64_t *words);

#endif
