/* Tells a program's functions, which people can change, from other frames. Pure; any thread. */
#ifndef CAUSE_FUNCTION_H
#define CAUSE_FUNCTION_H

#include <stdbool.h>

/* Returns whether a name is a function of the program. The kernel's own frames, CUDA's calls, words in brackets, and
 * code without a name are not. A C function whose name contains the reason of the wait (poll, __poll, futex_wait) says
 * no more than the reason, and does not count. what: the reason, or "". */
bool cause_function_is(const char *name, const char *what);

/* Returns whether a name is a Python function's, "train.py:step": C++ names have two colons. */
bool cause_function_is_python(const char *name);

/* Returns whether a Python function is one of the standard library's that wait on behalf of their callers. */
bool cause_function_waits(const char *name);

#endif
