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
#include "inject/base/stack_table.h"
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

/* The next definition's type; 0: none. A module's path is terminated. */
static uint32_t next_any(struct fixture *fixture, struct module *module)
{
	uint32_t type;
	int size = test_ring_definition(&fixture->ring, &type, module, sizeof(*module) - 1);

	if (size < 0)
		return 0;
	((char *)module)[size] = '\0';
	return type;
}

/* The next module; false: none. */
static bool next(struct fixture *fixture, struct module *module)
{
	uint32_t type = next_any(fixture, module);

	if (type)
		assert_int_equal(type, DEFINITION_MODULE);
	return type;
}

static void every_loaded_file_is_announced_once(void **state)
{
	struct fixture *fixture = *state;
	uint64_t own = (uint64_t)(uintptr_t)next,
		 libc = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
	int mains = 0, vdsos = 0, libcs = 0;
	struct module module;

	module_watch_poll(fixture->watch, false);
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

/* A library of the test's own, which it may build again. */
static void copy_library(const char *to)
{
	char command[2 * PATH_MAX + 16];

	snprintf(command, sizeof(command), "cp '%s' '%s'", LATE_LIBRARY, to);
	assert_int_equal(system(command), 0);
}

struct plugin {
	char folder[64], path[96], next[96];
};

static void begin_plugin(struct fixture *fixture, struct plugin *plugin)
{
	struct module module;

	strcpy(plugin->folder, "/tmp/module_watch_test.XXXXXX");
	assert_non_null(mkdtemp(plugin->folder));
	snprintf(plugin->path, sizeof(plugin->path), "%s/plugin.so", plugin->folder);
	snprintf(plugin->next, sizeof(plugin->next), "%s/next.so", plugin->folder);
	copy_library(plugin->path);
	module_watch_poll(fixture->watch, false);
	while (next(fixture, &module))
		;
}

static void *load_plugin(const struct plugin *plugin)
{
	void *library = dlopen(plugin->path, RTLD_NOW);

	assert_non_null(library);
	return library;
}

static void end_plugin(const struct plugin *plugin)
{
	unlink(plugin->path);
	rmdir(plugin->folder);
}

static void library_loaded_again_is_the_same_one(void **state)
{
	struct fixture *fixture = *state;
	struct plugin plugin;
	struct module first, again;
	struct definition_unload gone;

	begin_plugin(fixture, &plugin);
	void *library = load_plugin(&plugin);
	module_watch_poll(fixture->watch, false);
	assert_true(next(fixture, &first));
	assert_string_equal(first.path, plugin.path);
	dlclose(library);
	library = load_plugin(&plugin);
	module_watch_poll(fixture->watch, false);
	assert_false(next(fixture, &again));
	dlclose(library);
	module_watch_poll(fixture->watch, false);
	assert_int_equal(next_any(fixture, &again), DEFINITION_UNLOAD);
	memcpy(&gone, &again, sizeof(gone));
	assert_true(gone.start == first.head.start && gone.end == first.head.end);
	library = load_plugin(&plugin);
	module_watch_poll(fixture->watch, false);
	assert_true(next(fixture, &again));
	assert_true(again.head.identity == first.head.identity);
	dlclose(library);
	end_plugin(&plugin);
}

/* Its content is the same, so nothing in memory tells the two apart. */
static void library_built_again_at_its_path_is_another_one(void **state)
{
	struct fixture *fixture = *state;
	struct plugin plugin;
	struct module first, second;
	struct definition_unload gone;

	begin_plugin(fixture, &plugin);
	void *library = load_plugin(&plugin);
	module_watch_poll(fixture->watch, false);
	assert_true(next(fixture, &first));
	dlclose(library);
	copy_library(plugin.next);
	assert_int_equal(rename(plugin.next, plugin.path), 0);
	library = load_plugin(&plugin);
	module_watch_poll(fixture->watch, false);
	assert_int_equal(next_any(fixture, &second), DEFINITION_UNLOAD);
	memcpy(&gone, &second, sizeof(gone));
	assert_true(gone.start == first.head.start && gone.end == first.head.end);
	assert_true(next(fixture, &second));
	assert_true(second.head.start == first.head.start);
	assert_string_equal(second.path, plugin.path);
	assert_memory_equal(second.head.build_id, first.head.build_id, sizeof(first.head.build_id));
	assert_true(second.head.identity != first.head.identity);
	assert_false(next(fixture, &second));
	dlclose(library);
	end_plugin(&plugin);
}

/* It still is the file that was loaded, whatever lies at its path. */
static void library_that_stays_is_not_told_again_when_its_path_changes(void **state)
{
	struct fixture *fixture = *state;
	struct plugin plugin;
	struct module module;

	begin_plugin(fixture, &plugin);
	void *library = load_plugin(&plugin);
	module_watch_poll(fixture->watch, false);
	assert_true(next(fixture, &module));
	copy_library(plugin.next);
	assert_int_equal(rename(plugin.next, plugin.path), 0);
	void *other = dlopen(LATE_LIBRARY, RTLD_NOW);
	assert_non_null(other);
	module_watch_poll(fixture->watch, false);
	assert_true(next(fixture, &module));
	assert_non_null(strstr(module.path, "late_library"));
	assert_false(next(fixture, &module));
	dlclose(other);
	dlclose(library);
	end_plugin(&plugin);
}

/* As launches between the loading and the notice may look like those of the first file. */
static void launches_before_a_replaced_file_is_noticed_are_counted(void **state)
{
	struct fixture *fixture = *state;
	const struct launch_record launch = {.correlation_id = 1};
	uint32_t lane = (uint32_t)record_ring_claim_lane(fixture->ring.guest);
	struct plugin plugin;
	struct module module;

	begin_plugin(fixture, &plugin);
	void *library = load_plugin(&plugin);
	record_ring_push_launch(fixture->ring.guest, lane, &launch);
	assert_false(module_watch_poll(fixture->watch, false));
	for (int i = 0; i < 3; i++)
		record_ring_push_launch(fixture->ring.guest, lane, &launch);
	dlclose(library);
	copy_library(plugin.next);
	assert_int_equal(rename(plugin.next, plugin.path), 0);
	library = load_plugin(&plugin);
	assert_true(module_watch_poll(fixture->watch, false));
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_STACK_STALE).count, 3);
	record_ring_push_launch(fixture->ring.guest, lane, &launch);
	dlclose(library);
	assert_false(module_watch_poll(fixture->watch, false));
	while (next_any(fixture, &module))
		;
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_STACK_STALE).count, 3);
	end_plugin(&plugin);
}

/* Loads the plugin again after the file has changed. */
static void *replace_plugin(const struct plugin *plugin, void *library)
{
	dlclose(library);
	copy_library(plugin->next);
	assert_int_equal(rename(plugin->next, plugin->path), 0);
	return load_plugin(plugin);
}

/* From the second time on. */
static void launches_beside_a_place_of_several_files_are_not_counted(void **state)
{
	struct fixture *fixture = *state;
	struct stack_table *stacks = stack_table_create(fixture->ring.guest);
	struct stack_cache *cache = calloc(1, sizeof(*cache));
	const struct launch_record launch = {.correlation_id = 1};
	uint32_t lane = (uint32_t)record_ring_claim_lane(fixture->ring.guest);
	uint64_t hash, words[] = {1};
	struct plugin plugin;
	struct module module;

	assert_non_null(stacks);
	module_watch_tell(fixture->watch, stacks);
	begin_plugin(fixture, &plugin);
	void *library = load_plugin(&plugin);
	for (int i = 0; i < 3; i++) {
		record_ring_push_launch(fixture->ring.guest, lane, &launch);
		assert_int_equal(module_watch_poll(fixture->watch, false), i > 0);
		while (next_any(fixture, &module) == DEFINITION_MODULE)
			words[0] = module.head.start + 1;
		while (next_any(fixture, &module) == DEFINITION_MODULE)
			words[0] = module.head.start + 1;
		assert_int_equal(
			test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_STACK_STALE)
				.count,
			i ? 1 : 0);
		library = replace_plugin(&plugin, library);
	}
	stack_table_find(stacks, cache, words, 1, &hash);
	stack_table_find(stacks, cache, words, 1, &hash);
	assert_true(module_watch_poll(fixture->watch, false));
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_STACK_STALE).count,
		1 + 2);
	dlclose(library);
	end_plugin(&plugin);
	free(cache);
	stack_table_destroy(stacks);
}

static void unloaded_code_makes_its_stacks_new(void **state)
{
	struct fixture *fixture = *state;
	struct stack_table *stacks = stack_table_create(fixture->ring.guest);
	struct stack_cache *cache = calloc(1, sizeof(*cache));
	struct plugin plugin;
	struct module module;
	uint64_t hash, before, words[1];

	assert_non_null(stacks);
	module_watch_tell(fixture->watch, stacks);
	begin_plugin(fixture, &plugin);
	void *library = load_plugin(&plugin);
	module_watch_poll(fixture->watch, false);
	assert_true(next(fixture, &module));
	words[0] = module.head.start + 1;
	stack_table_find(stacks, cache, words, 1, &before);
	assert_int_equal(stack_table_add(stacks, cache, before, words, 1), 1);
	dlclose(library);
	module_watch_poll(fixture->watch, false);
	assert_int_equal(next_any(fixture, &module), DEFINITION_UNLOAD);
	struct definition_unload gone;
	memcpy(&gone, &module, sizeof(gone));
	assert_int_equal(gone.nr_stacks, 1);
	assert_int_equal(stack_table_find(stacks, cache, words, 1, &hash), RECORD_STACK_NONE);
	end_plugin(&plugin);
	free(cache);
	stack_table_destroy(stacks);
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
		cmocka_unit_test_setup_teardown(library_loaded_again_is_the_same_one, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(library_built_again_at_its_path_is_another_one,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			library_that_stays_is_not_told_again_when_its_path_changes, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			launches_before_a_replaced_file_is_noticed_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			launches_beside_a_place_of_several_files_are_not_counted, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(unloaded_code_makes_its_stacks_new, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(module_without_room_is_announced_later_or_counted,
						set_up, tear_down),
		cmocka_unit_test(build_id_is_found_among_other_notes),
		cmocka_unit_test(damaged_notes_are_not_read_past_their_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
