#include "unwind/eh_frame.h"
#include "unwind/eh_frame_lookup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "eh_frame_fixture.h"

/* The frames' copy behind the first page of code, so that code of the image lies before them. */
static uint8_t *move_frames(struct made_frames *made)
{
	uint8_t *moved = made->code + MADE_FRAMES_BYTES;
	int32_t pointer;

	memcpy(moved, made->frames, made->frames_size);
	for (int i = 0; i < made->nr; i++) {
		uint8_t *at = moved + made->functions[i].at + 8;

		memcpy(&pointer, at, sizeof(pointer));
		pointer -= (int32_t)(moved - made->frames);
		memcpy(at, &pointer, sizeof(pointer));
	}
	return moved;
}

static void add_to_word(uint8_t *at, ptrdiff_t distance)
{
	int32_t word;

	memcpy(&word, at, sizeof(word));
	word += (int32_t)distance;
	memcpy(at, &word, sizeof(word));
}

static bool finds(const struct made_frames *made, const struct eh_frame_image *image,
		  uint64_t header, uint32_t at)
{
	uint64_t start, end;

	return eh_frame_function(image, header, made->header_size, made->module.start + at, &start,
				 &end);
}

static void a_search_table_does_not_lead_out_of_the_image(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct made_frames *made = &fixture->made;
	struct unwind_module module;

	eh_frame_fixture_put_three(made, MADE_SORTED);
	module = made->module;
	ptrdiff_t distance = move_frames(made) - made->frames;
	for (int i = 0; i < made->nr; i++)
		add_to_word(made->header + 16 + 8 * i, distance);
	add_to_word(made->header + 4, distance);
	assert_true(finds(made, &module.image, module.eh_frame_hdr, 100));
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), 0);
	module.image.high -= MADE_FRAMES_BYTES;
	assert_false(finds(made, &module.image, module.eh_frame_hdr, 100));
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -ENOENT);
	/* Nor does what is cut by the image's end count. */
	module.image.high += made->functions[2].at + 8;
	assert_true(finds(made, &module.image, module.eh_frame_hdr, 16));
	assert_false(finds(made, &module.image, module.eh_frame_hdr, 100));
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -EINVAL);
}

static void an_entry_does_not_lead_out_of_the_image(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct made_frames *made = &fixture->made;
	struct eh_frame_image image = made->module.image;
	uint8_t *header = made->code + MADE_FRAMES_BYTES;

	eh_frame_fixture_put_three(made, MADE_SORTED);
	memcpy(header, made->header, made->header_size);
	for (size_t at = 12; at < made->header_size; at += 4)
		add_to_word(header + at, made->header - header);
	add_to_word(header + 4, made->header - header);
	image.low = (uint64_t)(uintptr_t)made->frames;
	assert_true(finds(made, &image, (uint64_t)(uintptr_t)header, 100));
	image.low += made->functions[0].at; /* behind the common entry */
	assert_false(finds(made, &image, (uint64_t)(uintptr_t)header, 100));
}

static void a_header_lies_in_the_image(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct unwind_module module;

	eh_frame_fixture_put_three(&fixture->made, MADE_SORTED);
	module = fixture->made.module;
	module.image.low++;
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -EINVAL);
	module.image.low--;
	module.image.high = module.eh_frame_hdr + module.eh_frame_hdr_size - 1;
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -EINVAL);
}

static void a_list_of_functions_ends_with_the_image(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct made_frames *made = &fixture->made;
	struct eh_frame_image image = made->module.image;
	struct eh_frame_found *found = malloc(sizeof(*found));
	struct eh_frame_lookup lookup;

	eh_frame_fixture_put_three(made, MADE_NONE);
	uint64_t start = made->module.start, frames = (uint64_t)(uintptr_t)move_frames(made);
	for (uint64_t cut = made->functions[2].at; cut < made->functions[2].at + 8; cut++) {
		image.high = frames + cut;
		assert_int_equal(
			eh_frame_lookup_init_frames(&lookup, &image, frames, made->frames_size), 0);
		assert_true(eh_frame_lookup_find(&lookup, start + 40, found));
		assert_false(eh_frame_lookup_find(&lookup, start + 100, found));
		assert_true(eh_frame_lookup_bytes(&lookup) <=
			    cut + 4 * sizeof(struct eh_frame_entry));
		eh_frame_lookup_fini(&lookup);
	}
	image.high = frames;
	assert_int_equal(eh_frame_lookup_init_frames(&lookup, &image, frames, made->frames_size),
			 -ENOENT);
	eh_frame_lookup_fini(&lookup);
	free(found);
}

static void a_function_ends_with_the_image(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct unwind_module module;

	eh_frame_fixture_put_three(&fixture->made, MADE_SORTED);
	module = fixture->made.module;
	module.image.high = module.start + 110;
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), 0);
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 109),
			 unwind_rule(UNWIND_RSP, 4, KEPT));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 110), SPECIAL(UNWIND_GAP));
	module.image.high = module.start + 100;
	assert_true(finds(&fixture->made, &module.image, module.eh_frame_hdr, 40));
	assert_false(finds(&fixture->made, &module.image, module.eh_frame_hdr, 100));
}

static void code_behind_the_image_is_not_looked_at(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct unwind_module module;

	memcpy(fixture->made.code + 17, code, sizeof(code));
	made_frames_signal(&fixture->made, 16, 10);
	made_frames_finish(&fixture->made, MADE_SORTED);
	module = fixture->made.module;
	module.image.high = module.start + 25;
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), 0);
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 16), SPECIAL(UNWIND_UNSUPPORTED));
}

/* Pointers of a file that no loader has touched. */
static void absolute_pointers_are_those_of_the_file(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct made_frames *made = &fixture->made;
	struct unwind_module module;

	eh_frame_fixture_put_three(made, MADE_SORTED);
	made->frames[16] = 0x03; /* 32 bits, absolute */
	for (int i = 0; i < made->nr; i++) {
		uint32_t pointer = 0x1000 + made->functions[i].start;

		memcpy(made->frames + made->functions[i].at + 8, &pointer, sizeof(pointer));
	}
	module = made->module;
	module.image.bias = module.start - 0x1000;
	assert_true(finds(made, &module.image, module.eh_frame_hdr, 100));
	made->module.image.bias = module.image.bias;
	eh_frame_fixture_check_three(fixture);
	memcpy(made->header + 1, (const uint8_t[]){0x03, 0xff, 0xff}, 3); /* the frames', too */
	uint32_t pointer = (uint32_t)((uint64_t)(uintptr_t)made->frames - module.image.bias);
	memcpy(made->header + 4, &pointer, sizeof(pointer));
	unwind_rows_fini(&fixture->rows);
	unwind_rows_init(&fixture->rows, EH_FRAME_FIXTURE_BYTES);
	eh_frame_fixture_check_three(fixture);
}

static void a_number_of_functions_is_no_address(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	eh_frame_fixture_put_three(&fixture->made, MADE_SORTED);
	fixture->made.header[2] = 0x3b; /* counts from the header */
	eh_frame_fixture_check_three(fixture);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, eh_frame_fixture_set_up, eh_frame_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_search_table_does_not_lead_out_of_the_image),
		TEST(an_entry_does_not_lead_out_of_the_image),
		TEST(a_header_lies_in_the_image),
		TEST(a_list_of_functions_ends_with_the_image),
		TEST(a_function_ends_with_the_image),
		TEST(code_behind_the_image_is_not_looked_at),
		TEST(absolute_pointers_are_those_of_the_file),
		TEST(a_number_of_functions_is_no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
