/* Planes in reports: what is shown, and what no total of GPU time holds. */
#include "report/model/report_plane.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/resource/resource.h"

#include "proto/record.h"
#include "report/model/kind_name.h"
#include "report/model/report_busy.h"
#include "report/model/report_summary.h"
#include "report/writers/table_writer.h"
#include "report_fixture.h"

static void a_list_of_planes_is_a_set(void **state)
{
	static const char *const bad[] = {"", "gpu,", ",gpu", "cpus", "GPU", "gpu sync", "gp"};
	uint32_t planes;

	(void)state;
	assert_int_equal(report_planes_parse("gpu", &planes), 0);
	assert_int_equal(planes, 1u << REPORT_PLANE_GPU);
	assert_int_equal(report_planes_parse("um,sync,um", &planes), 0);
	assert_int_equal(planes, 1u << REPORT_PLANE_UNIFIED | 1u << REPORT_PLANE_SYNC);
	assert_int_equal(report_planes_count(planes), 2);
	assert_int_equal(report_planes_parse("all", &planes), 0);
	assert_int_equal(planes, REPORT_PLANES_ALL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(report_planes_parse(bad[i], &planes), -EINVAL);
		assert_int_equal(planes, 0);
	}
}

static void an_option_that_names_memory_or_no_plane_is_refused(void **state)
{
	uint32_t planes;
	char *error = NULL;

	(void)state;
	assert_int_equal(report_planes_take(&planes, "planes", "gpu,sync", &error), 0);
	assert_int_equal(planes, 1u << REPORT_PLANE_GPU | 1u << REPORT_PLANE_SYNC);
	assert_int_equal(report_planes_take(&planes, "planes", "cpus", &error), -EINVAL);
	assert_string_equal(error, "--planes cpus: must be all, or of gpu, sync, overhead, um, "
				   "modules, cpu, offcpu, calls, idle, stalls; or energy, or use");
	free(error);
	error = NULL;
	assert_int_equal(report_planes_take_times(&planes, "planes", "cpus", &error), -EINVAL);
	assert_string_equal(error, "--planes cpus: must be all, or of gpu, sync, overhead, um, "
				   "modules, cpu, offcpu, calls, idle, stalls");
	free(error);
	error = NULL;
	assert_int_equal(report_planes_take_times(&planes, "planes", "use", &error), 0);
	assert_int_equal(report_planes_take(&planes, "planes", "gpu,memory", &error), -EINVAL);
	assert_non_null(strstr(error, "--planes gpu,memory: memory has an option of its own"));
	free(error);
	error = NULL;
	assert_int_equal(report_planes_take(&planes, "planes", "energy,gpu", &error), -EINVAL);
	assert_non_null(strstr(error, "--planes energy,gpu: energy and use are no time"));
	free(error);
	assert_int_equal(report_planes_take(&planes, "planes", "energy", &error), 0);
	assert_int_equal(planes, 1u << REPORT_PLANE_ENERGY);
	assert_int_equal(report_planes_take(&planes, "planes", "use", &error), 0);
	assert_int_equal(planes, 1u << REPORT_PLANE_USE);
	assert_int_equal(report_planes_resources(planes), RESOURCES_OF_USE);
	assert_int_equal(report_planes_resources(1u << REPORT_PLANE_ENERGY | 1u),
			 RESOURCES_OF_ENERGY);
	assert_int_equal(report_planes_resources(REPORT_PLANES_ALL), 0);
}

static void every_plane_is_called_by_its_name(void **state)
{
	(void)state;
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
		uint32_t planes;

		assert_int_equal(
			report_planes_parse(report_plane_name((enum report_plane)plane), &planes),
			0);
		assert_int_equal(planes, 1u << plane);
	}
}

/* Energy is always recorded, too. */
static void every_other_plane_names_the_options_that_record_it(void **state)
{
	(void)state;
	assert_null(report_plane_options(REPORT_PLANE_GPU));
	assert_null(report_plane_options(REPORT_PLANE_ENERGY));
	for (uint32_t plane = REPORT_PLANE_GPU + 1; plane < REPORT_PLANE_ENERGY; plane++)
		assert_int_equal(strncmp(report_plane_options((enum report_plane)plane), "--", 2),
				 0);
}

static void few_planes_move_bytes(void **state)
{
	(void)state;
	assert_true(report_planes_have_bytes(0)); /* GPU work */
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
		const bool moves = plane == REPORT_PLANE_GPU || plane == REPORT_PLANE_UNIFIED ||
				   plane == REPORT_PLANE_MEMORY;

		assert_int_equal(report_planes_have_bytes(1u << plane), moves);
	}
	assert_true(report_planes_have_bytes(REPORT_PLANES_ALL));
}

static void only_work_is_gpu_time(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < REPORT_KINDS; kind++)
		assert_int_equal(report_plane_of(kind) == REPORT_PLANE_GPU,
				 kind <= RECORD_GPU_GRAPH);
}

static void kinds_of_kinds_have_names_and_unknown_ones_say_so(void **state)
{
	(void)state;
	assert_string_equal(kind_name_detail(RECORD_GPU_MEMCPY, 10), "PtoP");
	assert_string_equal(kind_name_detail(RECORD_GPU_MEMCPY, 11), "Unknown");
	assert_string_equal(kind_name_detail(RECORD_GPU_SYNC, 2), "stream wait event");
	assert_string_equal(kind_name_detail(RECORD_GPU_SYNC, 5), "unknown");
	assert_string_equal(kind_name_detail(RECORD_GPU_OVERHEAD, RECORD_OVERHEAD_CUPTI + 5),
			    "lazy function loading");
	assert_string_equal(kind_name_detail(RECORD_GPU_OVERHEAD, RECORD_OVERHEAD_CUPTI),
			    "unknown");
	assert_string_equal(kind_name_detail(RECORD_GPU_OVERHEAD, 255), "unknown");
	assert_string_equal(kind_name_detail(RECORD_GPU_UNIFIED, 8), "migration DtoD");
	assert_string_equal(kind_name_detail(RECORD_GPU_KERNEL, 1), "");
	assert_string_equal(kind_name_detail(REPORT_KINDS, 1), "");
	assert_string_equal(kind_name_leaf(REPORT_KINDS), "Unknown");
	assert_string_equal(kind_name_column(RECORD_GPU_MODULE), "module");
}

static void add(struct fold_key key, uint8_t kind, uint8_t copy_kind, uint64_t ns)
{
	key.kind = kind;
	key.copy_kind = copy_kind;
	if (kind != RECORD_GPU_KERNEL && kind != RECORD_GPU_MODULE)
		key.name_id = 0;
	report_fixture_add_row(key, 1, ns, kind == RECORD_GPU_UNIFIED ? 4096 : 0);
}

/* One row of each plane. */
static void fill(void)
{
	struct fold_key key =
		report_fixture_key(report_fixture_stack("main", "step", NULL), "gemm");
	struct fold_key alone = key;

	alone.stack_id = 0;
	add(key, RECORD_GPU_KERNEL, 0, 1000);
	add(key, RECORD_GPU_SYNC, 4, 20000);
	add(key, RECORD_GPU_OVERHEAD, RECORD_OVERHEAD_CUPTI + 5, 300);
	add(alone, RECORD_GPU_OVERHEAD, RECORD_OVERHEAD_CUPTI + 1, 40);
	add(alone, RECORD_GPU_UNIFIED, 1, 5000);
	alone.device_id = RECORD_DEVICE_NONE;
	add(alone, RECORD_GPU_UNIFIED, 3, 0);
	key.name_id = report_fixture_string("cuModuleLoadData");
	add(key, RECORD_GPU_MODULE, 0, 700);
}

static void build(uint32_t planes)
{
	report_fixture_build_with(&(struct report_options){.planes = planes});
}

static void a_report_is_of_gpu_work_unless_asked(void **state)
{
	(void)state;
	fill();
	report_fixture_assert_folded("main;step;[GPU0_Kernel]gemm 1000\n");
	assert_int_equal(report_fixture.tree->planes, 1u << REPORT_PLANE_GPU);
	assert_int_equal(report_fixture.tree->nr_leaves, 1);
}

static void each_plane_shows_its_own(void **state)
{
	static const struct {
		enum report_plane plane;
		const char *folded;
	} cases[] = {
		{REPORT_PLANE_SYNC, "main;step;[GPU0_Sync]context 20000\n"},
		{REPORT_PLANE_OVERHEAD, "[CUPTI];[GPU0_Overhead]activity buffer flush 40\n"
					"main;step;[GPU0_Overhead]lazy function loading 300\n"},
		{REPORT_PLANE_UNIFIED, "[unified memory];[GPU0_UM]migration HtoD 5000\n"
				       "[unified memory];[GPU?_UM]CPU page fault 0\n"},
		{REPORT_PLANE_MODULES, "main;step;[GPU0_Module]cuModuleLoadData 700\n"},
		{REPORT_PLANE_MEMORY, ""},
	};

	(void)state;
	fill();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		build(1u << cases[i].plane);
		report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_NS},
						  cases[i].folded);
	}
}

static void totals_are_a_planes_own_whatever_is_shown(void **state)
{
	static const uint64_t ns[REPORT_PLANES] = {1000, 20000, 340, 5000, 700, 0};
	static const uint64_t count[REPORT_PLANES] = {1, 1, 2, 2, 1, 0};
	const uint32_t shown[] = {0, 1u << REPORT_PLANE_SYNC, REPORT_PLANES_ALL};

	(void)state;
	fill();
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		const struct report_tree *tree;
		char line[REPORT_SUMMARY_SIZE];

		build(shown[i]);
		tree = report_fixture.tree;
		for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
			assert_int_equal(tree->plane_totals[plane].ns, ns[plane]);
			assert_int_equal(tree->plane_totals[plane].count, count[plane]);
		}
		assert_string_equal(
			report_summary_line(tree, line, sizeof(line)),
			"1 kernel, 1.000 us of GPU time, 100.00 % matched; nothing lost");
	}
}

static void closing_lines_name_the_planes_that_have_records(void **state)
{
	char *text, line[REPORT_SUMMARY_SIZE];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fill();
	build(REPORT_PLANES_ALL);
	report_summary_planes(out, report_fixture.tree, "> ");
	fclose(out);
	assert_string_equal(text, "> host waits: 1 in 20.000 us\n"
				  "> overhead: 2 in 340 ns\n"
				  "> unified memory: 2 in 5.000 us, 8,192 bytes\n"
				  "> loads of GPU code: 1 in 700 ns\n");
	free(text);
	assert_true(report_summary_mixed(report_fixture.tree, line, sizeof(line)));
	assert_string_equal(line, "several planes side by side, never to be added up: "
				  "gpu, sync, overhead, um, modules");
	build(1u << REPORT_PLANE_SYNC | 1u << REPORT_PLANE_MEMORY);
	assert_false(report_summary_mixed(report_fixture.tree, line, sizeof(line)));
}

static void a_row_of_no_kind_is_damage(void **state)
{
	struct fold_key key = report_fixture_key(0, NULL);
	struct report_tree *tree;

	(void)state;
	key.kind = RECORD_GPU_KINDS;
	report_fixture_add_row(key, 1, 1, 0);
	assert_int_equal(report_tree_build(&report_fixture.profile, NULL, &tree), -EPROTO);
	assert_null(tree);
}

static void only_waits_without_a_call_are_unmatched(void **state)
{
	struct fold_key key = report_fixture_key(0, NULL);

	(void)state;
	key.matched = 0;
	add(key, RECORD_GPU_SYNC, 3, 10);
	add(key, RECORD_GPU_OVERHEAD, 1, 10);
	build(REPORT_PLANES_ALL);
	assert_int_equal(report_fixture.tree->nr_losses, 1);
	assert_int_equal(report_fixture.tree->losses[0].count, 1);
	assert_int_equal(report_fixture.tree->lost, 0);
	report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_NS},
					  "[CUPTI];[GPU0_Overhead]driver compiler 10\n"
					  "[unknown stack];[GPU0_Sync]stream 10\n");
}

static void a_table_of_one_plane_has_its_own_shares(void **state)
{
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fill();
	build(1u << REPORT_PLANE_OVERHEAD);
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(table_writer_write(out, report_fixture.tree, busy, NULL), 0);
	fclose(out);
	assert_string_equal(
		text,
		"          time   share          count        average  kind      name\n"
		"        300 ns  88.24%              1         300 ns  overhead  lazy function "
		"loading\n"
		"         40 ns  11.76%              1          40 ns  overhead  activity buffer "
		"flush\n"
		"\n"
		"          time   share          count  function of the program\n"
		"        300 ns  88.24%              1  step\n"
		"\n"
		"          time   share          count  host\n"
		"        340 ns 100.00%              2  node01\n"
		"\n"
		"1 kernel, 1.000 us of GPU time, 100.00 % matched; nothing lost\n"
		"host waits: 1 in 20.000 us\n"
		"overhead: 2 in 340 ns\n"
		"unified memory: 2 in 5.000 us, 8,192 bytes\n"
		"loads of GPU code: 1 in 700 ns\n");
	free(text);
	report_busy_destroy(busy);
}

static void a_plane_without_records_has_no_table(void **state)
{
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fill();
	build(1u << REPORT_PLANE_IDLE);
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(table_writer_write(out, report_fixture.tree, busy, NULL), 0);
	fclose(out);
	assert_memory_equal(text, "nothing of idle is here: ", 25);
	assert_null(strstr(text, "share"));
	free(text);
	report_busy_destroy(busy);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_of_planes_is_a_set),
		cmocka_unit_test(an_option_that_names_memory_or_no_plane_is_refused),
		cmocka_unit_test(every_plane_is_called_by_its_name),
		cmocka_unit_test(every_other_plane_names_the_options_that_record_it),
		cmocka_unit_test(few_planes_move_bytes),
		cmocka_unit_test(only_work_is_gpu_time),
		cmocka_unit_test(kinds_of_kinds_have_names_and_unknown_ones_say_so),
		TEST(a_report_is_of_gpu_work_unless_asked),
		TEST(each_plane_shows_its_own),
		TEST(totals_are_a_planes_own_whatever_is_shown),
		TEST(closing_lines_name_the_planes_that_have_records),
		TEST(a_row_of_no_kind_is_damage),
		TEST(only_waits_without_a_call_are_unmatched),
		TEST(a_table_of_one_plane_has_its_own_shares),
		TEST(a_plane_without_records_has_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
