#include "cmocka_test.h"

#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "node-agent/elf_file.h"
#include "node-agent/symbolizer.h"
#include "proto/definition.h"

#define WAIT_MS 30000

static const char *fixture_path;

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

static struct symbolizer_module fixture_module(uint32_t module_id)
{
	struct symbolizer_module module = {.module_id = module_id, .path = fixture_path};
	struct elf_file *file;

	assert_int_equal(elf_file_open(fixture_path, &file), 0);
	module.build_id_size = elf_file_build_id(file, module.build_id, sizeof(module.build_id));
	elf_file_close(file);
	return module;
}

static uint64_t vaddr_of(const char *name)
{
	void *library = dlopen(fixture_path, RTLD_NOW), *address = dlsym(library, name);
	struct link_map *map;
	Dl_info info;

	assert_true(dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP));
	uint64_t vaddr = (uint64_t)(uintptr_t)address - map->l_addr;
	dlclose(library);
	return vaddr;
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
	assert_int_equal(symbolizer_start(&symbolizer), 0);
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
	assert_int_equal(symbolizer_start(&symbolizer), 0);
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
	assert_int_equal(symbolizer_start(&symbolizer), 0);
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
	assert_int_equal(symbolizer_start(&symbolizer), 0);
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
	assert_int_equal(symbolizer_start(&symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_request(symbolizer, 1, 1, vaddr), 0);
	collect(symbolizer, &result, 1);
	assert_non_null(result.name);
	assert_non_null(strstr(result.name, "clock_gettime"));
	symbolizer_stop(symbolizer, WAIT_MS);
}

static void stopping_forgets_what_was_not_answered(void **state)
{
	struct symbolizer_module module = fixture_module(1);
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&symbolizer), 0);
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
		cmocka_unit_test(stopping_forgets_what_was_not_answered),
	};

	if (argc != 2)
		return 2;
	fixture_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
