#include "timeline/log/event_place.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t id[EVENT_FORMAT_ID] = {0x01, 0xab, [EVENT_FORMAT_ID - 1] = 0xff};
#define ID_TEXT "01ab00000000000000000000000000ff"

static void the_place_by_id_is_the_same_for_all_stores_of_a_profile(void **state)
{
	static const char *const stores[] = {"/d.part-1/profile.db", "/d.part-1/profile.db.part-7",
					     "/d.part-1/profile.db.part-7.part-8"};
	char folder[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
		assert_int_equal(event_place_by_id(stores[i], id, folder), 0);
		assert_string_equal(folder, "/d.part-1/profile.db.part-" ID_TEXT ".timeline");
	}
	assert_int_equal(event_place_by_id("profile.db", id, folder), 0);
	assert_string_equal(folder, "profile.db.part-" ID_TEXT ".timeline");
	assert_int_equal(event_place_beside(stores[1], folder), 0);
	assert_string_equal(folder, "/d.part-1/profile.db.part-7.timeline");
}

static void a_path_that_is_too_long_is_refused(void **state)
{
	char path[PATH_MAX], folder[PATH_MAX];

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(event_place_beside(path, folder), -ENAMETOOLONG);
	assert_int_equal(event_place_by_id(path, id, folder), -ENAMETOOLONG);
	assert_int_equal(event_place_find(path, id, folder), -ENAMETOOLONG);
	assert_int_equal(event_place_find(path, NULL, folder), -ENAMETOOLONG);
}

static void make_file(const char *folder, const char *name)
{
	char path[PATH_MAX];

	assert_true(snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path));
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void the_folder_by_id_is_found_first(void **state)
{
	char top[] = "/tmp/flamegrid-place.XXXXXX", store[PATH_MAX], by_id[PATH_MAX];
	char beside[PATH_MAX], found[PATH_MAX];

	const struct timespec times[] = {{7, 9}, {7, 9}};
	uint64_t changed_ns;

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(store, sizeof(store), "%s/profile.db", top);
	assert_int_equal(event_place_by_id(store, id, by_id), 0);
	assert_int_equal(event_place_beside(store, beside), 0);
	assert_int_equal(event_place_find(store, id, found), 0);
	assert_string_equal(found, beside);
	assert_int_equal(event_place_move(by_id, beside), 0); /* there is none */
	make_file(top, "profile.db.part-7");
	make_file(top, "profile.db.second.timeline"); /* of another profile */
	assert_false(event_place_has(store, &changed_ns));
	assert_int_equal(changed_ns, 0);
	assert_int_equal(mkdir(by_id, 0700), 0);
	assert_int_equal(utimensat(AT_FDCWD, by_id, times, 0), 0);
	assert_true(event_place_has(store, &changed_ns));
	assert_int_equal(changed_ns, 7000000010);
	make_file(by_id, "00000001.events");
	assert_int_equal(event_place_find(store, id, found), 0);
	assert_string_equal(found, by_id);
	assert_int_equal(event_place_find(store, NULL, found), 0);
	assert_string_equal(found, beside);

	/* an empty one is in its place, then one with a file */
	assert_int_equal(mkdir(beside, 0700), 0);
	assert_int_equal(event_place_move(by_id, beside), 0);
	assert_int_equal(access(by_id, F_OK), -1);
	assert_true(event_place_has(store, &changed_ns));
	assert_int_equal(mkdir(by_id, 0700), 0);
	assert_int_equal(event_place_move(by_id, beside), -ENOTEMPTY);
	event_place_remove(AT_FDCWD, by_id);
	assert_int_equal(access(by_id, F_OK), -1);

	/* what is none of the log's stays */
	make_file(beside, "note");
	event_place_remove(AT_FDCWD, beside);
	snprintf(found, sizeof(found), "%s/profile.db.timeline/note", top);
	assert_int_equal(unlink(found), 0);
	event_place_remove(AT_FDCWD, beside);
	event_place_remove(AT_FDCWD, beside); /* there is none any more */
	assert_false(event_place_has(store, &changed_ns));
	snprintf(found, sizeof(found), "%s/profile.db.part-7", top);
	assert_int_equal(unlink(found), 0);
	snprintf(found, sizeof(found), "%s/profile.db.second.timeline", top);
	assert_int_equal(unlink(found), 0);
	assert_int_equal(rmdir(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_place_by_id_is_the_same_for_all_stores_of_a_profile),
		cmocka_unit_test(a_path_that_is_too_long_is_refused),
		cmocka_unit_test(the_folder_by_id_is_found_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
