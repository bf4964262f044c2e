#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/files/maps_file.h"
#include "node-agent/files/process_maps.h"

static uint32_t module_at(const struct process_maps *maps, uint64_t address)
{
	uint32_t module_id;
	uint64_t vaddr;

	process_maps_find(maps, address, &module_id, &vaddr);
	return module_id;
}

static void an_address_is_found_with_its_virtual_address(void **state)
{
	struct process_maps *maps = process_maps_create();
	uint32_t module_id;
	uint64_t vaddr;

	(void)state;
	assert_int_equal(process_maps_add(maps, 0x7000, 0x8000, 0x6000, 3), 0);
	assert_true(process_maps_find(maps, 0x7abc, &module_id, &vaddr));
	assert_int_equal(module_id, 3);
	assert_int_equal(vaddr, 0x1abc);
	assert_false(process_maps_find(maps, 0x6fff, &module_id, &vaddr));
	assert_false(process_maps_find(maps, 0x8000, &module_id, &vaddr));
	assert_int_equal(module_id, 0);
	process_maps_destroy(maps);
}

static void the_newest_interval_wins_and_splits_what_it_lies_in(void **state)
{
	struct process_maps *maps = process_maps_create();

	(void)state;
	assert_int_equal(process_maps_add(maps, 0x1000, 0x9000, 0, 1), 0);
	assert_int_equal(process_maps_add(maps, 0x3000, 0x4000, 0, 2), 0);
	assert_int_equal(module_at(maps, 0x2fff), 1);
	assert_int_equal(module_at(maps, 0x3000), 2);
	assert_int_equal(module_at(maps, 0x4000), 1);
	process_maps_destroy(maps);
}

static void a_new_interval_swallows_several(void **state)
{
	struct process_maps *maps = process_maps_create();

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(process_maps_add(maps, i * 0x1000, i * 0x1000 + 0x800, 0, i + 1),
				 0);
	assert_int_equal(process_maps_add(maps, 0x1400, 0x5400, 0, 99), 0);
	assert_int_equal(module_at(maps, 0x13ff), 2);
	assert_int_equal(module_at(maps, 0x1400), 99);
	assert_int_equal(module_at(maps, 0x3900), 99);
	assert_int_equal(module_at(maps, 0x5400), 6);
	assert_int_equal(module_at(maps, 0x5800), 0);
	process_maps_destroy(maps);
}

static void random_intervals_agree_with_a_plain_array(void **state)
{
	enum { SPACE = 512 };
	struct process_maps *maps = process_maps_create();
	uint32_t plain[SPACE] = {0}, random = 1;

	(void)state;
	for (uint32_t i = 1; i <= 2000; i++) {
		random = random * 1664525u + 1013904223u;
		uint64_t start = (random >> 8) % SPACE, size = 1 + (random >> 20) % 64;
		uint64_t end = start + size < SPACE ? start + size : SPACE;

		assert_int_equal(process_maps_add(maps, start, end, 0, i), 0);
		for (uint64_t at = start; at < end; at++)
			plain[at] = i;
		for (uint64_t at = 0; at < SPACE; at++)
			assert_int_equal(module_at(maps, at), plain[at]);
	}
	process_maps_destroy(maps);
}

static void empty_intervals_and_too_many_are_refused(void **state)
{
	struct process_maps *maps = process_maps_create();

	(void)state;
	assert_int_equal(process_maps_add(maps, 5, 5, 0, 1), -EINVAL);
	assert_int_equal(process_maps_add(maps, 6, 5, 0, 1), -EINVAL);
	for (uint64_t i = 0; i < PROCESS_MAPS_MAX; i++)
		assert_int_equal(process_maps_add(maps, 2 * i, 2 * i + 1, 0, 1), 0);
	assert_int_equal(process_maps_add(maps, 1ull << 40, (1ull << 40) + 1, 0, 1), -ENOSPC);
	assert_int_equal(process_maps_add(maps, 0, UINT64_MAX, 0, 7), 0);
	assert_int_equal(module_at(maps, 12345), 7);
	process_maps_destroy(maps);
}

static const char maps_text[] =
	"55d000000000-55d000001000 r--p 00000000 fe:00 1234                       "
	"/usr/bin/python3\n"
	"55d000001000-55d000002000 r-xp 00001000 fe:00 1234                       "
	"/usr/bin/python3\n"
	"7f0000000000-7f0000001000 r-xp 00002000 fe:00 99   /tmp/a b.so (deleted)\n"
	"7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n"
	"7ffc00000000-7ffc00001000 r-xp 00000000 00:00 0                          [vdso]\n";

static void a_maps_file_gives_file_offset_and_path(void **state)
{
	struct maps_file_entry entry;

	(void)state;
	assert_true(maps_file_find(maps_text, strlen(maps_text), 0x55d000001800, &entry));
	assert_true(entry.executable);
	assert_false(entry.deleted);
	assert_int_equal(entry.offset, 0x1000);
	assert_int_equal(entry.path_size, strlen("/usr/bin/python3"));
	assert_memory_equal(entry.path, "/usr/bin/python3", entry.path_size);
}

static void a_deleted_file_with_a_space_in_its_name_is_understood(void **state)
{
	struct maps_file_entry entry;

	(void)state;
	assert_true(maps_file_find(maps_text, strlen(maps_text), 0x7f0000000000, &entry));
	assert_true(entry.deleted);
	assert_int_equal(entry.path_size, strlen("/tmp/a b.so"));
	assert_memory_equal(entry.path, "/tmp/a b.so", entry.path_size);
}

static void anonymous_and_special_mappings_have_no_path(void **state)
{
	struct maps_file_entry entry;

	(void)state;
	assert_true(maps_file_find(maps_text, strlen(maps_text), 0x7f0000002000, &entry));
	assert_false(entry.executable);
	assert_int_equal(entry.path_size, 0);
	assert_true(maps_file_find(maps_text, strlen(maps_text), 0x7ffc00000000, &entry));
	assert_int_equal(entry.path_size, 0);
}

static void an_unknown_address_and_a_broken_file_are_not_found(void **state)
{
	struct maps_file_entry entry;

	(void)state;
	assert_false(maps_file_find(maps_text, strlen(maps_text), 0x1000, &entry));
	assert_int_equal(entry.path_size, 0);
	assert_false(maps_file_find("nonsense\n", 9, 0x1000, &entry));
	assert_int_equal(entry.end, 0);
	assert_false(maps_file_find("", 0, 0x1000, &entry));
	for (size_t size = 0; size < strlen(maps_text); size++)
		maps_file_find(maps_text, size, UINT64_MAX - 1, &entry);
	assert_int_equal(entry.path_size, 0);
}

static void a_line_is_a_mapping_to_the_search_and_to_the_list_or_to_neither(void **state)
{
	static const char *const lines[] = {
		"10000000000002000-10000000000003000 r-xp 0 0:0 1 /a\n", /* more than 64 bits */
		"-1-5 r-xp 0 0:0 1 /a\n",
		"3000-2000 r-xp 0 0:0 1 /a\n",
		"1000-3000 r-xp\n",
	};
	struct maps_file_entry entry;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *text = lines[i];
		size_t size = strlen(text);

		assert_false(maps_file_find(text, size, 0x2000, &entry));
		assert_int_equal(entry.start, 0);
		assert_int_equal(entry.end, 0);
		assert_false(maps_file_next(&text, &size, &entry));
		assert_int_equal(entry.end, 0);
	}
}

static void of_an_address_in_no_mapping_the_hole_is_told(void **state)
{
	struct maps_file_entry entry;

	(void)state;
	assert_false(maps_file_find(maps_text, strlen(maps_text), 0x1000, &entry));
	assert_int_equal(entry.start, 0);
	assert_int_equal(entry.end, 0x55d000000000);
	assert_false(maps_file_find(maps_text, strlen(maps_text), 0x7f0000001000, &entry));
	assert_int_equal(entry.start, 0x7f0000001000);
	assert_int_equal(entry.end, 0x7f0000002000);
	assert_false(maps_file_find(maps_text, strlen(maps_text), UINT64_MAX, &entry));
	assert_int_equal(entry.start, 0x7ffc00001000);
	assert_int_equal(entry.end, UINT64_MAX);
}

/* ---- many mappings ------------------------------------------------------------------------------ */

#define MANY 3000u

struct many {
	struct {
		uint64_t start, end;
	} mappings[MANY];
	char text[MANY * 80];
	size_t size;
};

/* Some touch each other, some do not; some have a path. */
static void make_many(struct many *many)
{
	uint64_t at = 0x400000;

	many->size = 0;
	srand(7);
	for (uint32_t i = 0; i < MANY; i++) {
		at += (uint64_t)(rand() % 3) * 0x1000;
		many->mappings[i].start = at;
		at += (uint64_t)(1 + rand() % 4) * 0x1000;
		many->mappings[i].end = at;
		many->size += (size_t)sprintf(
			many->text + many->size, "%llx-%llx r-xp 00000000 fe:00 %u %s\n",
			(unsigned long long)many->mappings[i].start, (unsigned long long)at, i,
			i % 2 ? "/usr/lib/x86_64-linux-gnu/libc.so.6" : "");
	}
}

/* The mapping of an address; of one in none the number of mappings. */
static uint32_t find_plainly(const struct many *many, uint64_t address)
{
	uint32_t i = 0;

	while (i < MANY && (address < many->mappings[i].start || address >= many->mappings[i].end))
		i++;
	return i;
}

static uint64_t random_address(const struct many *many)
{
	uint64_t low = many->mappings[0].start, high = many->mappings[MANY - 1].end;

	return low - 0x2000 + (uint64_t)rand() * 0x1000 % (high - low + 0x4000) +
	       (uint64_t)(rand() % 3) * 0xfff;
}

static void random_addresses_agree_with_a_plain_search(void **state)
{
	struct many *many = malloc(sizeof(*many));

	(void)state;
	make_many(many);
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t address = random_address(many);
		uint32_t expected = find_plainly(many, address);
		struct maps_file_entry entry;
		bool found = maps_file_find(many->text, many->size, address, &entry);

		assert_int_equal(found, expected < MANY);
		if (found) {
			assert_int_equal(entry.start, many->mappings[expected].start);
			assert_int_equal(entry.end, many->mappings[expected].end);
			assert_int_equal(entry.inode, expected);
			assert_int_equal(entry.path_size > 0, expected % 2);
		} else {
			assert_true(entry.start <= address && address < entry.end);
			assert_int_equal(find_plainly(many, entry.start), MANY);
			assert_int_equal(find_plainly(many, entry.end - 1), MANY);
		}
	}
	free(many);
}

/* Each line that is looked at is found by its ends. */
static uint32_t nr_lines;

void *__real_memchr(const void *bytes, int c, size_t size);
void *__wrap_memchr(const void *bytes, int c, size_t size);
void *__wrap_memchr(const void *bytes, int c, size_t size)
{
	nr_lines++;
	return __real_memchr(bytes, c, size);
}

static void few_lines_are_looked_at_wherever_an_address_lies(void **state)
{
	struct many *many = malloc(sizeof(*many));
	struct maps_file_entry entry;

	(void)state;
	make_many(many);
	for (uint32_t i = 0; i < 2000; i++) {
		nr_lines = 0;
		maps_file_find(many->text, many->size, random_address(many), &entry);
		assert_in_range(nr_lines, 1, 18); /* bytes are halved, 2^18 of them at most */
	}
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_found_with_its_virtual_address),
		cmocka_unit_test(the_newest_interval_wins_and_splits_what_it_lies_in),
		cmocka_unit_test(a_new_interval_swallows_several),
		cmocka_unit_test(random_intervals_agree_with_a_plain_array),
		cmocka_unit_test(empty_intervals_and_too_many_are_refused),
		cmocka_unit_test(a_maps_file_gives_file_offset_and_path),
		cmocka_unit_test(a_deleted_file_with_a_space_in_its_name_is_understood),
		cmocka_unit_test(anonymous_and_special_mappings_have_no_path),
		cmocka_unit_test(an_unknown_address_and_a_broken_file_are_not_found),
		cmocka_unit_test(
			a_line_is_a_mapping_to_the_search_and_to_the_list_or_to_neither),
		cmocka_unit_test(of_an_address_in_no_mapping_the_hole_is_told),
		cmocka_unit_test(random_addresses_agree_with_a_plain_search),
		cmocka_unit_test(few_lines_are_looked_at_wherever_an_address_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
