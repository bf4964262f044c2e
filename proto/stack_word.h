/* The words of a stack's body between guest and agent, leaf first. A word is one of
 *	- a native frame: its return address, below 2^63 as every address of user space;
 *	- a Python frame: the code's id (record_ring_add_code) and the line that runs;
 *	- an open NVTX range: the id of a code whose file is the range's domain ("": the default domain) and whose
 *	  name is the range's;
 *	- lines of a model that compiled code works for, where no file tells them: the id of a code whose name they
 *	  are ("model.py:forward:12, model.py:loss:30") and whose file is empty;
 *	- a mark: why frames are missing here, or another remark for the reader;
 *	- an origin, always the outermost word: the stack was taken in a backward pass. It has the name of autograd's
 *	  node and another stack of the process, which explains it.
 * Plain data; any thread. */
#ifndef STACK_WORD_H
#define STACK_WORD_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_WORD_LINE_MAX 0xffffffu /* stands for all higher lines, too */

#define STACK_WORD_OTHER     (1ull << 63) /* not a native frame */
#define STACK_WORD_MARK      (1ull << 62) /* with STACK_WORD_OTHER: a mark, else Python */
#define STACK_WORD_RANGE     (1ull << 61) /* with STACK_WORD_MARK: an NVTX range */
#define STACK_WORD_ORIGIN    (1ull << 60) /* with STACK_WORD_MARK: an origin */
#define STACK_WORD_NEAR      (1ull << 59) /* with STACK_WORD_ORIGIN: a neighbour's forward stack */
#define STACK_WORD_LINES     (1ull << 58) /* with STACK_WORD_RANGE: not a range, but lines of a model */
#define STACK_WORD_LINE_BITS 24
#define STACK_WORD_NAME_BITS 26 /* of an origin's name, above its stack */

/* Numbers are part of the shared-memory format: append only. Each is shown as a frame of its own, by the name that
 * stack_word_mark_name() gives. */
enum stack_mark {
	/* native frames are missing from here to the next frame outwards, or to the root */
	STACK_MARK_MISSING = 1,
	STACK_MARK_TRUNCATED = 2, /* the depth cap: frames nearer to the root were left out */
	/* native and Python frames do not interleave; they stand side by side */
	STACK_MARK_MISMATCH = 3,
	/* Python frames may be another interpreter's (CPython up to 3.11) */
	STACK_MARK_SUBINTERPRETER = 4,
	STACK_MARK_CODE_TABLE_FULL = 5, /* a Python frame whose name found no room */
	/* in place of the whole stack: the process has more different stacks than RECORD_STACKS_MAX */
	STACK_MARK_STACK_TABLE_FULL = 6,
	STACK_MARKS,
};

static inline uint64_t stack_word_python(uint32_t code_id, uint32_t line)
{
	return STACK_WORD_OTHER | (uint64_t)code_id << STACK_WORD_LINE_BITS |
	       (line < STACK_WORD_LINE_MAX ? line : STACK_WORD_LINE_MAX);
}

static inline uint64_t stack_word_mark(enum stack_mark mark)
{
	return STACK_WORD_OTHER | STACK_WORD_MARK | (uint64_t)mark;
}

/* code_id 0: the range's name found no room; it is shown as "[NVTX]...". */
static inline uint64_t stack_word_range(uint32_t code_id)
{
	return STACK_WORD_OTHER | STACK_WORD_MARK | STACK_WORD_RANGE | code_id;
}

static inline uint64_t stack_word_lines(uint32_t code_id)
{
	return STACK_WORD_OTHER | STACK_WORD_MARK | STACK_WORD_RANGE | STACK_WORD_LINES | code_id;
}

/* name_id: the id of a code whose name is that of autograd's node and whose file is empty; 0: it has no name. stack_id:
 * the operation's forward stack, or that of the thread that called backward(); 0: neither is known. */
static inline uint64_t stack_word_origin(uint32_t name_id, uint32_t stack_id, bool near)
{
	return STACK_WORD_OTHER | STACK_WORD_MARK | STACK_WORD_ORIGIN |
	       (near ? STACK_WORD_NEAR : 0) | (uint64_t)name_id << 32 | stack_id;
}

static inline bool stack_word_is_native(uint64_t word)
{
	return !(word & STACK_WORD_OTHER);
}

static inline bool stack_word_is_mark(uint64_t word)
{
	return (word & STACK_WORD_OTHER) && (word & STACK_WORD_MARK) &&
	       !(word & (STACK_WORD_RANGE | STACK_WORD_ORIGIN));
}

static inline bool stack_word_is_range(uint64_t word)
{
	return (word & STACK_WORD_OTHER) && (word & STACK_WORD_MARK) && (word & STACK_WORD_RANGE) &&
	       !(word & STACK_WORD_LINES);
}

static inline bool stack_word_is_lines(uint64_t word)
{
	return (word & STACK_WORD_OTHER) && (word & STACK_WORD_MARK) && (word & STACK_WORD_RANGE) &&
	       (word & STACK_WORD_LINES);
}

/* Of a range or of lines. */
static inline uint32_t stack_word_range_code(uint64_t word)
{
	return (uint32_t)word;
}

static inline bool stack_word_is_origin(uint64_t word)
{
	return (word & STACK_WORD_OTHER) && (word & STACK_WORD_MARK) &&
	       !(word & STACK_WORD_RANGE) && (word & STACK_WORD_ORIGIN);
}

static inline uint32_t stack_word_origin_name(uint64_t word)
{
	return (uint32_t)(word >> 32) & ((1u << STACK_WORD_NAME_BITS) - 1);
}

static inline uint32_t stack_word_origin_stack(uint64_t word)
{
	return (uint32_t)word;
}

static inline bool stack_word_origin_is_near(uint64_t word)
{
	return word & STACK_WORD_NEAR;
}

static inline bool stack_word_is_python(uint64_t word)
{
	return (word & STACK_WORD_OTHER) && !(word & STACK_WORD_MARK);
}

static inline uint32_t stack_word_code_id(uint64_t word)
{
	return (uint32_t)(word >> STACK_WORD_LINE_BITS);
}

static inline uint32_t stack_word_line(uint64_t word)
{
	return (uint32_t)word & STACK_WORD_LINE_MAX;
}

/* The mark's number. A mark that this version does not know is STACK_MARK_MISSING. */
static inline enum stack_mark stack_word_mark_of(uint64_t word)
{
	uint64_t mark = word & ~(STACK_WORD_OTHER | STACK_WORD_MARK);

	return mark > 0 && mark < STACK_MARKS ? (enum stack_mark)mark : STACK_MARK_MISSING;
}

/* The frame that a reader sees. Static storage. */
static inline const char *stack_word_mark_name(enum stack_mark mark)
{
	switch (mark) {
	case STACK_MARK_TRUNCATED:
		return "[stack truncated]";
	case STACK_MARK_MISMATCH:
		return "[native and Python frames differ]";
	case STACK_MARK_SUBINTERPRETER:
		return "[subinterpreter]";
	case STACK_MARK_CODE_TABLE_FULL:
		return "[Python code table full]";
	case STACK_MARK_STACK_TABLE_FULL:
		return "[stack table full]";
	case STACK_MARK_MISSING:
	case STACK_MARKS:
	default:
		return "[frames missing]";
	}
}

#endif
