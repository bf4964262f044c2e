/* A python_process of the test's own process, in which an interpreter is made that only looks like CPython's. Fails the
 * running test on any error. */
#ifndef PYTHON_FIXTURE_H
#define PYTHON_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "made_interpreter.h"
#include "node-agent/symbols/module_table.h"
#include "node-agent/kernel/python_process.h"
#include "node-agent/guests/ring_source.h"

struct python_fixture {
	struct ring_outputs outputs;
	struct python_scope scope;
	struct module_table *modules;  /* owns */
	struct python_process *python; /* owns */
	struct sample_python where;
	struct made_interpreter made;
	struct python_process_frames frames; /* what was read last */
};

/* Where the made libraries are; borrowed. To be called before the first test. */
void python_fixture_folder(const char *path);

/* An interpreter of this minor version in the library whose name says that it is of version named. It is not started,
 * and the modules of this process were read again. The caller owns it. */
struct python_fixture *python_fixture_create(unsigned named, unsigned minor);

/* The same with a name that fits; its interpreter was started and found. */
struct python_fixture *python_fixture_create_ready(unsigned minor);
void python_fixture_destroy(struct python_fixture *fixture);

/* The last notice since the last fixture was created; "": there was none. */
const char *python_fixture_notice(void);

/* A frame of this code as the kernel's half reads it; high: the bits above the code's address. */
struct sample_python_frame python_fixture_raw_frame(const struct python_fixture *fixture,
						    const struct fake_code *code, unsigned high);

/* Reads nr frames into fixture->frames. Returns whether the process was refused by it. */
bool python_fixture_read(struct python_fixture *fixture, const struct sample_python_frame *raw,
			 uint32_t nr);

/* Asserts that the frame of this index was read, is Python's, and has this name. */
void python_fixture_check_name(const struct python_fixture *fixture, uint32_t index,
			       const char *name);

#endif
