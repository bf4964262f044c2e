/* The process's CPython: its symbols and its layout, or why its frames cannot be read. */
#ifndef PYTHON_LIBRARY_H
#define PYTHON_LIBRARY_H

#include <stdint.h>

#include "python_layout.h"

#define PYTHON_LIBRARY_TEXT_MAX 128u

struct python_library {
	const char *(*get_version)(void);
	int (*is_initialized)(void);
	void *(*this_thread_state)(void);
	void *(*interpreter_head)(void);
	void *(*interpreter_main)(void);
	uint64_t code_type, string_type, bytes_type; /* addresses of the types */
	uint64_t eval_frame; /* address of the evaluation loop; 0: not exported */
	uint64_t runtime;    /* address of _PyRuntime; 0: not exported */
	struct python_layout layout;
	char text[PYTHON_LIBRARY_TEXT_MAX]; /* "CPython 3.11.2", with the reason if refused */
};

/* Looks among the process's symbols, then in a libpython that was loaded privately. Takes the loader's lock. Of Python
 * it calls Py_GetVersion() alone, which needs no GIL.
 * Returns 0; -ENOENT: there is no interpreter; -ENOTSUP: its frames cannot be read, and library->text says why. */
int python_library_find(struct python_library *library);

/* Returns the minor version in the text that Py_GetVersion() gives, "3.11.2 (main, …"; -1: it is not Python 3. text
 * gets the name and version: "CPython 3.11.2". */
int python_library_version(const char *version, char text[PYTHON_LIBRARY_TEXT_MAX]);

#endif
