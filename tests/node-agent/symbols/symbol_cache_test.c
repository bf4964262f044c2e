#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/files/elf_file.h"
#include "node-agent/symbols/symbol_cache.h"
#include "node-agent/symbols/symbol_table.h"
#include "tests/node-agent/guests/loaded_fixture.h"

#define OWNER 1000u

static const char *fixture_path;
static char parent[64], directory[96];
static const uint8_t build_id[20] = {0xab, 0xcd, 1, 2, 3};

static int set_up(void **state)
{
	(void)state;
	loaded_fixture_directory(parent, sizeof(parent));
	snprintf(directory, sizeof(directory), "%s/cache/symbols", parent);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	loaded_fixture_remove(parent);
	return 0;
}

static struct symbol_table *read_table(void)
{
	struct elf_file *file = loaded_fixture_open(fixture_path);
	struct symbol_table *table;

	assert_int_equal(symbol_table_create(&file, 1, &table), 0);
	elf_file_close(file);
	return table;
}

static void file_path(char path[static 256], const uint8_t id[static 20])
{
	int size = snprintf(path, 256, "%s/", directory);

	for (int i = 0; i < 20; i++)
		size += snprintf(path + size, 256 - (size_t)size, "%02x", id[i]);
	snprintf(path + size, 256 - (size_t)size, "-%u.symbols", OWNER);
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_mode & 07777;
}

static void a_table_comes_back_as_it_was(void **state)
{
	struct symbol_cache *cache = symbol_cache_create(directory, SYMBOL_CACHE_SIZE_MAX);
	struct symbol_table *table = read_table(), *loaded;
	uint64_t global = loaded_fixture_vaddr(fixture_path, "fixture_global");
	char path[256];

	(void)state;
	assert_int_equal(symbol_cache_load(cache, OWNER, build_id, 20, &loaded), -ENOENT);
	assert_null(loaded);
	assert_int_equal(symbol_cache_store(cache, OWNER, build_id, 20, table), 0);
	assert_int_equal(symbol_cache_load(cache, OWNER, build_id, 20, &loaded), 0);
	assert_int_equal(symbol_table_count(loaded), symbol_table_count(table));
	for (uint64_t at = global - 200; at < global + 300; at++) {
		const char *name = symbol_table_find(table, at);

		if (name)
			assert_string_equal(symbol_table_find(loaded, at), name);
		else
			assert_null(symbol_table_find(loaded, at));
	}
	file_path(path, build_id);
	assert_int_equal(mode_of(path), 0600);
	assert_int_equal(mode_of(directory), 0700);
	symbol_table_destroy(loaded);
	symbol_table_destroy(table);
	symbol_cache_destroy(cache);
}

static void every_damaged_byte_is_noticed_and_the_file_replaced(void **state)
{
	struct symbol_cache *cache = symbol_cache_create(directory, SYMBOL_CACHE_SIZE_MAX);
	struct symbol_table *table = read_table(), *loaded;
	struct stat status;
	char path[256];

	(void)state;
	assert_int_equal(symbol_cache_store(cache, OWNER, build_id, 20, table), 0);
	file_path(path, build_id);
	assert_int_equal(stat(path, &status), 0);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	for (off_t at = 0; at < status.st_size; at += 1 + at / 40) {
		uint8_t byte, other;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ 0x10;
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		assert_int_equal(symbol_cache_load(cache, OWNER, build_id, 20, &loaded), -EBADMSG);
		assert_null(loaded);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(ftruncate(fd, status.st_size - 1), 0);
	assert_int_equal(symbol_cache_load(cache, OWNER, build_id, 20, &loaded), -EBADMSG);
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_int_equal(symbol_cache_load(cache, OWNER, build_id, 20, &loaded), -EBADMSG);
	close(fd);
	assert_int_equal(symbol_cache_store(cache, OWNER, build_id, 20, table), 0);
	assert_int_equal(symbol_cache_load(cache, OWNER, build_id, 20, &loaded), 0);
	symbol_table_destroy(loaded);
	symbol_table_destroy(table);
	symbol_cache_destroy(cache);
}

static void a_file_of_another_build_id_is_not_believed(void **state)
{
	struct symbol_cache *cache = symbol_cache_create(directory, SYMBOL_CACHE_SIZE_MAX);
	struct symbol_table *table = read_table(), *loaded;
	uint8_t other[20] = {9};
	char from[256], to[256];

	(void)state;
	assert_int_equal(symbol_cache_store(cache, OWNER, build_id, 20, table), 0);
	file_path(from, build_id);
	file_path(to, other);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(symbol_cache_load(cache, OWNER, other, 20, &loaded), -EBADMSG);
	assert_int_equal(symbol_cache_load(cache, OWNER, other, 0, &loaded), -ENOENT);
	assert_int_equal(symbol_cache_store(cache, OWNER, other, 33, table), -EINVAL);
	symbol_table_destroy(table);
	symbol_cache_destroy(cache);
}

static void a_table_of_another_owner_is_not_believed(void **state)
{
	struct symbol_cache *cache = symbol_cache_create(directory, SYMBOL_CACHE_SIZE_MAX);
	struct symbol_table *table = read_table(), *loaded;
	char from[256], to[256];

	(void)state;
	assert_int_equal(symbol_cache_store(cache, OWNER, build_id, 20, table), 0);
	assert_int_equal(symbol_cache_load(cache, OWNER + 1, build_id, 20, &loaded), -ENOENT);
	assert_int_equal(symbol_cache_load(cache, SYMBOL_CACHE_ROOT, build_id, 20, &loaded),
			 -ENOENT);
	file_path(from, build_id);
	snprintf(to, sizeof(to), "%.*s-0.symbols", (int)(strrchr(from, '-') - from), from);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(symbol_cache_load(cache, SYMBOL_CACHE_ROOT, build_id, 20, &loaded),
			 -EBADMSG);
	symbol_table_destroy(table);
	symbol_cache_destroy(cache);
}

static void the_one_not_used_for_longest_goes_first(void **state)
{
	struct symbol_table *table = read_table(), *loaded;
	struct symbol_cache *unbounded = symbol_cache_create(directory, SYMBOL_CACHE_SIZE_MAX);
	uint8_t ids[4][20] = {{1}, {2}, {3}, {4}};
	struct stat status;
	char path[256];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};

		assert_int_equal(symbol_cache_store(unbounded, OWNER, ids[i], 20, table), 0);
		file_path(path, ids[i]);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	}
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(symbol_cache_load(unbounded, OWNER, ids[0], 20, &loaded), 0);
	symbol_table_destroy(loaded);

	struct symbol_cache *bounded = symbol_cache_create(directory, (uint64_t)status.st_size * 3);
	assert_int_equal(symbol_cache_store(bounded, OWNER, ids[3], 20, table), 0);
	for (int i = 0; i < 4; i++) {
		file_path(path, ids[i]);
		assert_int_equal(access(path, F_OK), i == 1 ? -1 : 0);
	}
	symbol_table_destroy(table);
	symbol_cache_destroy(bounded);
	symbol_cache_destroy(unbounded);
}

static void what_a_killed_writer_left_goes_with_the_next_table(void **state)
{
	struct symbol_cache *cache = symbol_cache_create(directory, SYMBOL_CACHE_SIZE_MAX);
	struct symbol_table *table = read_table();
	char path[256], left[300];

	(void)state;
	assert_int_equal(symbol_cache_store(cache, OWNER, build_id, 20, table), 0);
	file_path(path, build_id);
	snprintf(left, sizeof(left), "%s.0123456789abcdef", path);
	assert_int_equal(link(path, left), 0);
	assert_int_equal(symbol_cache_store(cache, OWNER, build_id, 20, table), 0);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access(path, F_OK), 0);
	symbol_table_destroy(table);
	symbol_cache_destroy(cache);
}

static void a_directory_that_others_may_write_to_is_not_used(void **state)
{
	struct symbol_cache *cache = symbol_cache_create(directory, SYMBOL_CACHE_SIZE_MAX);
	struct symbol_table *table = read_table(), *loaded;

	(void)state;
	assert_int_equal(symbol_cache_store(cache, OWNER, build_id, 20, table), 0);
	assert_int_equal(chmod(directory, 0777), 0);
	assert_int_equal(symbol_cache_load(cache, OWNER, build_id, 20, &loaded), -EPERM);
	assert_int_equal(symbol_cache_store(cache, OWNER, build_id, 20, table), -EPERM);
	assert_null(loaded);
	symbol_table_destroy(table);
	symbol_cache_destroy(cache);
}

static void content_that_breaks_the_rules_is_refused(void **state)
{
	const struct symbol_table_symbol good[2] = {{16, 32, 0, SYMBOL_TABLE_NO_SYMBOL},
						    {20, 24, 2, 0}};
	struct symbol_table_symbol symbols[2];
	struct symbol_table_content content = {symbols, "a\0b", 2, 4};
	struct symbol_table *table;

	(void)state;
	for (int rule = 0; rule < 7; rule++) {
		memcpy(symbols, good, sizeof(symbols));
		symbols[1].outer = rule == 1 ? 1 : 0;
		symbols[1].name = rule == 2 ? 4 : 2;
		symbols[1].start = rule == 3 ? 16 : 20;
		symbols[0].end = rule == 4 ? 16 : 32;
		content.names_size = rule == 5 ? 3 : 4;
		content.count = rule == 6 ? 0 : 2;
		assert_int_equal(symbol_table_restore(&content, malloc(1), &table),
				 rule == 0 ? 0 : -EBADMSG);
		if (rule == 0)
			assert_string_equal(symbol_table_find(table, 22), "b");
		symbol_table_destroy(table);
	}
}

static void the_directory_is_the_option_or_the_users_cache(void **state)
{
	char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
	const char *cache = getenv("XDG_CACHE_HOME");
	char *kept = cache ? strdup(cache) : NULL, *path;

	(void)state;
	assert_null(symbol_cache_directory("off"));
	path = symbol_cache_directory("/some/where");
	assert_string_equal(path, "/some/where");
	free(path);
	setenv("XDG_CACHE_HOME", "/x", 1);
	path = symbol_cache_directory(NULL);
	assert_string_equal(path, "/x/flamegrid/symbols");
	free(path);
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "/h", 1);
	path = symbol_cache_directory(NULL);
	assert_string_equal(path, "/h/.cache/flamegrid/symbols");
	free(path);
	unsetenv("HOME");
	assert_null(symbol_cache_directory(NULL));
	setenv("HOME", home, 1);
	if (kept)
		setenv("XDG_CACHE_HOME", kept, 1);
	free(home);
	free(kept);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_table_comes_back_as_it_was, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_damaged_byte_is_noticed_and_the_file_replaced,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_of_another_build_id_is_not_believed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_table_of_another_owner_is_not_believed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_one_not_used_for_longest_goes_first, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_a_killed_writer_left_goes_with_the_next_table,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_directory_that_others_may_write_to_is_not_used,
						set_up, tear_down),
		cmocka_unit_test(content_that_breaks_the_rules_is_refused),
		cmocka_unit_test(the_directory_is_the_option_or_the_users_cache),
	};

	if (argc != 2)
		return 2;
	fixture_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
