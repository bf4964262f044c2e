/* What the store syncs besides SQLite: a new file with its first commit, and the file of a store that is closed. */
#include "tests/support/cmocka_test.h"

#include <errno.h>

#include "aggregator/store/store.h"
#include "store_fixture.h"

static int nr_syncs, fails_with;

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	nr_syncs++;
	if (!fails_with)
		return __real_fsync(fd);
	errno = fails_with;
	return -1;
}

static int commit_up_to(uint64_t last)
{
	store_fixture_apply_up_to(last);
	return store_commit(store_fixture.store, store_fixture.collection);
}

static void a_new_store_is_synced_with_its_first_commit(void **state)
{
	(void)state;
	nr_syncs = 0;
	store_fixture_open_all();
	assert_int_equal(nr_syncs, 0); /* a job waits for that */
	assert_int_equal(commit_up_to(3), 0);
	assert_int_equal(nr_syncs, 1);
	assert_int_equal(commit_up_to(4), 0);
	assert_int_equal(nr_syncs, 1);
	store_fixture_close_all();
	assert_int_equal(nr_syncs, 2); /* SQLite's log is gone, and its head in the file says so */
}

static void a_sync_before_the_first_commit_saves_that_one(void **state)
{
	(void)state;
	store_fixture_open_all();
	nr_syncs = 0;
	assert_int_equal(store_sync(store_fixture.store), 0);
	assert_int_equal(store_sync(store_fixture.store), 0);
	assert_int_equal(commit_up_to(3), 0);
	assert_int_equal(nr_syncs, 1);
	store_fixture_close_all();
}

static void a_store_that_was_there_has_been_synced(void **state)
{
	(void)state;
	store_fixture_open_all();
	assert_int_equal(commit_up_to(3), 0);
	store_fixture_close_all();
	nr_syncs = 0;
	store_fixture_open_all();
	assert_int_equal(commit_up_to(4), 0);
	assert_int_equal(nr_syncs, 0);
	store_fixture_close_all();
}

static void nothing_is_committed_before_the_sync_has_succeeded(void **state)
{
	(void)state;
	store_fixture_open_all();
	fails_with = EIO;
	assert_int_equal(commit_up_to(3), -EIO);
	assert_int_equal(commit_up_to(3), -EIO);
	fails_with = 0;
	assert_int_equal(commit_up_to(3), 0);
	store_fixture_close_all();
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, store_fixture_set_up, store_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_new_store_is_synced_with_its_first_commit),
		TEST(a_sync_before_the_first_commit_saves_that_one),
		TEST(a_store_that_was_there_has_been_synced),
		TEST(nothing_is_committed_before_the_sync_has_succeeded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
