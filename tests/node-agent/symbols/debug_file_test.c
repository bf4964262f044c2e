#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/node-agent/guests/loaded_fixture.h"
#include "node-agent/symbols/debug_file.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/symbols/mini_debuginfo.h"
#include "node-agent/symbols/symbol_table.h"

static const char *fixture_path, *plain_path, *objcopy;
static char directory[64], library[96], debug[96];

static int set_up(void **state)
{
	(void)state;
	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(library, sizeof(library), "%s/library.so", directory);
	snprintf(debug, sizeof(debug), "%s/library.debug", directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	loaded_fixture_remove(directory);
	return 0;
}

static void run_objcopy(const char *option, const char *from, const char *to)
{
	const char *const arguments[5] = {option, from, to};

	loaded_fixture_run(objcopy, arguments);
}

/* A stripped library, linked to its debug file, which is beside it. */
static void split(const char *from)
{
	char link[160];

	run_objcopy("--only-keep-debug", from, debug);
	run_objcopy("--strip-all", from, library);
	snprintf(link, sizeof(link), "--add-gnu-debuglink=%s", debug);
	run_objcopy(link, library, library);
}

static struct debug_file_query query_of(struct elf_file *file, uint8_t build_id[static 32])
{
	return (struct debug_file_query){
		.file = file,
		.path = library,
		.directory = directory,
		.build_id_size = elf_file_build_id(file, build_id, 32),
		.build_id = build_id,
	};
}

static void expect_hidden_name(struct elf_file *stripped, struct elf_file *found)
{
	struct elf_file *const files[] = {stripped, found};
	uint64_t hidden = loaded_fixture_vaddr(fixture_path, "inline_fixture_hidden_mark");
	uint64_t outer = loaded_fixture_vaddr(fixture_path, "inline_fixture_outer");
	struct symbol_table *table;

	assert_int_equal(symbol_table_create(files, 1, &table), 0);
	assert_null(symbol_table_find(table, hidden));
	assert_string_equal(symbol_table_find(table, outer), "inline_fixture_outer");
	symbol_table_destroy(table);
	assert_int_equal(symbol_table_create(files, 2, &table), 0);
	assert_string_equal(symbol_table_find(table, hidden), "hidden");
	assert_string_equal(symbol_table_find(table, outer), "inline_fixture_outer");
	symbol_table_destroy(table);
}

/* Moves the debug file and looks for it by its link. */
static void expect_link_found(const char *to)
{
	uint8_t build_id[32];
	struct elf_file *file = loaded_fixture_open(library), *found;
	struct debug_file_query query = query_of(file, build_id);

	assert_int_equal(rename(debug, to), 0);
	assert_int_equal(debug_file_open(&query, &found), 0);
	assert_true(elf_file_has_symtab(found));
	assert_true(elf_file_has_dwarf(found));
	expect_hidden_name(file, found);
	elf_file_close(found);
	elf_file_close(file);
	assert_int_equal(rename(to, debug), 0);
}

static void a_debug_link_leads_to_the_file_beside_in_debug_and_in_the_tree(void **state)
{
	char path[256];

	(void)state;
	split(fixture_path);
	expect_link_found(debug);
	snprintf(path, sizeof(path), "%s/.debug", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.debug/library.debug", directory);
	expect_link_found(path);
	snprintf(path, sizeof(path), "%s/tmp", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s%s", directory, directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s%s/library.debug", directory, directory);
	expect_link_found(path);
}

static void a_debug_link_is_believed_by_its_checksum_only(void **state)
{
	uint8_t build_id[32], byte;
	struct elf_file *file, *found;

	(void)state;
	split(plain_path);
	file = loaded_fixture_open(library);
	struct debug_file_query query = query_of(file, build_id);
	assert_int_equal(query.build_id_size, 0);
	assert_int_equal(debug_file_open(&query, &found), 0);
	elf_file_close(found);

	int fd = open(debug, O_RDWR | O_CLOEXEC);
	off_t last = lseek(fd, 0, SEEK_END) - 1;
	assert_int_equal(pread(fd, &byte, 1, last), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, last), 1);
	close(fd);
	assert_int_equal(debug_file_open(&query, &found), -ENOENT);
	assert_null(found);
	elf_file_close(file);
}

static void a_debug_file_is_found_by_build_id_even_without_the_file(void **state)
{
	char path[256];
	uint8_t build_id[32];
	struct elf_file *file, *found;

	(void)state;
	split(fixture_path);
	file = loaded_fixture_open(library);
	struct debug_file_query query = query_of(file, build_id);
	query.file = NULL;
	assert_int_equal(debug_file_open(&query, &found), -ENOENT);

	snprintf(path, sizeof(path), "%s/.build-id", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	int size = snprintf(path, sizeof(path), "%s/.build-id/%02x", directory, build_id[0]);
	assert_int_equal(mkdir(path, 0700), 0);
	path[size++] = '/';
	for (uint32_t i = 1; i < query.build_id_size; i++)
		size += snprintf(path + size, sizeof(path) - (size_t)size, "%02x", build_id[i]);
	snprintf(path + size, sizeof(path) - (size_t)size, ".debug");
	assert_int_equal(rename(debug, path), 0);
	assert_int_equal(debug_file_open(&query, &found), 0);
	elf_file_close(found);
	query.pid = getpid();
	assert_int_equal(debug_file_open(&query, &found), 0);
	expect_hidden_name(file, found);
	elf_file_close(found);

	/* What is there now is another file. */
	loaded_fixture_copy(plain_path, path);
	assert_int_equal(debug_file_open(&query, &found), -ENOENT);
	elf_file_close(file);
}

/* ---- .gnu_debugdata ---------------------------------------------------------------------------- */

static uint8_t *read_all(const char *path, size_t *size)
{
	FILE *stream = fopen(path, "re");
	struct stat status;

	assert_non_null(stream);
	assert_int_equal(fstat(fileno(stream), &status), 0);
	*size = (size_t)status.st_size;
	uint8_t *data = malloc(*size);
	assert_int_equal(fread(data, 1, *size, stream), *size);
	fclose(stream);
	return data;
}

/* A stripped library that brings packed bytes along as .gnu_debugdata. */
static void bring_along(const uint8_t *packed, size_t size)
{
	char path[96], option[160];

	snprintf(path, sizeof(path), "%s/packed", directory);
	FILE *stream = fopen(path, "we");
	assert_int_equal(fwrite(packed, 1, size, stream), size);
	assert_int_equal(fclose(stream), 0);
	snprintf(option, sizeof(option), "--add-section=.gnu_debugdata=%s", path);
	run_objcopy("--strip-all", fixture_path, library);
	run_objcopy(option, library, library);
}

static uint8_t *pack(const uint8_t *data, size_t size, size_t *packed_size)
{
	size_t max = lzma_stream_buffer_bound(size);
	uint8_t *packed = malloc(max);

	*packed_size = 0;
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, size, packed,
						 packed_size, max),
			 LZMA_OK);
	return packed;
}

static void symbols_that_a_stripped_file_brings_along_are_found(void **state)
{
	size_t size, packed_size;
	struct elf_file *file, *mini;

	(void)state;
	run_objcopy("--only-keep-debug", fixture_path, debug);
	uint8_t *data = read_all(debug, &size), *packed = pack(data, size, &packed_size);
	bring_along(packed, packed_size);
	file = loaded_fixture_open(library);
	assert_int_equal(mini_debuginfo_open(file, &mini), 0);
	expect_hidden_name(file, mini);
	elf_file_close(mini);
	elf_file_close(file);
	free(packed);
	free(data);
}

static void packed_symbols_that_are_damaged_or_none_are_refused(void **state)
{
	size_t size, packed_size;
	struct elf_file *file, *mini;

	(void)state;
	uint8_t *data = read_all(fixture_path, &size), *packed = pack(data, size, &packed_size);
	file = loaded_fixture_open(fixture_path);
	assert_int_equal(mini_debuginfo_open(file, &mini), -ENOENT);
	assert_null(mini);
	elf_file_close(file);

	bring_along(packed, packed_size / 2);
	file = loaded_fixture_open(library);
	assert_int_equal(mini_debuginfo_open(file, &mini), -EBADMSG);
	elf_file_close(file);

	packed[packed_size / 2] ^= 0xff;
	bring_along(packed, packed_size);
	file = loaded_fixture_open(library);
	assert_int_equal(mini_debuginfo_open(file, &mini), -EBADMSG);
	assert_null(mini);
	elf_file_close(file);
	free(packed);
	free(data);
}

static void a_small_section_that_unpacks_to_very_much_is_refused(void **state)
{
	size_t size = (256u << 20) + 1, packed_size;
	uint8_t *zeros = calloc(1, size), *packed = pack(zeros, size, &packed_size);
	struct elf_file *file, *mini;

	(void)state;
	free(zeros);
	bring_along(packed, packed_size);
	free(packed);
	file = loaded_fixture_open(library);
	assert_int_equal(mini_debuginfo_open(file, &mini), -EFBIG);
	assert_null(mini);
	elf_file_close(file);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_debug_link_leads_to_the_file_beside_in_debug_and_in_the_tree, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_debug_link_is_believed_by_its_checksum_only,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_debug_file_is_found_by_build_id_even_without_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(symbols_that_a_stripped_file_brings_along_are_found,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(packed_symbols_that_are_damaged_or_none_are_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_small_section_that_unpacks_to_very_much_is_refused, set_up, tear_down),
	};

	if (argc != 4)
		return 2;
	fixture_path = argv[1];
	plain_path = argv[2];
	objcopy = argv[3];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
