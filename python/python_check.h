/* The proof, once, that an interpreter's structures are what the layout says: follows its pointers
 * with reads that cannot fault. Any thread that has frames; a few system calls a frame. */
#ifndef PYTHON_CHECK_H
#define PYTHON_CHECK_H

#include <stdint.h>

#include "python_library.h"

#define PYTHON_CHECK_FRAMES 8u /* the innermost that are looked at */

/* thread_state: the calling thread's own.
 * Returns 0; -EAGAIN: it runs no Python function now, nothing could be checked; -EPROTO: something
 * else lies there, *what names it (static). */
int python_check(const struct python_library *library, uint64_t thread_state, const char **what);

#endif
