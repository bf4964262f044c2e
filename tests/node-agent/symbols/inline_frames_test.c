#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/node-agent/guests/loaded_fixture.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/symbols/inline_frames.h"

static const char *fixture_path, *bare_path, *split_path, *objcopy;

struct opened {
	struct elf_file *file;
	struct inline_frames *frames;
};

static struct opened open_frames(const char *path)
{
	struct opened opened = {.file = loaded_fixture_open(path)};

	assert_int_equal(inline_frames_create(opened.file, NULL, NULL, &opened.frames), 0);
	return opened;
}

static void close_frames(struct opened *opened)
{
	inline_frames_destroy(opened->frames);
	elf_file_close(opened->file);
}

/* Checks one function of the text and goes on to the next. line 0: none is there. */
static void expect(char **text, const char *name, int line)
{
	char *function = strsep(text, "\n"), number[32];

	assert_non_null(function);
	char *tab = strchr(function, '\t');
	if (tab)
		*tab = '\0';
	assert_string_equal(function, name);
	assert_int_equal(tab != NULL, line != 0);
	if (!tab)
		return;
	char *colon = strrchr(tab + 1, ':'), *slash = strrchr(tab + 1, '/');
	assert_non_null(colon);
	assert_non_null(slash);
	*colon = '\0';
	assert_string_equal(slash + 1, "inline_fixture.c");
	snprintf(number, sizeof(number), "%d", line);
	assert_string_equal(colon + 1, number);
}

static void inlined_functions_are_named_outermost_first_with_their_lines(void **state)
{
	struct opened opened = open_frames(fixture_path);
	uint64_t mark = loaded_fixture_vaddr(fixture_path, "inline_fixture_mark");
	char text[4096], *at = text;

	(void)state;
	assert_true(inline_frames_describe(opened.frames, mark, NULL, text, sizeof(text)) > 0);
	expect(&at, "inline_fixture_outer",
	       loaded_fixture_int(fixture_path, "inline_fixture_middle_call_line"));
	expect(&at, "middle", loaded_fixture_int(fixture_path, "inline_fixture_inner_call_line"));
	expect(&at, "inner", loaded_fixture_int(fixture_path, "inline_fixture_mark_line"));
	assert_null(at);
	close_frames(&opened);
}

static void the_outermost_function_has_the_name_of_the_symbol_table(void **state)
{
	struct opened opened = open_frames(fixture_path);
	uint64_t mark = loaded_fixture_vaddr(fixture_path, "inline_fixture_mark");
	char text[4096], *at = text;

	(void)state;
	inline_frames_describe(opened.frames, mark, "outer.part.0", text, sizeof(text));
	expect(&at, "outer.part.0",
	       loaded_fixture_int(fixture_path, "inline_fixture_middle_call_line"));
	assert_non_null(at);
	close_frames(&opened);
}

static void a_plain_function_is_one_name_with_the_line_of_the_address(void **state)
{
	struct opened opened = open_frames(fixture_path);
	uint64_t hidden = loaded_fixture_vaddr(fixture_path, "inline_fixture_hidden_mark");
	char text[4096], *at = text;

	(void)state;
	assert_true(inline_frames_describe(opened.frames, hidden, NULL, text, sizeof(text)) > 0);
	expect(&at, "hidden", loaded_fixture_int(fixture_path, "inline_fixture_hidden_line"));
	assert_null(at);
	close_frames(&opened);
}

static void text_without_room_ends_behind_a_whole_function(void **state)
{
	struct opened opened = open_frames(fixture_path);
	uint64_t mark = loaded_fixture_vaddr(fixture_path, "inline_fixture_mark");
	char whole[4096], text[4096];
	size_t size = inline_frames_describe(opened.frames, mark, NULL, whole, sizeof(whole));

	(void)state;
	for (size_t max = 0; max <= size + 1; max++) {
		memset(text, 'x', sizeof(text));
		size_t got = inline_frames_describe(opened.frames, mark, NULL, text, max);

		assert_true(got < max || got == 0);
		assert_int_equal(text[max], 'x');
		assert_memory_equal(text, whole, got);
		if (got > 0)
			assert_true(whole[got] == '\n' || whole[got] == '\0');
	}
	assert_int_equal(inline_frames_describe(opened.frames, mark, NULL, text, size + 1), size);
	close_frames(&opened);
}

static void addresses_outside_of_every_unit_are_unknown(void **state)
{
	struct opened opened = open_frames(fixture_path);
	char text[64];

	(void)state;
	assert_int_equal(
		inline_frames_describe(opened.frames, UINT64_MAX, "name", text, sizeof(text)), 0);
	assert_string_equal(text, "");
	close_frames(&opened);
}

/* What its other file has is not looked at: neither the names of functions nor what was inlined. */
static void a_file_that_is_split_has_its_lines(void **state)
{
	struct opened opened = open_frames(split_path);
	uint64_t mark = loaded_fixture_vaddr(split_path, "inline_fixture_mark");
	char text[4096], *at = text;

	(void)state;
	assert_true(inline_frames_describe(opened.frames, mark, "outer", text, sizeof(text)) > 0);
	expect(&at, "outer", loaded_fixture_int(split_path, "inline_fixture_mark_line"));
	assert_null(at);
	assert_int_equal(inline_frames_describe(opened.frames, mark, NULL, text, sizeof(text)), 0);
	close_frames(&opened);
}

static void a_file_without_debug_information_is_refused(void **state)
{
	struct elf_file *file = loaded_fixture_open(bare_path);
	struct inline_frames *frames;

	(void)state;
	assert_int_equal(inline_frames_create(file, NULL, NULL, &frames), -ENOENT);
	assert_null(frames);
	inline_frames_destroy(frames);
	elf_file_close(file);
}

static void damaged_debug_information_does_no_harm(void **state)
{
	static uint8_t original[65536], damaged[65536];
	FILE *stream = fopen(fixture_path, "re");
	char path[] = "/tmp/inline_frames_test.XXXXXX", text[1024];
	uint64_t mark = loaded_fixture_vaddr(fixture_path, "inline_fixture_mark");
	size_t size = fread(original, 1, sizeof(original), stream);
	uint32_t random = 1, opened = 0;
	int fd = mkstemp(path);

	(void)state;
	fclose(stream);
	for (int round = 0; round < 400; round++) {
		struct inline_frames *frames;
		struct elf_file *file;

		memcpy(damaged, original, size);
		for (int i = 0; i < 10; i++) {
			random = random * 1664525u + 1013904223u;
			damaged[1024 + (random >> 8) % (size - 1024)] = (uint8_t)(random >> 3);
		}
		assert_int_equal(pwrite(fd, damaged, size, 0), size);
		if (elf_file_open(path, &file))
			continue;
		if (inline_frames_create(file, NULL, NULL, &frames) == 0) {
			opened++;
			for (uint64_t at = mark - 64; at < mark + 64; at += 8)
				inline_frames_describe(frames, at, NULL, text, sizeof(text));
		}
		inline_frames_destroy(frames);
		elf_file_close(file);
	}
	close(fd);
	unlink(path);
	assert_true(opened > 0);
}

static int find_nothing(void *context, const uint8_t *build_id, uint32_t size,
			struct elf_file **file)
{
	assert_int_equal(size, 2);
	assert_memory_equal(build_id, "\x12\x34", 2);
	*(int *)context += 1;
	*file = NULL;
	return -ENOENT;
}

static int find_itself(void *context, const uint8_t *build_id, uint32_t size,
		       struct elf_file **file)
{
	(void)build_id;
	(void)size;
	*file = loaded_fixture_open(context);
	return 0;
}

/* The name that a file gives its shared part is not opened. */
static void a_shared_part_is_found_by_its_build_id_alone(void **state)
{
	char directory[64], link[96], path[96], add[160];
	const char *const arguments[5] = {"--add-section", add, fixture_path, path};
	struct inline_frames *frames;
	int asked = 0;

	(void)state;
	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(link, sizeof(link), "%s/link", directory);
	snprintf(path, sizeof(path), "%s/lib.so", directory);
	snprintf(add, sizeof(add), ".gnu_debugaltlink=%s", link);
	FILE *stream = fopen(link, "we");
	assert_non_null(stream);
	assert_int_equal(fwrite("/dev/null\0\x12\x34", 1, 12, stream), 12);
	assert_int_equal(fclose(stream), 0);
	loaded_fixture_run(objcopy, arguments);
	struct elf_file *file = loaded_fixture_open(path);
	assert_int_equal(inline_frames_create(file, NULL, NULL, &frames), -ENOENT);
	assert_int_equal(inline_frames_create(file, find_nothing, &asked, &frames), -ENOENT);
	assert_int_equal(asked, 1);
	assert_null(frames);
	assert_int_equal(inline_frames_create(file, find_itself, (void *)fixture_path, &frames), 0);
	inline_frames_destroy(frames);
	elf_file_close(file);
	loaded_fixture_remove(directory);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_are_named_outermost_first_with_their_lines),
		cmocka_unit_test(the_outermost_function_has_the_name_of_the_symbol_table),
		cmocka_unit_test(a_plain_function_is_one_name_with_the_line_of_the_address),
		cmocka_unit_test(text_without_room_ends_behind_a_whole_function),
		cmocka_unit_test(addresses_outside_of_every_unit_are_unknown),
		cmocka_unit_test(a_file_that_is_split_has_its_lines),
		cmocka_unit_test(a_file_without_debug_information_is_refused),
		cmocka_unit_test(damaged_debug_information_does_no_harm),
		cmocka_unit_test(a_shared_part_is_found_by_its_build_id_alone),
	};

	if (argc != 5)
		return 2;
	fixture_path = argv[1];
	bare_path = argv[2];
	split_path = argv[3];
	objcopy = argv[4];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
