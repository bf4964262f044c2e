#include "unwind/eh_frame.h"
#include "unwind/eh_frame_lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "eh_frame_fixture.h"
#include "loaded_segments.h"

/* Call frame instructions. */
#define ADVANCE(n)          0x40 + (n)
#define OFFSET(n, words)    0x80 + (n), (words)
#define RESTORE(n)          0xc0 + (n)
#define DEF_CFA(n, at)      0x0c, (n), (at)
#define DEF_CFA_REGISTER(n) 0x0d, (n)
#define DEF_CFA_OFFSET(at)  0x0e, (at)
#define REMEMBER            0x0a
#define RECALL              0x0b
#define UNDEFINED(n)        0x07, (n)
#define IN_REGISTER(n, m)   0x09, (n), (m)
#define CFA_AT_RBP(at)      0x0f, 3, 0x76, (at)&0x7f, 0x06
#define SAVED_AT_RBP(n, at) 0x10, (n), 2, 0x76, (at)
#define RBP                 6
#define RSP                 7
#define RIP                 16

/* One function at 16, of 64 bytes, with this program. */
static void compile_one(struct eh_frame_fixture *fixture, const uint8_t *program, size_t size)
{
	made_frames_function(&fixture->made, 16, 64, program, size);
	made_frames_finish(&fixture->made, MADE_SORTED);
	assert_int_equal(eh_frame_fixture_compile(&fixture->made.module, &fixture->rows), 0);
}
#define COMPILE_ONE(fixture, ...)                                                                  \
	compile_one(fixture, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void function_with_a_frame_pointer_has_a_row_for_each_step(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	COMPILE_ONE(fixture, ADVANCE(1), DEF_CFA_OFFSET(16), OFFSET(RBP, 2), ADVANCE(3),
		    DEF_CFA_REGISTER(RBP), 0x02, 40, DEF_CFA(RSP, 8), RESTORE(RBP));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 15), SPECIAL(UNWIND_GAP));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 16),
			 unwind_rule(UNWIND_RSP, 1, KEPT));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 17), unwind_rule(UNWIND_RSP, 2, -2));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 20), unwind_rule(UNWIND_RBP, 2, -2));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 59), unwind_rule(UNWIND_RBP, 2, -2));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 60),
			 unwind_rule(UNWIND_RSP, 1, KEPT));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 79),
			 unwind_rule(UNWIND_RSP, 1, KEPT));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 80), SPECIAL(UNWIND_GAP));
	assert_int_equal(fixture->rows.nr, 6);
}

static void remembered_state_comes_back(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	COMPILE_ONE(fixture, DEF_CFA_OFFSET(48), OFFSET(RBP, 4), ADVANCE(4), REMEMBER,
		    DEF_CFA_OFFSET(8), RESTORE(RBP), ADVANCE(1), RECALL, ADVANCE(4),
		    DEF_CFA_OFFSET(16));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 16), unwind_rule(UNWIND_RSP, 6, -4));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 20),
			 unwind_rule(UNWIND_RSP, 1, KEPT));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 21), unwind_rule(UNWIND_RSP, 6, -4));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 25), unwind_rule(UNWIND_RSP, 2, -4));
}

static void realigned_stack_is_followed_through_memory(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	COMPILE_ONE(fixture, DEF_CFA(10, 0), ADVANCE(5), SAVED_AT_RBP(RBP, 0), ADVANCE(5),
		    CFA_AT_RBP(-40));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 16), SPECIAL(UNWIND_UNSUPPORTED));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 26),
			 unwind_rule(UNWIND_RBP_MEMORY, -5, 0));
}

static void linkers_jump_has_its_own_rule(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	COMPILE_ONE(fixture, DEF_CFA_OFFSET(16), ADVANCE(6), DEF_CFA_OFFSET(24), ADVANCE(10), 0x0f,
		    11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 22),
			 unwind_rule(UNWIND_RSP, 3, KEPT));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 32),
			 unwind_rule(UNWIND_PLT, 11, KEPT));
}

static void undefined_return_address_is_the_outermost_frame(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	COMPILE_ONE(fixture, UNDEFINED(RIP));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 40), SPECIAL(UNWIND_OUTERMOST));
}

static void what_the_rules_cannot_say_is_unsupported(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	const uint8_t programs[][6] = {
		{DEF_CFA(3, 16)},         /* rbx */
		{DEF_CFA(RSP, 12)},       /* no whole words */
		{DEF_CFA(RSP, 0)},        /* nothing above rsp */
		{OFFSET(RIP, 3)},         /* the return address elsewhere */
		{IN_REGISTER(RIP, 3)},    /* in a register */
		{0x0f, 3, 0x77, 8, 0x96}, /* an unknown expression */
		{0x0f, 3, 0x77, 8, 0x06}, /* through memory by rsp */
		{0x3f},                   /* no such instruction */
		{RECALL},                 /* nothing was remembered */
		{0x01, 1, 2, 3, 4},       /* set_loc */
		{CFA_AT_RBP(-8), 0x0e},   /* cut off */
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		made_frames_function(&fixture->made, 64 * (uint32_t)i, 64, programs[i],
				     sizeof(programs[i]));
	made_frames_finish(&fixture->made, MADE_SORTED);
	assert_int_equal(eh_frame_fixture_compile(&fixture->made.module, &fixture->rows), 0);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 64 * (uint32_t)i + 63),
				 SPECIAL(UNWIND_UNSUPPORTED));
}

static void rbp_saved_in_another_register_is_lost(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	COMPILE_ONE(fixture, IN_REGISTER(RBP, 12), ADVANCE(8), UNDEFINED(RBP), ADVANCE(8), 0x08,
		    RBP);
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 16),
			 unwind_rule(UNWIND_RSP, 1, LOST));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 24),
			 unwind_rule(UNWIND_RSP, 1, LOST));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 32),
			 unwind_rule(UNWIND_RSP, 1, KEPT));
}

static void large_frame_keeps_its_whole_size(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	uint32_t rule;

	/* 0xf42400 = 16,000,000 bytes; rbp at CFA - 16 */
	COMPILE_ONE(fixture, 0x0e, 0x80, 0xc8, 0xd0, 0x07, OFFSET(RBP, 2));
	rule = eh_frame_fixture_rule(&fixture->rows, 16);
	assert_int_equal(unwind_rule_kind(rule), UNWIND_RSP_FAR);
	assert_int_equal(unwind_rule_far_words(rule), 16000000 / 8);
	assert_int_equal(unwind_rule_far_rbp(rule), -2);
	assert_int_equal(unwind_rule_far_rbp(unwind_rule_far(9000, KEPT)), KEPT);
	assert_int_equal(unwind_rule_far_rbp(unwind_rule_far(9000, -100)), LOST);
	assert_int_equal(unwind_rule_far_words(unwind_rule_far(UNWIND_FAR_MAX, -14)),
			 UNWIND_FAR_MAX);
}

static void equal_neighbours_share_a_row_and_gaps_have_one(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	eh_frame_fixture_put_three(&fixture->made, MADE_SORTED);
	eh_frame_fixture_check_three(fixture);
}

static void table_out_of_order_gives_the_same_rows(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	eh_frame_fixture_put_three(&fixture->made, MADE_BACKWARDS);
	eh_frame_fixture_check_three(fixture);
}

static void missing_table_gives_the_same_rows(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	eh_frame_fixture_put_three(&fixture->made, MADE_NONE);
	eh_frame_fixture_check_three(fixture);
}

static void overlapping_functions_give_rising_rows(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	static const uint8_t steps[] = {ADVANCE(20), DEF_CFA_OFFSET(64), ADVANCE(40),
					DEF_CFA_OFFSET(8)};

	made_frames_function(&fixture->made, 0, 100, steps, sizeof(steps));
	made_frames_function(&fixture->made, 10, 100, steps, sizeof(steps));
	made_frames_function(&fixture->made, 10, 50, steps, sizeof(steps));
	made_frames_finish(&fixture->made, MADE_SORTED);
	assert_int_equal(eh_frame_fixture_compile(&fixture->made.module, &fixture->rows), 0);
	assert_true(fixture->rows.nr > 2);
	for (size_t i = 1; i < fixture->rows.nr; i++)
		assert_true(fixture->rows.rows[i].pc > fixture->rows.rows[i - 1].pc);
}

static void signal_frame_is_known_by_its_code_too(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	memcpy(fixture->made.code + 17, code, sizeof(code));
	made_frames_signal(&fixture->made, 16, 10);
	made_frames_signal(&fixture->made, 32, 10);
	made_frames_finish(&fixture->made, MADE_SORTED);
	assert_int_equal(eh_frame_fixture_compile(&fixture->made.module, &fixture->rows), 0);
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 16), SPECIAL(UNWIND_SIGNAL));
	assert_int_equal(eh_frame_fixture_rule(&fixture->rows, 32), SPECIAL(UNWIND_UNSUPPORTED));
}

static void function_is_found_by_any_of_its_addresses(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct made_frames *made = &fixture->made;
	const struct eh_frame_image *image = &made->module.image;
	uint64_t hdr, size, code = made->module.start, start, end;

	for (int round = 0; round < 2; round++) {
		eh_frame_fixture_put_three(made, round ? MADE_NONE : MADE_SORTED);
		hdr = made->module.eh_frame_hdr;
		size = made->module.eh_frame_hdr_size;
		for (uint32_t at = 100; at < 128; at++) {
			assert_true(eh_frame_function(image, hdr, size, code + at, &start, &end));
			assert_int_equal(start, code + 100);
			assert_int_equal(end, code + 128);
		}
		assert_false(eh_frame_function(image, hdr, size, code + 99, &start, &end));
		assert_int_equal(start | end, 0);
		assert_false(eh_frame_function(image, hdr, size, code + 128, &start, &end));
		assert_false(eh_frame_function(image, hdr, size, code + 3, &start, &end));
		made_frames_fini(made);
		made_frames_init(made);
		code = made->module.start;
	}
}

static void own_functions_are_found(void **state)
{
	uint64_t start, end, address = (uint64_t)(uintptr_t)own_functions_are_found;
	struct unwind_module module;

	(void)state;
	assert_true(loaded_segment_at((const void *)address, &module));
	assert_true(eh_frame_function(&module.image, module.eh_frame_hdr, module.eh_frame_hdr_size,
				      address + 1, &start, &end));
	assert_int_equal(start, address);
	assert_true(end > address + 1);
}

/* The rule of an address, of the function that holds it alone. */
static uint32_t lookup_rule(const struct eh_frame_lookup *lookup, uint64_t address,
			    struct eh_frame_found *found, struct unwind_rows *rows)
{
	uint32_t rule = SPECIAL(UNWIND_GAP);

	rows->nr = 0;
	if (eh_frame_lookup_find(lookup, address, found)) {
		assert_true(eh_frame_rows(&found->description, rows));
		rule = eh_frame_fixture_rule(rows, (uint32_t)(address - found->description.start));
	}
	return rule;
}

/* Of real files, with thousands of functions. */
static void functions_by_themselves_have_the_rules_of_the_whole_file(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct eh_frame_found *found = malloc(sizeof(*found));
	const void *const places[] = {(const void *)(uintptr_t)printf,
				      (const void *)(uintptr_t)lookup_rule};
	struct eh_frame_lookup lookup;
	struct unwind_module module;

	for (int i = 0; i < 2; i++) {
		struct unwind_rows all, *one = &fixture->rows;

		assert_true(loaded_segment_at(places[i], &module));
		unwind_rows_init(&all, EH_FRAME_FIXTURE_BYTES);
		assert_int_equal(eh_frame_fixture_compile(&module, &all), 0);
		assert_int_equal(eh_frame_lookup_init(&lookup, &module.image, module.eh_frame_hdr,
						      module.eh_frame_hdr_size),
				 0);
		assert_int_equal(eh_frame_lookup_bytes(&lookup), 0);
		for (size_t row = 0; row + 1 < all.nr; row += 1 + row % 3) {
			uint64_t last = module.start + all.rows[row + 1].pc - 1;

			assert_int_equal(
				lookup_rule(&lookup, module.start + all.rows[row].pc, found, one),
				all.rows[row].rule);
			assert_int_equal(lookup_rule(&lookup, last, found, one),
					 all.rows[row].rule);
		}
		assert_true(all.nr > 50);
		eh_frame_lookup_fini(&lookup);
		unwind_rows_fini(&all);
	}
	free(found);
}

static void a_file_without_a_header_is_looked_through(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct made_frames *made = &fixture->made;
	struct eh_frame_found *found = malloc(sizeof(*found));
	struct eh_frame_lookup lookup;

	eh_frame_fixture_put_three(made, MADE_NONE);
	uint64_t frames = (uint64_t)(uintptr_t)made->frames;
	assert_int_equal(eh_frame_lookup_init_frames(&lookup, &made->module.image, frames,
						     made->frames_size),
			 0);
	assert_true(eh_frame_lookup_find(&lookup, made->module.start + 100, found));
	assert_int_equal(found->description.end, made->module.start + 128);
	assert_false(eh_frame_lookup_find(&lookup, made->module.start + 128, found));
	assert_true(eh_frame_lookup_bytes(&lookup) > 0);
	eh_frame_lookup_fini(&lookup);
	/* Of a part of it, what is in the part. */
	assert_int_equal(eh_frame_lookup_init_frames(&lookup, &made->module.image, frames, 1),
			 -ENOENT);
	eh_frame_lookup_fini(&lookup);
	free(found);
}

static void useless_headers_are_refused_by_reason(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct unwind_module module;
	struct unwind_rows few;

	eh_frame_fixture_put_three(&fixture->made, MADE_SORTED);
	module = fixture->made.module;
	unwind_rows_init(&few, 3 * sizeof(struct unwind_row));
	assert_int_equal(eh_frame_fixture_compile(&module, &few), -ENOSPC);
	unwind_rows_fini(&few);
	module.eh_frame_hdr_size -= 8; /* less than its table */
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -EINVAL);
	module.eh_frame_hdr_size = 3;
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -EFAULT);
	module = fixture->made.module;
	module.end = module.start;
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -EINVAL);
	module.start += 1024, module.end += 2048; /* no function there */
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -ENOENT);
	module = fixture->made.module;
	module.eh_frame_hdr = UINT64_MAX - 4;
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -EINVAL);
	module.eh_frame_hdr = 4096;
	module.image = (struct eh_frame_image){.high = UINT64_MAX};
	assert_int_equal(eh_frame_fixture_compile(&module, &fixture->rows), -EFAULT);
	fixture->made.header[0] = 2;
	assert_int_equal(eh_frame_fixture_compile(&fixture->made.module, &fixture->rows), -EINVAL);
	fixture->made.header[0] = 1;
	mprotect(fixture->made.frames, MADE_FRAMES_BYTES, PROT_NONE);
	assert_int_equal(eh_frame_fixture_compile(&fixture->made.module, &fixture->rows), -EFAULT);
	assert_int_equal(fixture->rows.nr, 0);
}

/* ---- hostile bytes ---- */

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void check_sanity(const struct unwind_module *module, struct unwind_rows *rows)
{
	uint64_t start, end;
	int result = eh_frame_fixture_compile(module, rows);

	assert_true(result <= 0);
	for (size_t i = 0; i < rows->nr; i++) {
		assert_true(rows->rows[i].pc < module->end - module->start);
		assert_true(i == 0 || rows->rows[i].pc > rows->rows[i - 1].pc);
	}
	if (eh_frame_function(&module->image, module->eh_frame_hdr, module->eh_frame_hdr_size,
			      module->start + next() % 128, &start, &end))
		assert_true(start < end);
}

static void put_all_kinds(struct made_frames *made)
{
	static const uint8_t steps[] = {ADVANCE(1),
					DEF_CFA_OFFSET(16),
					OFFSET(RBP, 2),
					ADVANCE(3),
					DEF_CFA_REGISTER(RBP),
					REMEMBER,
					0x02,
					9,
					CFA_AT_RBP(-40),
					SAVED_AT_RBP(RBP, 0),
					ADVANCE(2),
					RECALL,
					0x2e,
					16,
					0x11,
					RBP,
					0x7e,
					0x16,
					3,
					2,
					0x77,
					0,
					UNDEFINED(RIP)};

	for (uint32_t i = 0; i < 12; i++)
		made_frames_function(made, i * 64, 50, steps, sizeof(steps));
	made_frames_signal(made, 900, 10);
}

static void random_bytes_in_small_frames_never_fault(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct made_frames *made = &fixture->made;
	static uint8_t copy[2 * MADE_FRAMES_BYTES];

	put_all_kinds(made);
	made_frames_finish(made, MADE_SORTED);
	memcpy(copy, made->memory, sizeof(copy));
	for (int round = 0; round < 1500; round++) {
		memcpy(made->memory, copy, sizeof(copy));
		if (round % 3 == 0) /* without the table */
			memset(made->header + 2, 0xff, 2);
		for (uint64_t i = next() % 8 + 1; i > 0; i--)
			made->frames[next() % made->frames_size] = (uint8_t)next();
		if (round % 2)
			made->header[next() % made->header_size] = (uint8_t)next();
		check_sanity(&made->module, &fixture->rows);
		unwind_rows_fini(&fixture->rows);
		unwind_rows_init(&fixture->rows, EH_FRAME_FIXTURE_BYTES);
	}
}

/* The C library's own frames, copied with what lies between them and their header. */
static void random_bytes_in_real_frames_never_fault(void **state)
{
	struct eh_frame_fixture *fixture = *state;
	struct unwind_module module;
	uint64_t size, copied;
	uint8_t *copy;
	int32_t back;

	assert_true(loaded_segment_at(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &module));
	memcpy(&back, (const void *)(module.eh_frame_hdr + 4), sizeof(back));
	assert_true(back > 0);
	size = (uint64_t)back + 200000; /* of .eh_frame; the entries beyond are cut off */
	copy = malloc(size);
	for (int round = 0; round < 20; round++) {
		memcpy(copy, (const void *)module.eh_frame_hdr, size);
		copied = (uint64_t)(uintptr_t)copy;
		for (int i = 0; i < 3000 && round; i++)
			copy[(uint64_t)back + next() % (size - (uint64_t)back)] = (uint8_t)next();
		const struct unwind_module moved = {
			.start = module.start - module.eh_frame_hdr + copied,
			.end = module.end - module.eh_frame_hdr + copied,
			.eh_frame_hdr = copied,
			.eh_frame_hdr_size = module.eh_frame_hdr_size,
			.image = {.low = module.image.low - module.eh_frame_hdr + copied,
				  .high = copied + size},
		};
		check_sanity(&moved, &fixture->rows);
		if (round == 0)
			printf("%zu rows of the C library\n", fixture->rows.nr);
		unwind_rows_fini(&fixture->rows);
		unwind_rows_init(&fixture->rows, 8 * EH_FRAME_FIXTURE_BYTES);
	}
	free(copy);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, eh_frame_fixture_set_up, eh_frame_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(function_with_a_frame_pointer_has_a_row_for_each_step),
		TEST(remembered_state_comes_back),
		TEST(realigned_stack_is_followed_through_memory),
		TEST(linkers_jump_has_its_own_rule),
		TEST(undefined_return_address_is_the_outermost_frame),
		TEST(what_the_rules_cannot_say_is_unsupported),
		TEST(rbp_saved_in_another_register_is_lost),
		TEST(large_frame_keeps_its_whole_size),
		TEST(equal_neighbours_share_a_row_and_gaps_have_one),
		TEST(table_out_of_order_gives_the_same_rows),
		TEST(missing_table_gives_the_same_rows),
		TEST(overlapping_functions_give_rising_rows),
		TEST(signal_frame_is_known_by_its_code_too),
		TEST(function_is_found_by_any_of_its_addresses),
		TEST(own_functions_are_found),
		TEST(functions_by_themselves_have_the_rules_of_the_whole_file),
		TEST(a_file_without_a_header_is_looked_through),
		TEST(useless_headers_are_refused_by_reason),
		TEST(random_bytes_in_small_frames_never_fault),
		TEST(random_bytes_in_real_frames_never_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
