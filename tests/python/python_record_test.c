/* A record of Python frames holds where a walk would read the same, and nowhere else. */
#include "python/python_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_objects.h"
#include "python/python_frame.h"

#define FRAMES 5u
#define CODES  2u
#define OLDEST 8u
#define NEWEST 14u

/* The thread's frames, leaf first. The fourth one is the interpreter's own, where the version has such frames. */
struct stack {
	struct python_library library;
	struct fake_code codes[CODES];
	struct fake_object frames[FRAMES];
	struct python_read reads[FRAMES];
};

static uint64_t first_of(struct stack *stack)
{
	return fake_object_address(&stack->frames[0]);
}

static void link_frames(struct stack *stack, struct fake_object *frames)
{
	for (uint32_t i = 0; i < FRAMES; i++)
		fake_object_put64(&frames[i], stack->library.layout.frame_back,
				  i + 1 < FRAMES ? fake_object_address(&frames[i + 1]) : 0);
}

static struct stack *stack_create(unsigned minor)
{
	struct stack *stack = calloc(1, sizeof(*stack));
	struct python_layout *layout = &stack->library.layout;

	*layout = *python_layout_of(minor);
	for (uint32_t i = 0; i < CODES; i++)
		fake_code_fill(&stack->codes[i], &stack->library, "train.py", "Model.step", 10 + i);
	for (uint32_t i = 0; i < FRAMES; i++) {
		uint64_t code = fake_object_address(&stack->codes[i % CODES].code);

		fake_object_put64(&stack->frames[i], layout->frame_code, code);
		fake_object_put64(&stack->frames[i], layout->frame_instruction,
				  layout->instruction == PYTHON_INSTRUCTION_POINTER
					  ? code + layout->code_bytecode + 2 * i
					  : 2 * i);
	}
	if (layout->segment == PYTHON_SEGMENT_SHIM)
		fake_object_put8(&stack->frames[3], layout->segment_mark, layout->shim_owner);
	link_frames(stack, stack->frames);
	assert_int_equal(python_record_count(layout, first_of(stack)), FRAMES);
	python_record_write(layout, first_of(stack), stack->reads, FRAMES);
	return stack;
}

static bool holds(struct stack *stack)
{
	return python_record_holds(&stack->library.layout, first_of(stack), stack->reads, FRAMES);
}

/* Changes the lowest bit at this place, and then restores it. */
static void assert_differs(struct stack *stack, struct fake_object *object, uint32_t offset)
{
	uint64_t word = object->words[offset / 8];

	object->words[offset / 8] ^= 1ull << offset % 8 * 8;
	assert_false(holds(stack));
	object->words[offset / 8] = word;
	assert_true(holds(stack));
}

static void each_word_of_a_frame_and_of_its_code_counts(void **state)
{
	(void)state;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		struct stack *stack = stack_create(minor);
		const struct python_layout *layout = &stack->library.layout;

		assert_true(holds(stack));
		for (uint32_t i = 0; i < FRAMES; i++) {
			if (stack->reads[i].key)
				assert_differs(stack, &stack->frames[i], layout->frame_instruction);
			if (layout->segment != PYTHON_SEGMENT_EVERY)
				assert_differs(stack, &stack->frames[i], layout->segment_mark);
			if (layout->frame_owner != PYTHON_LAYOUT_NONE)
				assert_differs(stack, &stack->frames[i], layout->frame_owner);
		}
		for (uint32_t i = 0; i < CODES; i++) {
			assert_differs(stack, &stack->codes[i].code, layout->code_first_line);
			if (layout->code_version != PYTHON_LAYOUT_NONE)
				assert_differs(stack, &stack->codes[i].code, layout->code_version);
			else
				assert_differs(stack, &stack->codes[i].lines, PYTHON_BYTES_DATA);
		}
		free(stack);
	}
}

static void another_object_in_place_of_a_code_or_its_parts_counts(void **state)
{
	(void)state;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		struct stack *stack = stack_create(minor);
		const struct python_layout *layout = &stack->library.layout;
		const uint16_t fields[] = {layout->code_qualified_name, layout->code_file,
					   layout->code_lines};
		struct fake_code *other = &stack->codes[1];
		const struct fake_object *const parts[] = {&other->name, &other->file,
							   &other->lines};

		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			fake_object_put64(&stack->codes[0].code, fields[i],
					  fake_object_address(parts[i]));
			assert_false(holds(stack));
			fake_code_fill(&stack->codes[0], &stack->library, "train.py", "Model.step",
				       10);
			assert_true(holds(stack));
		}
		fake_object_put64(&stack->frames[0], layout->frame_code,
				  fake_object_address(&other->code));
		assert_false(holds(stack));
		free(stack);
	}
}

static void one_frame_more_or_less_counts(void **state)
{
	(void)state;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		struct stack *stack = stack_create(minor);
		const struct python_layout *layout = &stack->library.layout;

		assert_false(
			python_record_holds(layout, first_of(stack), stack->reads, FRAMES - 1));
		assert_false(python_record_holds(layout, 0, stack->reads, FRAMES));
		assert_true(python_record_holds(layout, 0, stack->reads, 0));
		assert_false(python_record_holds(layout, first_of(stack), stack->reads, 0));
		fake_object_put64(&stack->frames[1], layout->frame_back,
				  fake_object_address(&stack->frames[3]));
		assert_false(holds(stack));
		fake_object_put64(&stack->frames[1], layout->frame_back, 0);
		assert_false(holds(stack));
		free(stack);
	}
}

static void frames_may_lie_elsewhere(void **state)
{
	(void)state;
	for (unsigned minor = OLDEST; minor <= NEWEST; minor++) {
		struct stack *stack = stack_create(minor);
		const struct python_layout *layout = &stack->library.layout;
		struct fake_object *moved = malloc(sizeof(stack->frames));
		uint64_t hash = python_record_hash(layout, first_of(stack));

		memcpy(moved, stack->frames, sizeof(stack->frames));
		/* As a generator's frames: each at a place of its own. */
		for (uint32_t i = 1; i < FRAMES; i += 2)
			fake_object_put64(&moved[i - 1], layout->frame_back,
					  fake_object_address(&stack->frames[i]));
		for (uint32_t i = 2; i < FRAMES; i += 2)
			fake_object_put64(&stack->frames[i - 1], layout->frame_back,
					  fake_object_address(&moved[i]));
		uint64_t first = fake_object_address(&moved[0]);
		assert_true(python_record_holds(layout, first, stack->reads, FRAMES));
		assert_int_equal(python_record_hash(layout, first), hash);
		free(moved);
		free(stack);
	}
}

static void a_circle_is_too_long(void **state)
{
	struct stack *stack = stack_create(NEWEST);
	const struct python_layout *layout = &stack->library.layout;

	(void)state;
	fake_object_put64(&stack->frames[FRAMES - 1], layout->frame_back, first_of(stack));
	assert_int_equal(python_record_count(layout, first_of(stack)), PYTHON_RECORD_MAX + 1);
	python_record_hash(layout, first_of(stack)); /* it ends */
	assert_false(holds(stack));
	free(stack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_word_of_a_frame_and_of_its_code_counts),
		cmocka_unit_test(another_object_in_place_of_a_code_or_its_parts_counts),
		cmocka_unit_test(one_frame_more_or_less_counts),
		cmocka_unit_test(frames_may_lie_elsewhere),
		cmocka_unit_test(a_circle_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
