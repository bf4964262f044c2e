/* An interpreter with one thread that runs two functions, in the structures of any version, for who has loaded a
 * made_python library. Fails the program on any error. */
#ifndef MADE_INTERPRETER_H
#define MADE_INTERPRETER_H

#include <stdint.h>

#include "made_python.h"
#include "tests/python/fake_objects.h"

#define MADE_INTERPRETER_BYTES 8192u

struct made_interpreter {
	struct python_library library; /* the layout and the types are filled */
	made_python_loop *loop;
	void *file; /* owns; NULL: it was let go */
	uint64_t *runtime;
	uint32_t runtime_interpreters; /* offset in it */
	uint64_t interpreter[MADE_INTERPRETER_BYTES / sizeof(uint64_t)];
	struct fake_object thread, c_frame, frames[3]; /* leaf, root, and the interpreter's own */
	struct fake_code leaf, root;
};

/* path: of the library. threads, frames: the minor versions whose lists of threads, and whose frames and codes, it has;
 * frames 0: those of threads, but what should be code is none. Nothing is seen yet. */
void made_interpreter_create(struct made_interpreter *made, const char *path, unsigned threads,
			     unsigned frames);

void made_interpreter_destroy(struct made_interpreter *made); /* more than once, too */

/* The calling thread is its only one. */
void made_interpreter_start(struct made_interpreter *made);
void made_interpreter_stop(struct made_interpreter *made);

/* Its only thread is nobody's, and the list of threads has no end; and it is the calling thread's again. */
void made_interpreter_hide(struct made_interpreter *made);
void made_interpreter_show(struct made_interpreter *made);

/* Runs work in as many loops as the two functions have: one each up to 3.10, else one. */
void made_interpreter_run(const struct made_interpreter *made, made_python_work *work,
			  void *context);

#endif
