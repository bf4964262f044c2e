#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "unwind/unwind_row.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/kernel/unwind_files.h"

static struct elf_file *open_file(const char *path)
{
	struct elf_file *file;

	assert_int_equal(elf_file_open(path, &file), 0);
	return file;
}

/* The file and the virtual address in it of a function of a loaded library. */
static uint64_t place_of(const void *function, struct elf_file **file)
{
	struct link_map *map;
	Dl_info info;

	assert_int_not_equal(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP), 0);
	*file = open_file(info.dli_fname);
	return (uint64_t)(uintptr_t)function - map->l_addr;
}

static void only_functions_that_are_asked_for_are_read(void **state)
{
	struct unwind_files *files = unwind_files_create();
	struct elf_file *file;
	uint64_t vaddr = place_of((const void *)(uintptr_t)qsort, &file);
	uint32_t rule;

	(void)state;
	assert_false(unwind_files_has(files, 5));
	assert_false(unwind_files_find(files, 5, vaddr, &rule));
	assert_int_equal(unwind_files_add(files, 5, unwind_file_map(file), 0, 0), 0);
	assert_true(unwind_files_has(files, 5));
	assert_int_equal(unwind_files_reads(files), 0);
	assert_true(unwind_files_find(files, 5, vaddr, &rule));
	assert_int_equal(rule, unwind_rule(UNWIND_RSP, 1, UNWIND_RBP_KEPT));
	assert_int_equal(unwind_files_reads(files), 1);
	for (int i = 0; i < 100; i++)
		assert_true(unwind_files_find(files, 5, vaddr, &rule));
	assert_int_equal(unwind_files_reads(files), 1);
	/* Another module's same address is another place. */
	assert_false(unwind_files_find(files, 6, vaddr, &rule));
	elf_file_close(file);
	unwind_files_destroy(files);
}

static void a_file_that_cannot_be_had_has_no_rules(void **state)
{
	struct unwind_files *files = unwind_files_create();
	struct elf_file *file;
	uint64_t vaddr = place_of((const void *)(uintptr_t)qsort, &file);
	uint32_t rule;

	(void)state;
	assert_int_equal(unwind_files_add(files, 1, NULL, 0, 0), 0);
	assert_true(unwind_files_has(files, 1));
	assert_int_equal(unwind_files_add(files, 1, unwind_file_map(file), 0, 0), 0);
	assert_false(unwind_files_find(files, 1, vaddr, &rule));
	elf_file_close(file);
	unwind_files_destroy(files);
}

static void addresses_outside_of_the_file_and_of_its_functions_have_none(void **state)
{
	struct unwind_files *files = unwind_files_create();
	struct elf_file *file;
	uint32_t rule;

	(void)state;
	place_of((const void *)(uintptr_t)qsort, &file);
	assert_int_equal(unwind_files_add(files, 0, unwind_file_map(file), 0, 0), 0);
	assert_false(unwind_files_find(files, 0, 1ull << 40, &rule));
	assert_false(unwind_files_find(files, 0, UINT64_MAX, &rule));
	assert_true(unwind_files_find(files, 0, 0, &rule)); /* the file's head */
	assert_int_equal(rule, unwind_rule_special(UNWIND_GAP));
	elf_file_close(file);
	unwind_files_destroy(files);
}

/* The kernel's own code in this process. */
static void an_image_in_memory_has_rules(void **state)
{
	void *image = (void *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = image;
	struct unwind_files *files = unwind_files_create();
	const char *const names[] = {"__vdso_clock_gettime"};
	struct elf_file *file;
	uint64_t vaddr;
	uint32_t rule;

	(void)state;
	assert_non_null(image);
	size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	assert_int_equal(elf_file_open_memory(image, size, &file), 0);
	elf_file_find_exported(file, names, 1, &vaddr);
	assert_int_not_equal(vaddr, 0);
	assert_int_equal(unwind_files_add(files, 3, unwind_file_map(file), 0, 0), 0);
	elf_file_close(file);
	assert_true(unwind_files_find(files, 3, vaddr, &rule));
	assert_int_equal(rule, unwind_rule(UNWIND_RSP, 1, UNWIND_RBP_KEPT));
	unwind_files_destroy(files);
}

/* More files than are kept: those from before are asked for again. */
static void too_many_files_are_forgotten_and_found_again(void **state)
{
	struct unwind_files *files = unwind_files_create();
	struct elf_file *file;
	uint64_t vaddr = place_of((const void *)(uintptr_t)qsort, &file);
	uint32_t rule;

	(void)state;
	for (uint32_t i = 0; i <= UNWIND_FILES_MAX; i++)
		assert_int_equal(unwind_files_add(files, i, unwind_file_map(file), 0, 0), 0);
	assert_false(unwind_files_has(files, 0));
	assert_true(unwind_files_has(files, UNWIND_FILES_MAX));
	assert_int_equal(unwind_files_add(files, 0, unwind_file_map(file), 0, 0), 0);
	assert_true(unwind_files_find(files, 0, vaddr, &rule));
	elf_file_close(file);
	unwind_files_destroy(files);
}

int main(void)
{
#if defined(__x86_64__)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_functions_that_are_asked_for_are_read),
		cmocka_unit_test(a_file_that_cannot_be_had_has_no_rules),
		cmocka_unit_test(addresses_outside_of_the_file_and_of_its_functions_have_none),
		cmocka_unit_test(an_image_in_memory_has_rules),
		cmocka_unit_test(too_many_files_are_forgotten_and_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
#else
	return 0;
#endif
}
