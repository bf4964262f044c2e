/* A library that looks like CPython 3.12 to the guest, with a thread state of its own for each thread. */
#ifndef COLD_PYTHON_H
#define COLD_PYTHON_H

struct cold_path;

extern char PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];

/* NULL, the default: the calling thread has no Python. Borrowed until it is replaced. */
void cold_python_set_state(void *thread_state);

/* The evaluation loop: calls the path's next frame. */
void _PyEval_EvalFrameDefault(struct cold_path *path);

#endif
