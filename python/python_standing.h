/* Reads the Python frames of another thread, which stands in a call of a known function. That thread may go on at any
 * time, so everything is read with system calls and none of it need be there; frames count only if the thread still
 * stands at the end. Takes no lock and allocates nothing but python_texts.h. Any thread may call it, with or without
 * Python's GIL. */
#ifndef PYTHON_STANDING_H
#define PYTHON_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "python_code.h"

struct python_texts;

/* Functions that a thread may be waiting in. */
struct python_place {
	const char *directory;        /* part of the file's path, from the begin of a name on */
	const char *const *functions; /* names without their modules; NULL ends them */
};

#define PYTHON_STANDING_WORDS 62u /* frames of which a thread remembers the words */

/* What one reading thread remembers, within 1 KiB. Zeroed for a new one; python_texts_unmap(&texts) ends it. */
struct python_standing {
	struct python_texts *texts;           /* owns; NULL: not needed so far */
	uint64_t keys[PYTHON_STANDING_WORDS]; /* of codes, by identity, and instructions; 0: none */
	uint64_t words[PYTHON_STANDING_WORDS];
};

/* Writes the stack words (stack_word.h) of the thread's frames, leaf first. The names of a frame are only read if the
 * words that are remembered lack it. *cut: there are more than max. Returns the number of words. 0: no thread stands
 * there, or several do, or there is no memory for texts. Also 0: another thread has, or may have, the function among
 * its frames (only 2,048 frames of others are read), or the thread went on. */
uint32_t python_standing_walk(const struct python_library *library, struct python_codes *codes,
			      struct python_standing *remembered, const struct python_place *place,
			      uint64_t *words, uint32_t max, bool *cut);

#endif
