#include "node-agent/tables/table_cache.h"

#include "tests/support/cmocka_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/files/cache_directory.h"
#include "node-agent/tables/table_keeper.h"
#include "node-agent/tables/table_memory.h"
#include "tests/node-agent/guests/loaded_fixture.h"
#include "unwind/table_arena.h"
#include "unwind/unwind_row.h"
#include "unwind/unwind_rows.h"

#define USER 1000u

static char parent[64], directory[96];
static bool is_saved[TABLE_ARENA_ENTRIES];
static const struct cache_limits limits = {TABLE_CACHE_SIZE_MAX, TABLE_CACHE_FILES_MAX};

static int set_up(void **state)
{
	(void)state;
	memset(is_saved, 0, sizeof(is_saved));
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

static struct table_arena new_arena(void)
{
	struct table_arena arena;
	int fd = table_memory_create();

	assert_int_equal(table_arena_map(fd, &arena), 0);
	close(fd);
	return arena;
}

/* A table whose rule has this many words. */
static struct unwind_pack make_pack(uint64_t tag, int32_t words)
{
	struct unwind_rows rows;
	struct unwind_pack pack;

	unwind_rows_init(&rows, 1u << 16);
	unwind_rows_put(&rows, 0, unwind_rule(UNWIND_RSP, words, UNWIND_RBP_KEPT));
	assert_int_equal(unwind_pack_make(&rows, tag, &pack), 0);
	unwind_rows_fini(&rows);
	return pack;
}

static void enter(const struct table_arena *arena, uint64_t tag, int32_t words)
{
	struct unwind_pack pack = make_pack(tag, words), entered;
	struct table_arena_claim claim;

	assert_int_equal(table_arena_find(arena, tag, &entered, &claim), TABLE_ARENA_CLAIMED);
	assert_true(table_arena_enter(arena, &claim, tag, &pack, &entered));
	unwind_pack_fini(&pack);
}

/* Returns the words of the table's rule; 0: there is no table, or it is claimed. */
static uint32_t words_of(const struct table_arena *arena, uint64_t tag)
{
	struct table_arena_claim claim;
	struct unwind_pack pack;
	enum table_arena_answer answer = table_arena_find(arena, tag, &pack, &claim);

	if (answer == TABLE_ARENA_CLAIMED)
		table_arena_give_up(&claim);
	return answer == TABLE_ARENA_HAS ? unwind_rule_number(unwind_pack_find(&pack, 0)) : 0;
}

static void file_path(char path[static PATH_MAX], uint64_t tag)
{
	snprintf(path, PATH_MAX, "%s/%016lx-%u.unwind", directory, tag, USER);
}

static void store(uint64_t tag, int32_t words)
{
	struct table_arena arena = new_arena();

	memset(is_saved, 0, sizeof(is_saved));
	enter(&arena, tag, words);
	assert_int_equal(table_cache_store(directory, USER, &arena, is_saved, &limits), 1);
	assert_int_equal(table_cache_store(directory, USER, &arena, is_saved, &limits), 0);
	table_arena_unmap(&arena);
}

/* ---- the arena */

static void memory_that_can_shrink_is_refused(void **state)
{
	struct table_arena arena;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)TABLE_ARENA_BYTES), 0);
	assert_int_equal(table_arena_map(fd, &arena), -EPROTO);
	assert_null(arena.index);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(table_arena_map(fd, &arena), -EPROTO);
	close(fd);
	fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	assert_int_equal(table_arena_map(fd, &arena), -EPROTO);
	close(fd);
}

static void one_process_builds_and_others_wait(void **state)
{
	struct table_arena arena = new_arena();
	struct unwind_pack pack = make_pack(9, 3), entered;
	struct table_arena_claim claim, other;

	(void)state;
	assert_int_equal(table_arena_find(&arena, 9, &entered, &claim), TABLE_ARENA_CLAIMED);
	assert_int_equal(table_arena_find(&arena, 9, &entered, &other), TABLE_ARENA_BUSY);
	table_arena_give_up(&claim);
	assert_int_equal(table_arena_find(&arena, 9, &entered, &claim), TABLE_ARENA_CLAIMED);
	/* The process that had claimed it is dead for long. */
	claim.place -= 2 * TABLE_ARENA_CLAIM_S;
	atomic_store(&claim.entry->place, claim.place);
	assert_int_equal(table_arena_find(&arena, 9, &entered, &other), TABLE_ARENA_CLAIMED);
	assert_true(table_arena_enter(&arena, &other, 9, &pack, &entered));
	assert_false(table_arena_enter(&arena, &claim, 9, &pack, &entered));
	assert_null(entered.data);
	assert_int_equal(words_of(&arena, 9), 3);
	assert_int_equal(table_arena_find(&arena, 0, &entered, &claim), TABLE_ARENA_NONE);
	unwind_pack_fini(&pack);
	table_arena_unmap(&arena);
}

static void nonsense_in_the_index_gives_no_table(void **state)
{
	struct table_arena arena = new_arena();
	struct table_arena_claim claim;
	struct unwind_pack pack;

	(void)state;
	enter(&arena, 9, 3);
	for (int shift = 1; shift < 64; shift++) {
		atomic_store(&arena.index->entries[9].place, UINT64_MAX << shift);
		assert_int_equal(table_arena_find(&arena, 9, &pack, &claim), TABLE_ARENA_NONE);
		assert_null(pack.data);
	}
	atomic_store(&arena.index->nr_pages, UINT64_MAX);
	assert_int_equal(table_arena_find(&arena, 10, &pack, &claim), TABLE_ARENA_CLAIMED);
	pack = make_pack(10, 3);
	struct unwind_pack entered;
	assert_false(table_arena_enter(&arena, &claim, 10, &pack, &entered));
	unwind_pack_fini(&pack);
	table_arena_unmap(&arena);
}

/* Each process enters what it can claim; all see the same tables, each of which was entered once. */
static void racing_processes_enter_each_table_once(void **state)
{
	struct table_arena arena = new_arena();
	pid_t children[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		for (uint64_t tag = 1; tag <= 200; tag++) {
			struct table_arena_claim claim;
			struct unwind_pack pack, entered;

			if (table_arena_find(&arena, tag, &entered, &claim) != TABLE_ARENA_CLAIMED)
				continue;
			pack = make_pack(tag, (int32_t)tag);
			table_arena_enter(&arena, &claim, tag, &pack, &entered);
		}
		_exit(0);
	}
	for (int i = 0; i < 8; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	for (uint64_t tag = 1; tag <= 200; tag++)
		assert_int_equal(words_of(&arena, tag), tag);
	assert_int_equal(atomic_load(&arena.index->nr_pages), 200);
	table_arena_unmap(&arena);
}

/* ---- files */

static void a_table_comes_back_as_it_was(void **state)
{
	struct table_arena arena = new_arena();
	char path[PATH_MAX];
	struct stat status;

	(void)state;
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), -ENOENT);
	store(9, 3);
	file_path(path, 9);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(table_cache_load(directory, USER + 1, &arena, is_saved, &limits), 0);
	assert_int_equal(words_of(&arena, 9), 0);
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 1);
	assert_int_equal(words_of(&arena, 9), 3);
	table_arena_unmap(&arena);
}

static void write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

static void damaged_and_truncated_files_are_deleted(void **state)
{
	struct table_arena arena = new_arena();
	uint8_t content[4096];
	char path[PATH_MAX];

	(void)state;
	store(9, 3);
	file_path(path, 9);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, content, sizeof(content));
	close(fd);
	assert_in_range(size, 40, sizeof(content) - 1);
	for (ssize_t at = 0; at < size; at++) {
		content[at] ^= 0x10;
		write_file(path, content, (size_t)size);
		content[at] ^= 0x10;
		assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 0);
		assert_int_equal(access(path, F_OK), -1);
	}
	for (ssize_t cut = 0; cut < size; cut++) {
		write_file(path, content, (size_t)cut);
		assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 0);
		assert_int_equal(access(path, F_OK), -1);
	}
	write_file(path, content, (size_t)size);
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 1);
	assert_int_equal(words_of(&arena, 9), 3);
	table_arena_unmap(&arena);
}

static void files_and_directories_of_others_are_refused(void **state)
{
	struct table_arena arena = new_arena();
	char path[PATH_MAX], link[PATH_MAX];

	(void)state;
	store(9, 3);
	file_path(path, 9);
	file_path(link, 10);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 0);
	assert_int_equal(chmod(path, 0600), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
		assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 0);
		assert_int_equal(chown(path, 0, (gid_t)-1), 0);
	}
	assert_int_equal(chmod(directory, 0770), 0);
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), -EPERM);
	enter(&arena, 11, 3);
	assert_int_equal(table_cache_store(directory, USER, &arena, is_saved, &limits), -EPERM);
	table_arena_unmap(&arena);
}

static void oldest_files_go_first(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct table_arena arena = new_arena();
	char path[PATH_MAX];
	struct stat status;

	(void)state;
	for (uint64_t tag = 1; tag <= 3; tag++)
		store(tag, (int32_t)tag);
	file_path(path, 2);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	memset(is_saved, 0, sizeof(is_saved));
	enter(&arena, 4, 4);
	const struct cache_limits three = {(uint64_t)status.st_size * 3, TABLE_CACHE_FILES_MAX};
	assert_int_equal(table_cache_store(directory, USER, &arena, is_saved, &three), 1);
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 2);
	assert_int_equal(words_of(&arena, 1), 1);
	assert_int_equal(words_of(&arena, 2), 0);
	assert_int_equal(words_of(&arena, 3), 3);
	table_arena_unmap(&arena);
}

/* Also: a table that is only loaded is not used by that, but one that a process finds is. */
static void more_files_than_may_be_lose_those_unused_for_the_longest(void **state)
{
	const struct cache_limits three = {TABLE_CACHE_SIZE_MAX, 3};
	struct table_arena arena = new_arena();
	char path[PATH_MAX];

	(void)state;
	for (uint64_t tag = 1; tag <= 4; tag++) {
		const struct timespec old[2] = {{.tv_sec = (time_t)tag}, {.tv_sec = (time_t)tag}};

		store(tag, (int32_t)tag);
		file_path(path, tag);
		assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	}
	memset(is_saved, 0, sizeof(is_saved));
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 4);
	assert_int_equal(words_of(&arena, 1), 1);
	assert_int_equal(table_cache_store(directory, USER, &arena, is_saved, &three), 0);
	table_arena_unmap(&arena);

	arena = new_arena();
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &three), 4);
	table_arena_unmap(&arena);
	arena = new_arena();
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &three), 3);
	assert_int_equal(words_of(&arena, 1), 1);
	assert_int_equal(words_of(&arena, 2), 0);
	table_arena_unmap(&arena);
}

/* Files that are no tables leave room for tables, however many they are. */
static void tables_that_are_loaded_leave_half_of_the_arena(void **state)
{
	const struct timespec oldest[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct table_arena arena = new_arena();
	char path[PATH_MAX];

	(void)state;
	store(1, 3);
	file_path(path, 1);
	assert_int_equal(utimensat(AT_FDCWD, path, oldest, 0), 0);
	for (uint64_t tag = 2; tag < 5002; tag++) {
		file_path(path, tag);
		write_file(path, "ten bytes.", 10);
	}
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 1);
	assert_int_equal(words_of(&arena, 1), 3);
	assert_false(table_arena_is_full(&arena));
	file_path(path, 2);
	assert_int_equal(access(path, F_OK), -1);
	for (uint64_t tag = 2; tag < 3002; tag++) {
		char content[64];

		file_path(path, tag);
		memset(content, 'x', sizeof(content));
		write_file(path, content, sizeof(content));
	}
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 0);
	assert_false(table_arena_is_full(&arena));
	enter(&arena, 4000, 5);
	assert_int_equal(words_of(&arena, 4000), 5);
	table_arena_unmap(&arena);
}

/* A file of a writer that was killed goes; one that is being written stays, and counts. */
static void what_killed_writers_leave_is_deleted(void **state)
{
	const struct cache_limits one = {1, 1};
	struct table_arena arena = new_arena();
	char path[PATH_MAX], left[PATH_MAX + 32], written[PATH_MAX + 32], other[PATH_MAX + 32];

	(void)state;
	store(1, 3);
	file_path(path, 1);
	snprintf(left, sizeof(left), "%s.0123456789abcdef", path);
	snprintf(written, sizeof(written), "%s.fedcba9876543210", path);
	snprintf(other, sizeof(other), "%s.0123456789abcde_", path);
	write_file(left, "half", 4);
	write_file(written, "half", 4);
	write_file(other, "half", 4);
	int fd = open(written, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &one), 1);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access(written, F_OK), 0);
	assert_int_equal(access(other, F_OK), 0);
	close(fd);
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits), 0);
	assert_int_equal(access(written, F_OK), -1);
	table_arena_unmap(&arena);
}

/* ---- the keeper */

static struct table_arena arena_of(struct table_keeper *keeper, uid_t user)
{
	struct table_arena arena;

	assert_int_equal(table_arena_map(table_keeper_memory(keeper, user), &arena), 0);
	return arena;
}

static void keeper_stores_tables_and_gives_them_to_their_user_alone(void **state)
{
	struct table_keeper *keeper = table_keeper_start(directory);
	struct table_arena arena = arena_of(keeper, USER), other = arena_of(keeper, USER + 1);

	(void)state;
	enter(&arena, 9, 3);
	enter(&other, 9, 4);
	table_arena_unmap(&arena);
	table_arena_unmap(&other);
	table_keeper_stop(keeper, 40000);

	keeper = table_keeper_start(directory);
	arena = arena_of(keeper, USER);
	other = arena_of(keeper, USER + 1);
	while (words_of(&arena, 9) == 0 || words_of(&other, 9) == 0)
		sched_yield();
	assert_int_equal(words_of(&arena, 9), 3);
	assert_int_equal(words_of(&other, 9), 4);
	table_arena_unmap(&arena);
	table_arena_unmap(&other);
	table_keeper_stop(keeper, 40000);
}

static void a_full_arena_makes_room_for_another(void **state)
{
	const uint64_t nr = TABLE_ARENA_ENTRIES / 4 * 3;
	struct table_keeper *keeper = table_keeper_start(directory);
	struct table_arena arena = arena_of(keeper, USER);

	(void)state;
	for (uint64_t tag = 1; tag <= nr; tag++)
		enter(&arena, tag, 3);
	assert_true(table_arena_is_full(&arena));
	while (table_arena_is_full(&arena)) {
		table_arena_unmap(&arena);
		sched_yield();
		arena = arena_of(keeper, USER);
	}
	enter(&arena, nr + 1, 4);
	assert_int_equal(words_of(&arena, nr + 1), 4);
	table_arena_unmap(&arena);
	table_keeper_stop(keeper, 40000);

	arena = new_arena();
	assert_int_equal(table_cache_load(directory, USER, &arena, is_saved, &limits),
			 TABLE_ARENA_ENTRIES / 2);
	assert_int_equal(words_of(&arena, nr + 1), 4);
	table_arena_unmap(&arena);
}

static void without_a_directory_a_full_arena_makes_room_too(void **state)
{
	const uint64_t nr = TABLE_ARENA_ENTRIES / 4 * 3;
	struct table_keeper *keeper = table_keeper_start(NULL);
	struct table_arena arena = arena_of(keeper, USER), old = arena;

	(void)state;
	for (uint64_t tag = 1; tag <= nr; tag++)
		enter(&old, tag, 3);
	arena = arena_of(keeper, USER);
	assert_false(table_arena_is_full(&arena));
	enter(&arena, nr + 1, 4);
	assert_int_equal(words_of(&old, 1), 3); /* processes that have it keep it */
	assert_int_equal(words_of(&old, nr + 1), 0);
	table_arena_unmap(&old);
	table_arena_unmap(&arena);
	arena = arena_of(keeper, USER);
	assert_int_equal(words_of(&arena, nr + 1), 4);
	table_arena_unmap(&arena);
	table_keeper_stop(keeper, 40000);
}

static void without_a_directory_tables_are_shared_and_not_stored(void **state)
{
	struct table_keeper *keeper = table_keeper_start(NULL);
	struct table_arena arena = arena_of(keeper, USER);

	(void)state;
	enter(&arena, 9, 3);
	table_arena_unmap(&arena);
	for (uid_t user = 1; user < TABLE_KEEPER_USERS_MAX; user++)
		assert_true(table_keeper_memory(keeper, user) >= 0);
	arena = arena_of(keeper, USER);
	assert_int_equal(words_of(&arena, 9), 3);
	table_arena_unmap(&arena);
	/* One more user takes the place of the one that came first and not again. */
	assert_true(table_keeper_memory(keeper, 50) >= 0);
	arena = arena_of(keeper, USER);
	assert_int_equal(words_of(&arena, 9), 3);
	table_arena_unmap(&arena);
	table_keeper_stop(keeper, 40000);
	assert_int_equal(access(directory, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_can_shrink_is_refused),
		cmocka_unit_test(one_process_builds_and_others_wait),
		cmocka_unit_test(nonsense_in_the_index_gives_no_table),
		cmocka_unit_test(racing_processes_enter_each_table_once),
		cmocka_unit_test_setup_teardown(a_table_comes_back_as_it_was, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged_and_truncated_files_are_deleted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(files_and_directories_of_others_are_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(oldest_files_go_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			more_files_than_may_be_lose_those_unused_for_the_longest, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(tables_that_are_loaded_leave_half_of_the_arena,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_killed_writers_leave_is_deleted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_full_arena_makes_room_for_another, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_a_directory_a_full_arena_makes_room_too,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			keeper_stores_tables_and_gives_them_to_their_user_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			without_a_directory_tables_are_shared_and_not_stored, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
