/* Checks once that an interpreter's structures are those that the layout describes. Follows its pointers with reads
 * that cannot fault, which take a few system calls a frame. Any thread that has frames. */
#ifndef PYTHON_CHECK_H
#define PYTHON_CHECK_H

#include <stdint.h>

#include "python_library.h"

#define PYTHON_CHECK_FRAMES 8u /* the innermost frames, which are checked */

/* thread_state: the calling thread's own.
 * Returns 0; -EAGAIN: the thread runs no Python function now, so nothing was checked; -EPROTO: the structures are
 * others, and *what (static) names the first that differs. */
int python_check(const struct python_library *library, uint64_t thread_state, const char **what);

#endif
