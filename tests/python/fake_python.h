/* What a library that looks like CPython is told by a test: see fake_python.c. Set and read by one
 * thread. */
#ifndef FAKE_PYTHON_H
#define FAKE_PYTHON_H

struct fake_python {
	const char *version; /* as Py_GetVersion() gives it */
	int initialized;
	void *thread_state; /* of every thread */
	void *interpreter_head, *interpreter_main;
};

/* Resolved by dlsym. Borrowed, static. */
typedef struct fake_python *fake_python_settings(void);

#endif
