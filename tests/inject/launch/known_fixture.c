#include "known_fixture.h"

#include "tests/support/cmocka_test.h"

#include <alloca.h>
#include <stdlib.h>

#include "tests/bench/cold/cold_frames.h"
#include "tests/bench/cold/cold_python.h"
#include "unwind/unwind_table.h"

#define KEEP()   __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline))

int known_fixture_set_up(void **state)
{
	struct known_fixture *fixture = calloc(1, sizeof(*fixture));

	test_ring_init_sizes(&fixture->ring, &RECORD_RING_SIZES_DEFAULT);
	fixture->recognises = (struct stack_capture){
		.ring = fixture->ring.guest,
		.stacks = stack_table_create(fixture->ring.guest),
		.tables = unwind_tables_create(UNWIND_BYTES_MAX),
		.python = python_frames_create(fixture->ring.guest),
		.options = STACK_OPTIONS_DEFAULT,
	};
	fixture->writer = DEFINITION_WRITER_INIT(fixture->ring.guest);
	fixture->watch = module_watch_create(&fixture->writer, fixture->recognises.tables);
	module_watch_poll(fixture->watch, false);
	unwind_tables_build(fixture->recognises.tables, UNWIND_BUILD_ALL);
	assert_int_equal(python_frames_find(fixture->recognises.python), PYTHON_READY);
	fixture->walks = fixture->recognises;
	fixture->walks.walks_always = true;
	*state = fixture;
	return 0;
}

int known_fixture_tear_down(void **state)
{
	struct known_fixture *fixture = *state;

	module_watch_destroy(fixture->watch);
	python_frames_destroy(fixture->recognises.python);
	unwind_tables_destroy(fixture->recognises.tables);
	stack_table_destroy(fixture->recognises.stacks);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

struct captor *captor_create(struct known_fixture *fixture, uint32_t number)
{
	struct captor *captor = calloc(1, sizeof(*captor));

	captor->fixture = fixture;
	captor->random = 88172645463325252u + number;
	captor->nr_sizes = 3;
	captor->library = (struct python_library){
		.layout = *python_layout_of(12),
		.code_type = (uint64_t)(uintptr_t)PyCode_Type,
		.string_type = (uint64_t)(uintptr_t)PyUnicode_Type,
		.bytes_type = (uint64_t)(uintptr_t)PyBytes_Type,
	};
	for (uint32_t i = 0; i < KNOWN_FIXTURE_CODES; i++)
		fake_code_fill(&captor->codes[i], &captor->library, "model.py", "step", 10 + i);
	return captor;
}

void captor_destroy(struct captor *captor)
{
	known_stacks_fini(&captor->known.known);
	known_stacks_fini(&captor->walk.known);
	free(captor);
}

uint32_t captor_below(struct captor *captor, uint32_t limit)
{
	captor->random ^= captor->random << 13;
	captor->random ^= captor->random >> 7;
	captor->random ^= captor->random << 17;
	return (uint32_t)(captor->random >> 32) % limit;
}

NOINLINE uint32_t captor_look(struct captor *captor)
{
	uint32_t ids[2];

	for (volatile int i = 0; i < 2; i++)
		ids[i] = stack_capture_take(i ? &captor->fixture->recognises
					      : &captor->fixture->walks,
					    i ? &captor->known : &captor->walk, 1);
	captor->differ += ids[0] != ids[1];
	captor->captures++;
	return ids[1];
}

/* ---- stacks of many shapes */

static NOINLINE void plain(struct captor *captor, uint32_t depth)
{
	if (captor_below(captor, 2)) {
		captor_descend(captor, depth);
		KEEP();
	} else {
		captor_descend(captor, depth);
		KEEP();
		captor_look(captor);
	}
	KEEP();
}

NOINLINE void captor_descend_sized(struct captor *captor, uint32_t depth)
{
	volatile char *space = alloca(16 + 16 * captor_below(captor, captor->nr_sizes));

	space[0] = 1;
	captor_descend(captor, depth);
	KEEP();
}

static NOINLINE void aligned(struct captor *captor, uint32_t depth)
{
	_Alignas(64) volatile char space[64];

	__asm__ volatile("" ::"r"(space) : "memory");
	captor_descend(captor, depth);
	KEEP();
}

NOINLINE void captor_descend(struct captor *captor, uint32_t depth)
{
	if (depth == 0)
		captor_look(captor);
	else if (captor_below(captor, 6) == 0)
		captor_descend_sized(captor, depth - 1);
	else if (captor_below(captor, 6) == 0)
		aligned(captor, depth - 1);
	else
		plain(captor, depth - 1);
	KEEP();
}

static void descend_here(struct cold_path *path)
{
	captor_descend(path->user, path->at);
	KEEP();
}

NOINLINE void captor_enter_python(struct captor *captor, uint32_t depth)
{
	static cold_frame *const frames[KNOWN_FIXTURE_DEPTH + 1] = {
		descend_here, descend_here, descend_here, descend_here, descend_here,
		descend_here, descend_here, descend_here, descend_here, descend_here,
		descend_here, descend_here, descend_here};
	const struct python_layout *layout = &captor->library.layout;
	struct cold_path path = {.frames = frames, .user = captor, .at = depth};
	uint32_t nr = 1 + captor_below(captor, KNOWN_FIXTURE_PYTHON);

	if (captor_below(captor, 16) == 0)
		fake_object_put32(&captor->codes[captor_below(captor, KNOWN_FIXTURE_CODES)].code,
				  layout->code_version, 1 + captor_below(captor, 4));
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t code = fake_object_address(
			&captor->codes[captor_below(captor, KNOWN_FIXTURE_CODES)].code);
		struct fake_object *frame = &captor->frames[i];

		fake_object_put64(frame, layout->frame_code, code);
		fake_object_put64(frame, layout->frame_instruction,
				  code + layout->code_bytecode + 2 * captor_below(captor, 2));
		fake_object_put64(frame, layout->frame_back, fake_object_address(frame + 1));
		fake_object_put8(frame, layout->frame_owner, 0);
	}
	fake_object_put8(&captor->frames[nr], layout->frame_owner, layout->shim_owner);
	fake_object_put64(&captor->frames[nr], layout->frame_back, 0);
	fake_object_put64(&captor->c_frame, layout->c_frame_frame,
			  fake_object_address(&captor->frames[0]));
	fake_object_put64(&captor->thread_state, layout->thread_frame,
			  fake_object_address(&captor->c_frame));
	cold_python_set_state(&captor->thread_state);
	_PyEval_EvalFrameDefault(&path);
	cold_python_set_state(NULL);
}
