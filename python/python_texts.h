/* Room for the texts of one code at a time. A launching thread may have a tiny stack, so each such thread has this room
 * in mapped memory, once it needs it. One thread. */
#ifndef PYTHON_TEXTS_H
#define PYTHON_TEXTS_H

#include <stdint.h>

#include "python_string.h"

#define PYTHON_TEXTS_COPY  4096u  /* bytes of a string object */
#define PYTHON_TEXTS_LINES 16384u /* bytes of a table of lines */

struct python_texts {
	struct python_text file, name;
	/* copies of what another thread owns */
	uint8_t file_copy[PYTHON_TEXTS_COPY], name_copy[PYTHON_TEXTS_COPY];
	uint8_t lines[PYTHON_TEXTS_LINES];
};

/* Returns the thread's room, which the first call maps; *texts is NULL before. The caller owns it. NULL: no memory, and
 * a later call tries again. Keeps errno. */
struct python_texts *python_texts_own(struct python_texts **texts);

/* Unmaps it; *texts is NULL afterwards. Accepts NULL there. */
void python_texts_unmap(struct python_texts **texts);

#endif
