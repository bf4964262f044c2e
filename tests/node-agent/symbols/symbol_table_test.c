#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/files/elf_file.h"
#include "node-agent/symbols/symbol_table.h"

static const char *fixture_path;

static struct symbol_table *load(const char *path)
{
	struct symbol_table *table;
	struct elf_file *file;

	assert_int_equal(elf_file_open(path, &file), 0);
	assert_int_equal(symbol_table_create(&file, 1, &table), 0);
	elf_file_close(file);
	return table;
}

/* The virtual address of a function of a loaded file. */
static uint64_t vaddr_of(void *address)
{
	struct link_map *map;
	Dl_info info;

	assert_true(dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP));
	return (uint64_t)(uintptr_t)address - map->l_addr;
}

static void exported_and_local_functions_of_a_file_have_names(void **state)
{
	struct symbol_table *table = load(fixture_path);
	void *library = dlopen(fixture_path, RTLD_NOW);
	uint64_t global = vaddr_of(dlsym(library, "fixture_global"));
	uint64_t weak = vaddr_of(dlsym(library, "fixture_weak"));

	(void)state;
	assert_string_equal(symbol_table_find(table, global), "fixture_global");
	assert_string_equal(symbol_table_find(table, global + 5), "fixture_global");
	assert_string_equal(symbol_table_find(table, weak + 1), "fixture_weak");
	assert_string_equal(symbol_table_find(table, global - 1), "fixture_local");
	dlclose(library);
	symbol_table_destroy(table);
}

static void a_function_without_a_size_holds_its_first_byte_only(void **state)
{
	struct symbol_table *table = load(fixture_path);
	void *library = dlopen(fixture_path, RTLD_NOW);
	uint64_t sizeless = vaddr_of(dlsym(library, "fixture_sizeless"));

	(void)state;
	assert_string_equal(symbol_table_find(table, sizeless), "fixture_sizeless");
	assert_null(symbol_table_find(table, sizeless + 1));
	assert_null(symbol_table_find(table, sizeless + 63));
	dlclose(library);
	symbol_table_destroy(table);
}

/* One at the last address of all cannot: it is left out. */
static void every_function_ends_behind_its_start(void **state)
{
	struct symbol_table *table = load(fixture_path);
	struct symbol_table_content content;

	(void)state;
	symbol_table_content(table, &content);
	for (uint32_t i = 0; i < content.count; i++)
		assert_true(content.symbols[i].end > content.symbols[i].start);
	assert_null(symbol_table_find(table, UINT64_MAX));
	symbol_table_destroy(table);
}

static void addresses_outside_of_functions_have_no_name(void **state)
{
	struct symbol_table *table = load(fixture_path);

	(void)state;
	assert_null(symbol_table_find(table, 0));
	assert_null(symbol_table_find(table, UINT64_MAX));
	symbol_table_destroy(table);
}

static void the_test_finds_its_own_functions(void **state)
{
	struct symbol_table *table = load("/proc/self/exe");
	uint64_t own = vaddr_of((void *)the_test_finds_its_own_functions);

	(void)state;
	assert_string_equal(symbol_table_find(table, own), "the_test_finds_its_own_functions");
	assert_string_equal(symbol_table_find(table, vaddr_of((void *)load) + 1), "load");
	assert_true(symbol_table_count(table) > 10);
	symbol_table_destroy(table);
}

static void a_shared_library_without_symtab_is_read_by_its_dynamic_symbols(void **state)
{
	Dl_info info;
	struct symbol_table *table;

	(void)state;
	assert_true(dladdr((void *)strtoull, &info));
	table = load(info.dli_fname);
	const char *name = symbol_table_find(table, vaddr_of((void *)strtoull));
	assert_non_null(name);
	assert_null(strchr(name, '@'));
	symbol_table_destroy(table);
}

static void a_file_offset_has_the_virtual_address_of_its_segment(void **state)
{
	struct elf_file *file;
	uint64_t vaddr;

	(void)state;
	assert_int_equal(elf_file_open(fixture_path, &file), 0);
	assert_true(elf_file_vaddr(file, 0, &vaddr));
	assert_false(elf_file_vaddr(file, 1ull << 40, &vaddr));
	assert_int_equal(vaddr, 0);
	elf_file_close(file);
}

static void the_build_id_is_read_and_cut(void **state)
{
	uint8_t whole[32] = {0}, part[4] = {0};
	struct elf_file *file;

	(void)state;
	assert_int_equal(elf_file_open(fixture_path, &file), 0);
	assert_int_equal(elf_file_build_id(file, whole, sizeof(whole)), 20);
	assert_int_equal(elf_file_build_id(file, part, sizeof(part)), 4);
	assert_memory_equal(whole, part, sizeof(part));
	elf_file_close(file);
}

static void what_is_not_elf_is_refused(void **state)
{
	char path[] = "/tmp/symbol_table_test.XXXXXX";
	struct elf_file *file;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(elf_file_open(path, &file), -ENOEXEC);
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(elf_file_open(path, &file), -ENOEXEC);
	close(fd);
	unlink(path);
	assert_int_equal(elf_file_open(path, &file), -ENOENT);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(elf_file_open(path, &file), -ENOEXEC);
	unlink(path);
	assert_null(file);
}

static void a_damaged_file_does_no_harm(void **state)
{
	FILE *stream = fopen(fixture_path, "re");
	char path[] = "/tmp/symbol_table_test.XXXXXX";
	uint8_t original[32768], damaged[32768];
	size_t size = fread(original, 1, sizeof(original), stream);
	uint32_t random = 1, opened = 0;
	int fd = mkstemp(path);

	(void)state;
	fclose(stream);
	for (int round = 0; round < 500; round++) {
		struct symbol_table *table;
		struct elf_file *file;
		uint8_t build_id[32];
		uint64_t vaddr;

		memcpy(damaged, original, size);
		for (int i = 0; i < 40; i++) {
			random = random * 1664525u + 1013904223u;
			uint32_t at = random >> 8;
			/* The headers and the section table are where damage tells. */
			at = i % 2 ? at % 1024 : (uint32_t)size - 1 - at % 4096;
			damaged[at] = (uint8_t)(random >> 3);
		}
		memcpy(damaged, original, 6);
		assert_int_equal(pwrite(fd, damaged, size, 0), size);
		if (elf_file_open(path, &file))
			continue;
		opened++;
		elf_file_build_id(file, build_id, sizeof(build_id));
		elf_file_vaddr(file, random, &vaddr);
		if (symbol_table_create(&file, 1, &table) == 0)
			symbol_table_find(table, random);
		symbol_table_destroy(table);
		elf_file_close(file);
	}
	close(fd);
	unlink(path);
	assert_true(opened > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exported_and_local_functions_of_a_file_have_names),
		cmocka_unit_test(a_function_without_a_size_holds_its_first_byte_only),
		cmocka_unit_test(every_function_ends_behind_its_start),
		cmocka_unit_test(addresses_outside_of_functions_have_no_name),
		cmocka_unit_test(the_test_finds_its_own_functions),
		cmocka_unit_test(a_shared_library_without_symtab_is_read_by_its_dynamic_symbols),
		cmocka_unit_test(a_file_offset_has_the_virtual_address_of_its_segment),
		cmocka_unit_test(the_build_id_is_read_and_cut),
		cmocka_unit_test(what_is_not_elf_is_refused),
		cmocka_unit_test(a_damaged_file_does_no_harm),
	};

	if (argc != 2)
		return 2;
	fixture_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
