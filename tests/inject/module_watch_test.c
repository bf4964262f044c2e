#include "inject/module_watch.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "test_ring.h"
#include "unwind/unwind_table.h"

struct fixture {
	struct test_ring ring;
	struct definition_writer writer;
	struct module_watch *watch;
	struct unwind_tables *tables;
};

struct module {
	struct definition_module head;
	char path[4096];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	test_ring_init(&fixture->ring);
	fixture->writer = DEFINITION_WRITER_INIT(fixture->ring.guest);
	fixture->tables = unwind_tables_create(UNWIND_BYTES_MAX);
	fixture->watch = module_watch_create(&fixture->writer, fixture->tables);
	assert_non_null(fixture->watch);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	module_watch_destroy(fixture->watch);
	unwind_tables_destroy(fixture->tables);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

/* The next module, path terminated; false: none. */
static bool next(struct fixture *fixture, struct module *module)
{
	uint32_t type;
	int size = test_ring_definition(&fixture->ring, &type, module, sizeof(*module) - 1);

	if (size < 0)
		return false;
	assert_int_equal(type, DEFINITION_MODULE);
	((char *)module)[size] = '\0';
	return true;
}

static void every_loaded_file_is_announced_once(void **state)
{
	struct fixture *fixture = *state;
	uint64_t own = (uint64_t)(uintptr_t)next,
		 libc = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
	int mains = 0, vdsos = 0, libcs = 0;
	struct module module;

	assert_false(module_watch_poll(fixture->watch, false));
	while (next(fixture, &module)) {
		assert_true(module.head.start < module.head.end);
		if (module.head.flags & DEFINITION_MODULE_MAIN) {
			mains++;
			assert_true(own >= module.head.start && own < module.head.end);
			assert_non_null(strstr(module.path, "module_watch_test"));
			assert_true(module.head.build_id_size == 0 ||
				    module.head.build_id_size >= 8);
		}
		if (module.head.flags & DEFINITION_MODULE_VDSO)
			vdsos++;
		if (libc >= module.head.start && libc < module.head.end) {
			libcs++;
			assert_int_equal(module.path[0], '/');
			assert_int_equal(module.head.build_id_size, 20);
		}
	}
	assert_int_equal(mains, 1);
	assert_true(vdsos <= 1);
	assert_true(libcs >= 1);
	module_watch_poll(fixture->watch, true);
	assert_false(next(fixture, &module));

	struct unwind_totals totals;
	unwind_tables_totals(fixture->tables, &totals);
	assert_true(totals.modules >= 2);
	assert_true(unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL) >= 2);
}

static void library_loaded_later_is_announced_by_the_next_poll(void **state)
{
	struct fixture *fixture = *state;
	struct module module;
	int found = 0;

	module_watch_poll(fixture->watch, false);
	while (next(fixture, &module))
		assert_null(strstr(module.path, "libutil.so"));
	void *library = dlopen(LATE_LIBRARY, RTLD_NOW);
	assert_non_null(library);
	module_watch_poll(fixture->watch, false);
	while (next(fixture, &module))
		found += strstr(module.path, LATE_LIBRARY) != NULL;
	assert_int_equal(found, 1);
	dlclose(library);
}

/* As libffi.so.8 is a link to libffi.so.8.1.2, whose name /proc/PID/maps has. */
static void library_loaded_through_a_link_has_the_name_of_its_file(void **state)
{
	struct fixture *fixture = *state;
	char folder[] = "/tmp/module_watch_test.XXXXXX", link[64], real[PATH_MAX];
	struct module module;
	int found = 0;

	assert_non_null(mkdtemp(folder));
	assert_non_null(realpath(LATE_LIBRARY, real));
	snprintf(link, sizeof(link), "%s/liblink.so.8", folder);
	assert_int_equal(symlink(real, link), 0);
	module_watch_poll(fixture->watch, false);
	while (next(fixture, &module))
		;
	void *library = dlopen(link, RTLD_NOW);
	assert_non_null(library);
	module_watch_poll(fixture->watch, false);
	while (next(fixture, &module)) {
		assert_string_equal(module.path, real);
		found++;
	}
	assert_int_equal(found, 1);
	module_watch_poll(fixture->watch, false);
	assert_false(next(fixture, &module));
	dlclose(library);
	unlink(link);
	rmdir(folder);
}

static void module_without_room_is_announced_later_or_counted(void **state)
{
	struct fixture *fixture = *state;
	static char filler[100000], body[DEFINITION_SIZE_MAX];
	struct definition_name head = {.name_id = 1};
	uint32_t type;

	while (definition_writer_put(&fixture->writer, DEFINITION_NAME, &head, sizeof(head), filler,
				     sizeof(filler)))
		;
	while (definition_writer_put(&fixture->writer, DEFINITION_NAME, &head, sizeof(head), NULL,
				     0))
		;
	module_watch_poll(fixture->watch, false);
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST).count, 0);
	module_watch_poll(fixture->watch, true);
	assert_true(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST).count >=
		2);
	while (test_ring_definition(&fixture->ring, &type, body, sizeof(body)) >= 0)
		assert_int_equal(type, DEFINITION_NAME);
	test_ring_release(&fixture->ring);
	module_watch_poll(fixture->watch, false);
	assert_true(test_ring_definition(&fixture->ring, &type, body, sizeof(body)) > 0);
	assert_int_equal(type, DEFINITION_MODULE);
}

struct note {
	ElfW(Nhdr) head;
	char name[4];
	uint8_t text[20];
};

static void build_id_is_found_among_other_notes(void **state)
{
	struct note notes[2] = {
		{{4, 20, 1}, "GNU", {9}},
		{{4, 20, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3}},
	};
	uint8_t build_id[DEFINITION_BUILD_ID_MAX];

	(void)state;
	assert_int_equal(module_watch_build_id((const uint8_t *)notes, sizeof(notes), 4, build_id),
			 20);
	assert_memory_equal(build_id, notes[1].text, 20);
	assert_int_equal(
		module_watch_build_id((const uint8_t *)notes, sizeof(notes[0]), 4, build_id), 0);
}

static void damaged_notes_are_not_read_past_their_end(void **state)
{
	uint8_t build_id[DEFINITION_BUILD_ID_MAX];
	const struct note cases[] = {
		{{0xffffffff, 20, NT_GNU_BUILD_ID}, "GNU", {0}},
		{{4, 0xffffffff, NT_GNU_BUILD_ID}, "GNU", {0}},
		{{4, 21, NT_GNU_BUILD_ID}, "GNU", {0}},
		{{24, 20, NT_GNU_BUILD_ID}, "GNU", {0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct note *exact = malloc(sizeof(*exact)); /* a sanitizer sees a read behind it */

		*exact = cases[i];
		assert_int_equal(
			module_watch_build_id((const uint8_t *)exact, sizeof(*exact), 4, build_id),
			0);
		for (size_t size = 0; size < sizeof(*exact); size++)
			assert_int_equal(
				module_watch_build_id((const uint8_t *)exact, size, 8, build_id),
				0);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_loaded_file_is_announced_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(library_loaded_later_is_announced_by_the_next_poll,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			library_loaded_through_a_link_has_the_name_of_its_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(module_without_room_is_announced_later_or_counted,
						set_up, tear_down),
		cmocka_unit_test(build_id_is_found_among_other_notes),
		cmocka_unit_test(damaged_notes_are_not_read_past_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
