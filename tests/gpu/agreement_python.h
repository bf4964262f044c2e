/* The frames of a thread as its own interpreter gives them, by the C API that sys._getframe() stands on. For
 * stack_agreement.c. Any thread; the calling thread's frames. */
#ifndef AGREEMENT_PYTHON_H
#define AGREEMENT_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

/* Called for each frame, leaf first. file and name are the code's co_filename and co_qualname, in UTF-8 and borrowed for
 * the call; NULL: they are not to be had so. */
typedef void agreement_python_frame_fn(void *user, const char *file, const char *name, int line);

/* Looks for the functions of an interpreter of 3.11 or newer in the process. Returns whether they are there. */
bool agreement_python_find(void);

/* Takes the GIL if the calling thread has run Python, and returns what agreement_python_leave() gives back; -1: it has
 * not. Only after agreement_python_find() returned true. */
int agreement_python_enter(void);
void agreement_python_leave(int state);

/* Calls `each` for all frames. Between enter and leave. Returns their number. */
uint32_t agreement_python_frames(agreement_python_frame_fn *each, void *user);

#endif
