#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/node-agent/guests/loaded_fixture.h"
#include "node-agent/files/content_id.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/symbols/symbolizer.h"
#include "proto/definition.h"

#define WAIT_MS 30000

static const char *fixture_path, *inline_path, *plain_path, *objcopy;
static const struct symbolizer_options plain_options;

/* Waits for count results, in whatever order. */
static void collect(struct symbolizer *symbolizer, struct symbolizer_result *results,
		    uint32_t count)
{
	struct pollfd ready = {.fd = symbolizer_fd(symbolizer), .events = POLLIN};
	uint32_t have = 0;

	while (have < count) {
		uint32_t got = symbolizer_collect(symbolizer, results + have, count - have);

		have += got;
		if (got == 0)
			assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	}
	assert_true(symbolizer_idle(symbolizer));
}

static struct symbolizer_module module_at(uint32_t module_id, const char *path)
{
	struct symbolizer_module module = {.module_id = module_id, .path = path, .owner = getuid()};
	struct elf_file *file = loaded_fixture_open(path);

	module.build_id_size = elf_file_build_id(file, module.build_id, sizeof(module.build_id));
	elf_file_close(file);
	return module;
}

static struct symbolizer_module fixture_module(uint32_t module_id)
{
	return module_at(module_id, fixture_path);
}

static uint64_t vaddr_of(const char *name)
{
	return loaded_fixture_vaddr(fixture_path, name);
}

/* Every file that was announced before is open when this returns. */
static void wait_until_opened(struct symbolizer *symbolizer)
{
	struct symbolizer_result result;

	assert_int_equal(symbolizer_request(symbolizer, 1000, 1000, 0), 0);
	collect(symbolizer, &result, 1);
	assert_null(result.name);
}

static const char *name_of(struct symbolizer *symbolizer, uint32_t module_id, uint64_t vaddr)
{
	struct symbolizer_result result;

	assert_int_equal(symbolizer_request(symbolizer, 1, module_id, vaddr), 0);
	collect(symbolizer, &result, 1);
	return result.name;
}

/* A directory with a stripped copy of the fixture that has inlined functions. */
struct stripped {
	char directory[64], library[96], debug[96];
	uint64_t hidden; /* an address that the dynamic symbols don't name */
};

static struct stripped make_stripped(void)
{
	struct stripped stripped;
	const char *const strip[5] = {"--strip-all", inline_path, stripped.library};
	const char *const keep[5] = {"--only-keep-debug", inline_path, stripped.debug};

	loaded_fixture_directory(stripped.directory, sizeof(stripped.directory));
	snprintf(stripped.library, sizeof(stripped.library), "%s/lib.so", stripped.directory);
	snprintf(stripped.debug, sizeof(stripped.debug), "%s/lib.debug", stripped.directory);
	loaded_fixture_run(objcopy, strip);
	loaded_fixture_run(objcopy, keep);
	stripped.hidden = loaded_fixture_vaddr(inline_path, "inline_fixture_hidden_mark");
	return stripped;
}

static void every_request_is_answered_once(void **state)
{
	enum { REQUESTS = 5000 };
	static struct symbolizer_result results[REQUESTS];
	static uint8_t seen[REQUESTS + 1];
	struct symbolizer_module module = fixture_module(1);
	uint64_t global = vaddr_of("fixture_global");
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	for (uint32_t i = 1; i <= REQUESTS; i++)
		assert_int_equal(symbolizer_request(symbolizer, i, 1, i % 2 ? global : 0), 0);
	assert_false(symbolizer_idle(symbolizer));
	collect(symbolizer, results, REQUESTS);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		assert_int_equal(seen[results[i].frame_id]++, 0);
		if (results[i].frame_id % 2)
			assert_string_equal(results[i].name, "fixture_global");
		else
			assert_null(results[i].name);
	}
	symbolizer_stop(symbolizer, WAIT_MS);
}

static void a_file_with_another_build_id_is_not_believed(void **state)
{
	struct symbolizer_module module = fixture_module(1);
	struct symbolizer_result result;
	struct symbolizer *symbolizer;

	(void)state;
	module.build_id[0] ^= 1;
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_request(symbolizer, 7, 1, vaddr_of("fixture_global")), 0);
	collect(symbolizer, &result, 1);
	assert_int_equal(result.frame_id, 7);
	assert_null(result.name);
	symbolizer_stop(symbolizer, WAIT_MS);
}

static void a_file_is_found_through_the_process_that_maps_it(void **state)
{
	struct symbolizer_module module = fixture_module(3);
	struct symbolizer_result result;
	struct symbolizer *symbolizer;

	(void)state;
	module.pid = getpid();
	module.start = 0x1000;
	module.end = 0x2000;
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_request(symbolizer, 1, 3, vaddr_of("fixture_weak")), 0);
	collect(symbolizer, &result, 1);
	assert_string_equal(result.name, "fixture_weak");
	symbolizer_stop(symbolizer, WAIT_MS);
}

static void unknown_modules_and_missing_files_give_no_name(void **state)
{
	struct symbolizer_module module = {.module_id = 2, .path = "/nonexistent/library.so"};
	struct symbolizer_module relative = {.module_id = 5, .path = "relative.so"};
	struct symbolizer_result results[3];
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &relative), 0);
	assert_int_equal(symbolizer_request(symbolizer, 1, 2, 16), 0);
	assert_int_equal(symbolizer_request(symbolizer, 2, 99, 16), 0);
	assert_int_equal(symbolizer_request(symbolizer, 3, 5, 16), 0);
	collect(symbolizer, results, 3);
	for (int i = 0; i < 3; i++)
		assert_null(results[i].name);
	symbolizer_stop(symbolizer, WAIT_MS);
}

static void the_vdso_is_read_from_memory(void **state)
{
	struct symbolizer_module module = {
		.module_id = 1, .flags = DEFINITION_MODULE_VDSO, .path = "[vdso]"};
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *address = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
	struct symbolizer_result result;
	struct symbolizer *symbolizer;

	(void)state;
	assert_non_null(address);
	uint64_t vaddr = (uint64_t)(uintptr_t)address - getauxval(AT_SYSINFO_EHDR);
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_request(symbolizer, 1, 1, vaddr), 0);
	collect(symbolizer, &result, 1);
	assert_non_null(result.name);
	assert_non_null(strstr(result.name, "clock_gettime"));
	symbolizer_stop(symbolizer, WAIT_MS);
}

static void a_file_that_is_gone_since_it_was_announced_has_names(void **state)
{
	char directory[64], path[96];
	struct symbolizer *symbolizer;

	(void)state;
	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/lib.so", directory);
	loaded_fixture_copy(fixture_path, path);
	struct symbolizer_module module = module_at(1, path);
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	wait_until_opened(symbolizer);
	loaded_fixture_remove(directory);
	assert_string_equal(name_of(symbolizer, 1, vaddr_of("fixture_global")), "fixture_global");
	symbolizer_stop(symbolizer, WAIT_MS);
}

/* More files than may be kept open: those are read when they are announced. */
static void files_beyond_what_may_be_open_have_names_too(void **state)
{
	enum { MODULES = 60, DESCRIPTORS = 64 };
	char directory[64], path[96];
	struct rlimit limit, low;
	struct symbolizer *symbolizer;

	(void)state;
	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/lib.so", directory);
	loaded_fixture_copy(fixture_path, path);
	struct symbolizer_module module = module_at(1, path);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = (struct rlimit){.rlim_cur = DESCRIPTORS, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	for (module.module_id = 1; module.module_id <= MODULES; module.module_id++)
		assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	wait_until_opened(symbolizer);
	int lowest_free = dup(STDIN_FILENO);
	assert_in_range(lowest_free, 0, DESCRIPTORS - 8);
	close(lowest_free);
	loaded_fixture_remove(directory);
	for (uint32_t id = 1; id <= MODULES; id++)
		assert_string_equal(name_of(symbolizer, id, vaddr_of("fixture_global")),
				    "fixture_global");
	symbolizer_stop(symbolizer, WAIT_MS);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void another_place_is_tried_where_the_first_led_nowhere(void **state)
{
	struct symbolizer_module module = fixture_module(1);
	uint64_t vaddr = vaddr_of("fixture_global");
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	module.path = "/nonexistent/library.so";
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_null(name_of(symbolizer, 1, vaddr));
	module.path = fixture_path;
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_string_equal(name_of(symbolizer, 1, vaddr), "fixture_global");
	symbolizer_stop(symbolizer, WAIT_MS);
}

static void a_file_without_a_build_id_is_believed_by_its_contents(void **state)
{
	struct symbolizer_module module = {.module_id = 1,
					   .kind = SYMBOLIZER_CONTENT_ID,
					   .path = plain_path,
					   .build_id_size = CONTENT_ID_SIZE};
	uint64_t outer = loaded_fixture_vaddr(plain_path, "inline_fixture_outer");
	struct elf_file *file = loaded_fixture_open(plain_path);
	struct symbolizer *symbolizer;

	(void)state;
	assert_true(content_id_of(file, module.build_id));
	elf_file_close(file);
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_string_equal(name_of(symbolizer, 1, outer), "inline_fixture_outer");

	module.module_id = 2; /* rebuilt: another file is at the path */
	module.build_id[3] ^= 1;
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_null(name_of(symbolizer, 2, outer));
	symbolizer_stop(symbolizer, WAIT_MS);
}

static void lines_and_inlined_functions_are_there_when_asked_for(void **state)
{
	const struct symbolizer_options options = {.inlines = true};
	uint64_t mark = loaded_fixture_vaddr(inline_path, "inline_fixture_mark");
	struct symbolizer_module module = module_at(1, inline_path), bare = fixture_module(2);
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &bare), 0);
	const char *name = name_of(symbolizer, 1, mark);
	assert_int_equal(strncmp(name, "inline_fixture_outer\t/", 22), 0);
	assert_non_null(strstr(name, "\nmiddle\t/"));
	assert_non_null(strstr(name, "\ninner\t/"));
	assert_string_equal(name_of(symbolizer, 2, vaddr_of("fixture_global")), "fixture_global");
	symbolizer_stop(symbolizer, WAIT_MS);

	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_string_equal(name_of(symbolizer, 1, mark), "inline_fixture_outer");
	symbolizer_stop(symbolizer, WAIT_MS);
}

static void lines_of_a_stripped_file_come_from_its_debug_file(void **state)
{
	struct stripped stripped = make_stripped();
	const struct symbolizer_options options = {.inlines = true,
						   .debug_directory = stripped.directory};
	struct symbolizer_module module = module_at(1, stripped.library);
	char path[256];
	struct symbolizer *symbolizer;

	(void)state;
	snprintf(path, sizeof(path), "%s/.build-id", stripped.directory);
	assert_int_equal(mkdir(path, 0700), 0);
	int size = snprintf(path, sizeof(path), "%s/.build-id/%02x", stripped.directory,
			    module.build_id[0]);
	assert_int_equal(mkdir(path, 0700), 0);
	path[size++] = '/';
	for (uint32_t i = 1; i < module.build_id_size; i++)
		size += snprintf(path + size, sizeof(path) - (size_t)size, "%02x",
				 module.build_id[i]);
	snprintf(path + size, sizeof(path) - (size_t)size, ".debug");
	assert_int_equal(rename(stripped.debug, path), 0);

	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	const char *name = name_of(symbolizer, 1, stripped.hidden);
	assert_non_null(name);
	assert_int_equal(strncmp(name, "hidden\t/", 8), 0);
	symbolizer_stop(symbolizer, WAIT_MS);
	loaded_fixture_remove(stripped.directory);
}

static void a_table_is_kept_for_the_next_time_and_needs_no_file_then(void **state)
{
	char directory[64], cache[96], path[96];
	uint64_t hidden = loaded_fixture_vaddr(inline_path, "inline_fixture_hidden_mark");
	struct symbolizer *symbolizer;

	(void)state;
	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(cache, sizeof(cache), "%s/cache", directory);
	snprintf(path, sizeof(path), "%s/lib.so", directory);
	loaded_fixture_copy(inline_path, path);
	struct symbolizer_module module = module_at(1, path);
	const struct symbolizer_options options = {.cache_directory = cache,
						   .cached_symbols_min = 1};
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_string_equal(name_of(symbolizer, 1, hidden), "hidden");
	symbolizer_stop(symbolizer, WAIT_MS);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_string_equal(name_of(symbolizer, 1, hidden), "hidden");
	symbolizer_stop(symbolizer, WAIT_MS);
	loaded_fixture_remove(directory);
}

/* The server is a directory: the client takes file URLs, too. Without the variable nothing is
 * asked; with it, a name that the stripped file does not have is found. */
static void debug_files_come_from_servers_only_if_the_environment_names_some(void **state)
{
	struct stripped stripped = make_stripped();
	const struct symbolizer_options options = {.debug_directory = stripped.directory};
	struct symbolizer_module module = module_at(1, stripped.library);
	char path[256], variable[96];
	struct symbolizer *symbolizer;

	(void)state;
	snprintf(path, sizeof(path), "%s/buildid", stripped.directory);
	assert_int_equal(mkdir(path, 0700), 0);
	int size = snprintf(path, sizeof(path), "%s/buildid/", stripped.directory);
	for (uint32_t i = 0; i < module.build_id_size; i++)
		size += snprintf(path + size, sizeof(path) - (size_t)size, "%02x",
				 module.build_id[i]);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path + size, sizeof(path) - (size_t)size, "/debuginfo");
	assert_int_equal(rename(stripped.debug, path), 0);
	snprintf(path, sizeof(path), "%s/cache", stripped.directory);
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);

	unsetenv("DEBUGINFOD_URLS");
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_null(name_of(symbolizer, 1, stripped.hidden));
	symbolizer_stop(symbolizer, WAIT_MS);
	assert_int_equal(access(path, F_OK), -1);

	snprintf(variable, sizeof(variable), "file://%s/", stripped.directory);
	setenv("DEBUGINFOD_URLS", variable, 1);
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	const char *name = name_of(symbolizer, 1, stripped.hidden);
	assert_non_null(name);
	assert_string_equal(name, "hidden");
	symbolizer_stop(symbolizer, WAIT_MS);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	loaded_fixture_remove(stripped.directory);
}

/* The name of a function in a file of file_owner's, for a process of owner that has ended. */
static bool is_named(uid_t file_owner, mode_t mode, uid_t owner, int64_t started_ns)
{
	char directory[64], path[96];
	struct symbolizer *symbolizer;

	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/lib.so", directory);
	loaded_fixture_copy(fixture_path, path);
	struct symbolizer_module module = module_at(1, path);
	module.owner = owner;
	module.started_ns = started_ns;
	assert_int_equal(chown(path, file_owner, file_owner), 0);
	assert_int_equal(chmod(path, mode), 0);
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	bool named = name_of(symbolizer, 1, vaddr_of("fixture_global"));
	symbolizer_stop(symbolizer, WAIT_MS);
	loaded_fixture_remove(directory);
	return named;
}

static void a_file_is_believed_of_root_and_of_the_processes_own_user(void **state)
{
	struct timespec now;

	(void)state;
	clock_gettime(CLOCK_REALTIME, &now);
	assert_true(is_named(0, 0755, 65534, 0));
	assert_true(is_named(65534, 0700, 65534, 0));
	assert_false(is_named(65533, 0755, 65534, 0));
	assert_false(is_named(0, 0775, 65534, 0));
	/* A third user's, as a site's software has it, that was there before the process. */
	assert_true(is_named(65533, 0755, 65534, (now.tv_sec + 3600) * 1000000000ll));
	/* That the agent may read it does not mean that the process's user may. */
	assert_false(is_named(0, 0700, 65534, (now.tv_sec + 3600) * 1000000000ll));
}

static bool is_cached(const char *directory, const struct symbolizer_module *module, uid_t owner)
{
	char path[256];
	int size = snprintf(path, sizeof(path), "%s/", directory);

	for (uint32_t i = 0; i < module->build_id_size; i++)
		size += snprintf(path + size, sizeof(path) - (size_t)size, "%02x",
				 module->build_id[i]);
	snprintf(path + size, sizeof(path) - (size_t)size, "-%u.symbols", owner);
	return access(path, F_OK) == 0;
}

static void tables_of_roots_files_are_kept_for_all_and_others_for_their_owner(void **state)
{
	static const struct {
		uid_t file_owner, cached_for;
	} cases[] = {{0, 0}, {65534, 65534}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char directory[64], path[96];
		struct symbolizer *symbolizer;

		loaded_fixture_directory(directory, sizeof(directory));
		const struct symbolizer_options options = {.cache_directory = directory,
							   .cached_symbols_min = 1};
		snprintf(path, sizeof(path), "%s/lib.so", directory);
		loaded_fixture_copy(fixture_path, path);
		assert_int_equal(chmod(path, 0755), 0);
		assert_int_equal(chown(path, cases[i].file_owner, 0), 0);
		struct symbolizer_module module = module_at(1, path);
		module.owner = 65534;
		assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
		assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
		assert_non_null(name_of(symbolizer, 1, vaddr_of("fixture_global")));
		symbolizer_stop(symbolizer, WAIT_MS);
		assert_true(is_cached(directory, &module, cases[i].cached_for));

		/* The file is gone: only whom the table is for has names. */
		assert_int_equal(unlink(path), 0);
		for (uid_t owner = 65533; owner <= 65534; owner++) {
			module.owner = owner;
			assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
			assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
			bool named = name_of(symbolizer, 1, vaddr_of("fixture_global"));
			assert_true(named == (i == 0 || owner == 65534));
			symbolizer_stop(symbolizer, WAIT_MS);
		}
		loaded_fixture_remove(directory);
	}
}

static void stopping_forgets_what_was_not_answered(void **state)
{
	struct symbolizer_module module = fixture_module(1);
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&plain_options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	for (uint32_t i = 1; i <= 1000; i++)
		assert_int_equal(symbolizer_request(symbolizer, i, 1, 0), 0);
	symbolizer_stop(symbolizer, WAIT_MS);
	symbolizer_stop(NULL, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_is_answered_once),
		cmocka_unit_test(a_file_with_another_build_id_is_not_believed),
		cmocka_unit_test(a_file_is_found_through_the_process_that_maps_it),
		cmocka_unit_test(unknown_modules_and_missing_files_give_no_name),
		cmocka_unit_test(the_vdso_is_read_from_memory),
		cmocka_unit_test(a_file_that_is_gone_since_it_was_announced_has_names),
		cmocka_unit_test(files_beyond_what_may_be_open_have_names_too),
		cmocka_unit_test(another_place_is_tried_where_the_first_led_nowhere),
		cmocka_unit_test(a_file_without_a_build_id_is_believed_by_its_contents),
		cmocka_unit_test(lines_and_inlined_functions_are_there_when_asked_for),
		cmocka_unit_test(lines_of_a_stripped_file_come_from_its_debug_file),
		cmocka_unit_test(a_table_is_kept_for_the_next_time_and_needs_no_file_then),
		cmocka_unit_test(debug_files_come_from_servers_only_if_the_environment_names_some),
		cmocka_unit_test(a_file_is_believed_of_root_and_of_the_processes_own_user),
		cmocka_unit_test(tables_of_roots_files_are_kept_for_all_and_others_for_their_owner),
		cmocka_unit_test(stopping_forgets_what_was_not_answered),
	};

	if (argc != 5)
		return 2;
	fixture_path = argv[1];
	inline_path = argv[2];
	plain_path = argv[3];
	objcopy = argv[4];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
