/* Makes captors: each makes stacks of many shapes, and captures each stack in two ways, by a walk and as one that may
 * be recognised. */
#ifndef KNOWN_FIXTURE_H
#define KNOWN_FIXTURE_H

#include <stdint.h>

#include "inject/base/definition_writer.h"
#include "inject/launch/known_stacks.h"
#include "inject/launch/stack_capture.h"
#include "inject/module_watch.h"
#include "tests/inject/test_ring.h"
#include "tests/python/fake_objects.h"

#define KNOWN_FIXTURE_DEPTH  12u /* of captor_enter_python(), at most */
#define KNOWN_FIXTURE_CODES  6u
#define KNOWN_FIXTURE_PYTHON 5u /* Python frames of a stack, at most */

struct known_fixture {
	struct test_ring ring;
	struct definition_writer writer;
	struct module_watch *watch;
	struct stack_capture walks, recognises;
};

/* Used by one thread. */
struct captor {
	struct known_fixture *fixture;
	struct stack_scratch walk, known;
	uint64_t random;
	uint32_t captures, differ, nr_sizes;
	struct python_library library;
	struct fake_code codes[KNOWN_FIXTURE_CODES];
	struct fake_object thread_state, c_frame, frames[KNOWN_FIXTURE_PYTHON + 1];
};

int known_fixture_set_up(void **state);
int known_fixture_tear_down(void **state);

/* Captors of other numbers make other stacks. */
struct captor *captor_create(struct known_fixture *fixture, uint32_t number);
void captor_destroy(struct captor *captor);

/* Returns a random number below the limit, which is not 0. */
uint32_t captor_below(struct captor *captor, uint32_t limit);

/* Captures this stack. Returns the id. Both captures come from one place. */
uint32_t captor_look(struct captor *captor);

/* Captures a random stack, of so many more frames. */
void captor_descend(struct captor *captor, uint32_t depth);

/* The same below a frame that has one of nr_sizes sizes. */
void captor_descend_sized(struct captor *captor, uint32_t depth);

/* Makes Python frames of a random stack, which sometimes has new code at an old address, and enters the loop, which
 * descends. */
void captor_enter_python(struct captor *captor, uint32_t depth);

#endif
