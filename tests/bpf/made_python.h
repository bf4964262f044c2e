/* A library that looks like CPython's to whoever reads files and memory: made_python.c. The structures are put up by
 * who loads it. */
#ifndef MADE_PYTHON_H
#define MADE_PYTHON_H

#include <stdint.h>

#define MADE_RUNTIME_BYTES 4096u
#define MADE_TYPE_BYTES    64u

/* Names as CPython's; resolved by dlsym. */
typedef void made_python_work(void *context);
typedef void made_python_loop(made_python_work *work, void *context); /* _PyEval_EvalFrameDefault */

#endif
