#include "aggregator/report_build.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/agent_session.h"
#include "aggregator/catalog.h"
#include "aggregator/csv_writer.h"
#include "aggregator/demangle.h"
#include "aggregator/folded_writer.h"
#include "aggregator/frame_text.h"
#include "aggregator/json_writer.h"
#include "aggregator/report_busy.h"
#include "aggregator/report_summary.h"
#include "aggregator/roster.h"
#include "aggregator/table_writer.h"
#include "aggregator/timeline_table.h"

static struct profile profile;
static struct collection *collection;
static struct catalog *catalog;
static struct report_tree *tree;
static uint32_t program, runtime, process_id;

static uint32_t string(const char *text)
{
	uint32_t id;

	assert_int_equal(catalog_add_string(catalog, text, (uint32_t)strlen(text), &id), 0);
	return id;
}

static uint32_t module(const char *path, uint32_t flags)
{
	struct catalog_module new = {.path = string(path), .flags = flags};
	uint32_t id;

	assert_int_equal(catalog_add_module(catalog, &new, &id), 0);
	return id;
}

/* A process on a new host, with device 0 as that GPU. */
static uint32_t process(const char *node, uint32_t pid, int32_t rank, int32_t gpu)
{
	struct roster_host host = {string("b00t"), string(node)};
	struct roster_identity identity = {.pid = pid};
	struct roster_device device = {
		.index = gpu, .uuid = {(uint8_t)(gpu + 1)}, .name = string("NVIDIA H100")};
	struct roster_ordinal ordinal = {.device_id = 0};
	uint32_t id;

	assert_int_equal(roster_add_host(collection->roster, &host, &identity.host), 0);
	device.host = identity.host;
	assert_int_equal(roster_add_device(collection->roster, &device, &ordinal.device), 0);
	assert_int_equal(roster_add_process(collection->roster, &identity, &id), 0);
	struct roster_process *new = roster_process(collection->roster, id);
	new->rank = rank;
	new->command = string("./train");
	new->state = PROCESS_ENDED;
	assert_int_equal(roster_process_set_devices(new, &ordinal, 1), 0);
	return id;
}

static int set_up(void **state)
{
	(void)state;
	collection = collection_create();
	if (!collection)
		return -1;
	profile = (struct profile){.collection = collection};
	catalog = collection->catalog;
	tree = NULL;
	program = module("/usr/bin/train", 0);
	runtime = module("/usr/lib/libcudart.so.13", 1u << 1);
	process_id = process("node01", 100, 3, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	report_tree_destroy(tree);
	collection_destroy(collection);
	return 0;
}

static uint32_t frame_in(uint32_t in_module, uint64_t offset, const char *name)
{
	uint32_t id;

	assert_int_equal(catalog_add_frame(catalog, in_module, offset, 1, &id), 0);
	if (name)
		assert_int_equal(catalog_name_frame(catalog, id, *name ? string(name) : 0), 0);
	return id;
}

static uint32_t push(uint32_t parent, uint32_t frame)
{
	uint32_t id;

	assert_int_equal(catalog_add_node(catalog, parent, frame, &id), 0);
	return id;
}

/* A stack of named functions of the program, root first, ended by NULL. */
static uint32_t stack(const char *first, ...)
{
	static uint64_t offset;
	uint32_t node = 0;
	va_list more;

	va_start(more, first);
	for (const char *name = first; name; name = va_arg(more, const char *))
		node = push(node, frame_in(program, ++offset, name));
	va_end(more);
	return node;
}

static struct fold_key key_of(uint32_t stack_id, const char *kernel)
{
	return (struct fold_key){
		.process_id = process_id,
		.context_id = 1,
		.stream_id = 7,
		.tid = 1234,
		.stack_id = stack_id,
		.name_id = kernel ? string(kernel) : 0,
		.matched = 1,
	};
}

static void add_row(struct fold_key key, uint64_t count, uint64_t ns, uint64_t bytes)
{
	assert_int_equal(fold_table_add(collection->totals, &key, count, ns, bytes), 0);
}

static void build(enum demangle_mode mode)
{
	struct report_options options = {.demangle = mode};

	report_tree_destroy(tree);
	assert_int_equal(report_tree_build(&profile, &options, &tree), 0);
	for (uint32_t i = 1; i < tree->nr_nodes; i++)
		assert_true(tree->nodes[i].parent < i);
}

static void assert_folded_with(const struct folded_options *options, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(folded_writer_write(out, tree, options), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void assert_folded(const char *expected)
{
	build(DEMANGLE_FULL);
	assert_folded_with(&(struct folded_options){.unit = FOLDED_NS}, expected);
}

/* --- names ------------------------------------------------------------------------------------ */

static void frames_without_a_symbol_are_file_and_offset(void **state)
{
	(void)state;
	uint32_t node = push(0, frame_in(program, 0x10, NULL));

	node = push(node, frame_in(program, 0x2f, ""));
	node = push(node, frame_in(0, 0xdeadbeef, NULL));
	add_row(key_of(node, "k"), 1, 5, 0);
	assert_folded("train+0x10;train+0x2f;[unknown];[GPU0_Kernel]k 5\n");
}

static void names_are_demangled_as_asked(void **state)
{
	(void)state;
	struct folded_options options = {.unit = FOLDED_NS};

	add_row(key_of(stack("_ZN5model7forwardEv", NULL), "_Z4gemmIfEvPT_i"), 1, 5, 0);
	build(DEMANGLE_FULL);
	assert_folded_with(&options,
			   "model::forward();[GPU0_Kernel]void gemm<float>(float*, int) 5\n");
	build(DEMANGLE_SIMPLE);
	assert_folded_with(&options, "model::forward;[GPU0_Kernel]gemm 5\n");
	build(DEMANGLE_NONE);
	assert_folded_with(&options, "_ZN5model7forwardEv;[GPU0_Kernel]_Z4gemmIfEvPT_i 5\n");
}

static void assert_simple(const char *mangled, const char *expected)
{
	char *name = demangle_name(mangled, DEMANGLE_SIMPLE);

	assert_string_equal(name, expected);
	free(name);
}

static void simple_names_keep_what_names_the_function(void **state)
{
	(void)state;
	assert_simple("main", "main");
	assert_simple("_Znotmangled", "_Znotmangled");
	assert_simple("_ZNK3foo3barIiLi3EEEvRKSt6vectorIiSaIiEE", "foo::bar");
	assert_simple("_ZlsIiERSoS0_T_", "operator<<");
	assert_simple("_ZN1AltERKS_", "A::operator<");
	assert_simple("_ZN1AptEv", "A::operator->");
	assert_simple("_ZN1AclEi", "A::operator()");
	assert_simple("_ZN1AcvjEv", "A::operator unsigned int");
	assert_simple("_ZN12_GLOBAL__N_13fooEi", "(anonymous namespace)::foo");
	assert_simple("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()");
	assert_simple("_ZN1A3barEv.cold", "A::bar");
	assert_simple(
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5array"
		"IPcLm1EEEEviT0_T1_",
		"at::native::vectorized_elementwise_kernel");
}

static void full_names_of_plain_c_stay(void **state)
{
	(void)state;
	char *name = demangle_name("cudaLaunchKernel", DEMANGLE_FULL);

	assert_string_equal(name, "cudaLaunchKernel");
	free(name);
}

static void assert_clean(const char *text, size_t size, const char *expected)
{
	char *clean = frame_text_clean(text, size);

	assert_string_equal(clean, expected);
	free(clean);
}

static void text_is_cleaned_of_what_breaks_reports(void **state)
{
	(void)state;
	assert_clean("a;b", 3, "a:b");
	assert_clean("a\nb\tc\x7f\0d", 8, "a_b_c__d");
	assert_clean("a b (c)", 7, "a b (c)");
	assert_clean("\xc2\x85", 2, "_");
	assert_clean("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5", 9,
		     "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5");
	assert_clean("\xff", 1, "\xef\xbf\xbd");
	assert_clean("x\xc3", 2, "x\xef\xbf\xbd");
	assert_clean("\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_clean("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_clean("\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_clean("", 0, "");
}

static void hostile_names_cannot_forge_lines(void **state)
{
	(void)state;
	add_row(key_of(stack("a;b 99\nc", NULL), "k\n;x 7"), 1, 5, 0);
	assert_folded("a:b 99_c;[GPU0_Kernel]k_:x 7 5\n");
}

/* --- CUDA's own frames ------------------------------------------------------------------------ */

static void frames_of_a_static_runtime_are_cut(void **state)
{
	(void)state;
	add_row(key_of(stack("main", "step", "cudaLaunchKernel", "__cudart803", "cuLaunchKernel",
			     NULL),
		       "k"),
		1, 5, 0);
	assert_folded("main;step;cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void frames_of_cuda_modules_are_cut_though_nameless(void **state)
{
	(void)state;
	uint32_t node = stack("main", NULL);

	node = push(node, frame_in(runtime, 0x1, "cudaMemcpyAsync"));
	node = push(node, frame_in(runtime, 0x2, ""));
	node = push(node, frame_in(runtime, 0x3, ""));
	add_row(key_of(node, "k"), 1, 5, 0);
	assert_folded("main;cudaMemcpyAsync;[GPU0_Kernel]k 5\n");
}

static void the_application_around_cuda_stays(void **state)
{
	(void)state;
	add_row(key_of(stack("main", "cudaGraphLaunch", "callback", "cuda_step", "cublasSgemm",
			     "cuLaunchKernel", NULL),
		       "k"),
		1, 5, 0);
	assert_folded("main;cudaGraphLaunch;callback;cuda_step;cublasSgemm;cuLaunchKernel;"
		      "[GPU0_Kernel]k 5\n");
}

/* --- leaves ----------------------------------------------------------------------------------- */

static void copies_and_sets_have_leaves_of_their_own(void **state)
{
	(void)state;
	struct fold_key key = key_of(stack("main", NULL), NULL);

	key.kind = RECORD_GPU_MEMCPY;
	key.copy_kind = 1;
	add_row(key, 1, 5, 10);
	key.copy_kind = 10;
	add_row(key, 1, 6, 10);
	key.copy_kind = 77;
	add_row(key, 1, 7, 10);
	key.kind = RECORD_GPU_MEMSET;
	key.copy_kind = 0;
	add_row(key, 1, 8, 10);
	assert_folded("main;[GPU0_Memcpy]HtoD 5\n"
		      "main;[GPU0_Memcpy]PtoP 6\n"
		      "main;[GPU0_Memcpy]Unknown 7\n"
		      "main;[GPU0_Memset] 8\n");
}

static void what_is_not_known_is_said(void **state)
{
	(void)state;
	struct fold_key key = key_of(0, NULL);

	add_row(key, 1, 5, 0);
	key.matched = 0;
	key.stack_id = stack("main", NULL);
	key.device_id = 9;
	add_row(key, 1, 6, 0);
	assert_folded("[unknown stack];[GPU0_Kernel][unknown] 5\n"
		      "[unknown stack];[GPU?_Kernel][unknown] 6\n");
	assert_int_equal(tree->matched, 1);
	assert_int_equal(tree->kernels, 2);
}

static void rows_that_are_called_the_same_become_one(void **state)
{
	(void)state;
	uint32_t first = push(0, frame_in(program, 0x1000, "step"));
	uint32_t second = push(0, frame_in(program, 0x2000, "step"));

	add_row(key_of(first, "k"), 1, 5, 0);
	add_row(key_of(second, "k"), 2, 7, 0);
	build(DEMANGLE_FULL);
	assert_int_equal(tree->nr_leaves, 1);
	assert_int_equal(tree->leaves[0].count, 3);
	assert_int_equal(tree->leaves[0].ns, 12);
}

static void rows_that_name_nothing_are_an_error(void **state)
{
	(void)state;
	struct fold_key key = key_of(4000, "k");

	add_row(key, 1, 5, 0);
	assert_int_equal(report_tree_build(&profile, NULL, &tree), -EPROTO);
	assert_null(tree);
}

/* --- folded ----------------------------------------------------------------------------------- */

static void dimensions_stand_at_the_root_in_their_order(void **state)
{
	(void)state;
	struct folded_options options = {.unit = FOLDED_NS};
	uint32_t node = stack("main", NULL);

	add_row(key_of(node, "k"), 1, 5, 0);
	process_id = process("node02", 100, MESSAGE_RANK_NONE, 4);
	struct fold_key key = key_of(node, "k");
	key.tid = 0;
	key.stream_id = 13;
	add_row(key, 1, 6, 0);
	build(DEMANGLE_FULL);
	assert_folded_with(&options, "main;[GPU0_Kernel]k 5\nmain;[GPU4_Kernel]k 6\n");
	assert_int_equal(report_by_parse("host,rank,gpu,stream,thread", &options.by), 0);
	assert_folded_with(&options, "node01;rank3;GPU0;stream7;thread1234;main;[GPU0_Kernel]k 5\n"
				     "node02;rank?;GPU4;stream13;thread?;main;[GPU4_Kernel]k 6\n");
	assert_int_equal(report_by_parse("rank,host", &options.by), 0);
	assert_folded_with(&options, "rank3;node01;main;[GPU0_Kernel]k 5\n"
				     "rank?;node02;main;[GPU4_Kernel]k 6\n");
}

static void words_that_are_no_dimensions_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {"hosts",     "host,",    ",host", "host,host",
					    "host,,gpu", "host gpu", "Host"};
	struct report_by by;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(report_by_parse(wrong[i], &by), -EINVAL);
		assert_int_equal(by.nr_dimensions, 0);
	}
	assert_int_equal(report_by_parse("", &by), 0);
	assert_int_equal(by.nr_dimensions, 0);
}

static void microseconds_are_rounded_once_a_line(void **state)
{
	(void)state;
	uint32_t node = stack("main", NULL);
	struct fold_key key = key_of(node, "sum");

	for (key.stream_id = 1; key.stream_id <= 10; key.stream_id++)
		add_row(key, 1, 150, 0);
	add_row(key_of(node, "half"), 1, 500, 0);
	add_row(key_of(node, "less"), 1, 499, 0);
	add_row(key_of(node, "none"), 1, 0, 0);
	build(DEMANGLE_FULL);
	assert_folded_with(NULL, "main;[GPU0_Kernel]half 1\n"
				 "main;[GPU0_Kernel]less 0\n"
				 "main;[GPU0_Kernel]sum 2\n");
	assert_folded_with(&(struct folded_options){.unit = FOLDED_NS},
			   "main;[GPU0_Kernel]half 500\n"
			   "main;[GPU0_Kernel]less 499\n"
			   "main;[GPU0_Kernel]sum 1500\n");
}

static void counts_and_bytes_are_weights_too(void **state)
{
	(void)state;
	uint32_t node = stack("main", NULL);
	struct fold_key key = key_of(node, NULL);

	add_row(key_of(node, "k"), 3, 5000, 0);
	key.kind = RECORD_GPU_MEMCPY;
	key.copy_kind = 2;
	add_row(key, 2, 7000, 4096);
	build(DEMANGLE_FULL);
	assert_folded_with(&(struct folded_options){.weight = FOLDED_COUNT},
			   "main;[GPU0_Kernel]k 3\nmain;[GPU0_Memcpy]DtoH 2\n");
	assert_folded_with(&(struct folded_options){.weight = FOLDED_BYTES},
			   "main;[GPU0_Memcpy]DtoH 4096\n");
}

static void a_full_disk_is_an_error(void **state)
{
	(void)state;
	struct report_busy *busy;
	FILE *full = fopen("/dev/full", "w");

	add_row(key_of(stack("main", NULL), "k"), 1, 5000, 0);
	build(DEMANGLE_FULL);
	assert_int_equal(report_busy_create(&profile, &busy), 0);
	assert_non_null(full);
	assert_int_equal(folded_writer_write(full, tree, NULL), -EIO);
	clearerr(full);
	assert_int_equal(csv_writer_write(full, tree), -EIO);
	clearerr(full);
	assert_int_equal(json_writer_write(full, tree, busy), -EIO);
	clearerr(full);
	assert_int_equal(table_writer_write(full, tree, busy, NULL), -EIO);
	fclose(full);
	report_busy_destroy(busy);
}

/* --- the closing line ------------------------------------------------------------------------- */

static void assert_summary(const char *expected)
{
	char line[REPORT_SUMMARY_SIZE];

	build(DEMANGLE_FULL);
	assert_string_equal(report_summary_line(tree, line, sizeof(line)), expected);
}

static void a_complete_profile_says_that_nothing_is_lost(void **state)
{
	(void)state;
	add_row(key_of(stack("main", NULL), "k"), 1234567, 12345678901, 0);
	assert_summary("1,234,567 kernels, 12.345 s of GPU time, 100.00 % matched; nothing lost");
	assert_int_equal(tree->lost, 0);
}

static void an_empty_profile_says_that_it_has_seen_nothing(void **state)
{
	(void)state;
	assert_summary("0 kernels, 0 ns of GPU time, no GPU work was seen; nothing lost");
}

static void not_quite_all_is_never_called_all(void **state)
{
	(void)state;
	struct fold_key key = key_of(stack("main", NULL), "k");

	add_row(key, 999999, 999999, 0);
	key.matched = 0;
	add_row(key, 1, 1, 0);
	assert_summary("1,000,000 kernels, 1.000 ms of GPU time, 99.99 % matched; nothing lost; "
		       "noted: unmatched_record 1");
}

static void losses_and_notes_are_told_apart(void **state)
{
	(void)state;
	const struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_LAUNCHES, 30, 0},
		{0, LEDGER_RECORDS, 25, 900},
		{0, LEDGER_RECORD_RING_FULL, 10, 77},
		{1, LEDGER_RECORD_RING_FULL, 1, 3},
		{0, LEDGER_CUPTI_DROPPED, 2, 0},
		{0, LEDGER_LAUNCH_FAILED, 4, 0},
		{0, 4242, 5, 0},
	};
	struct roster_process *one = roster_process(collection->roster, process_id);
	struct fold_key key = key_of(stack("main", NULL), "k");

	add_row(key, 2, 900, 0);
	key.matched = 0;
	add_row(key, 1, 100, 0);
	assert_int_equal(roster_process_set_ledger(one, entries, 7), 0);
	one->counts.launches = 29;
	one->counts.failed = 3;
	one->counts.expired = 6;
	assert_summary(
		"3 kernels, 1.000 us of GPU time, 66.66 % matched; lost 13 (record_ring_full "
		"11, cupti_dropped 2); noted: launch_failed 4, launch_expired 6, "
		"unmatched_record 1");
	assert_int_equal(tree->lost, 13);
	assert_int_equal(tree->launches, 30);
	assert_int_equal(tree->launches_failed, 4);
}

static void an_unclean_end_is_counted_once(void **state)
{
	(void)state;
	const struct ledger_entry entry = {LEDGER_DEVICE_NONE, LEDGER_UNCLEAN_END, 1, 0};
	struct roster_process *one = roster_process(collection->roster, process_id);

	one->state = PROCESS_UNCLEAN;
	assert_summary("0 kernels, 0 ns of GPU time, no GPU work was seen; lost 1 (unclean_end 1)");
	assert_int_equal(tree->processes[0].unclean, 1);
	assert_int_equal(roster_process_set_ledger(one, &entry, 1), 0);
	assert_summary("0 kernels, 0 ns of GPU time, no GPU work was seen; lost 1 (unclean_end 1)");
}

static void simulated_devices_are_announced(void **state)
{
	(void)state;
	struct roster_device device = {.host = 1, .index = 1, .name = string("Fake GPU")};
	uint32_t id;

	build(DEMANGLE_FULL);
	assert_int_equal(tree->simulated, 0);
	assert_int_equal(roster_add_device(collection->roster, &device, &id), 0);
	assert_summary(
		"SIMULATED GPU: 0 kernels, 0 ns of GPU time, no GPU work was seen; nothing lost");
	assert_int_equal(tree->simulated, 1);
}

static void times_are_written_in_a_fitting_unit(void **state)
{
	(void)state;
	char text[32];

	assert_string_equal(report_summary_time(999, text), "999 ns");
	assert_string_equal(report_summary_time(1000, text), "1.000 us");
	assert_string_equal(report_summary_time(999999, text), "999.999 us");
	assert_string_equal(report_summary_time(1000000, text), "1.000 ms");
	assert_string_equal(report_summary_time(86400000000000, text), "86400.000 s");
	assert_string_equal(report_summary_count(0, text), "0");
	assert_string_equal(report_summary_count(999, text), "999");
	assert_string_equal(report_summary_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

/* --- the other writers, whole ----------------------------------------------------------------- */

static void fill_sample(void)
{
	struct fold_key key = key_of(stack("main", "ste\"p,", NULL), "gemm");
	struct timeline_key stream = {TIMELINE_STREAM, process_id, 0, 1, 7};
	struct timeline_key device = {TIMELINE_DEVICE, 0, 1, 0, 0};

	profile.title = (char *)(uintptr_t) "a \"job\"";
	add_row(key, 3, 3000, 0);
	key.kind = RECORD_GPU_MEMCPY;
	key.copy_kind = 1;
	key.name_id = 0;
	add_row(key, 1, 1000, 4096);
	assert_int_equal(timeline_table_add(collection->timelines, &stream, 1000, 3000), 0);
	assert_int_equal(timeline_table_add(collection->timelines, &stream, 4000, 6000), 0);
	assert_int_equal(timeline_table_add(collection->timelines, &device, 1000, 3000), 0);
	assert_int_equal(timeline_table_add(collection->timelines, &device, 2000, 6000), 0);
	build(DEMANGLE_FULL);
}

static void the_table_shows_activities_hosts_devices_and_streams(void **state)
{
	(void)state;
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill_sample();
	assert_int_equal(report_busy_create(&profile, &busy), 0);
	assert_int_equal(table_writer_write(out, tree, busy, &(struct table_options){.top = 1}), 0);
	fclose(out);
	assert_string_equal(
		text,
		"a \"job\"\n\n"
		"          time   share          count        average  kind    name\n"
		"      3.000 us  75.00%              3       1.000 us  kernel  gemm\n"
		"               1 more\n"
		"\n"
		"          time   share          count  host\n"
		"      4.000 us 100.00%              4  node01\n"
		"\n"
		"          busy   share           idle        overlap        records  device\n"
		"      5.000 us 100.00%           0 ns       1.000 us              2  node01 GPU0 "
		"(NVIDIA H100)\n"
		"\n"
		"          busy   share           idle        overlap        records  stream\n"
		"      4.000 us  80.00%       1.000 us           0 ns              2  node01 GPU0 "
		"pid 100 context 1 stream 7\n"
		"\n"
		"3 kernels, 4.000 us of GPU time, 100.00 % matched; nothing lost\n");
	free(text);
	report_busy_destroy(busy);
}

static void the_json_holds_every_leaf_and_total(void **state)
{
	(void)state;
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill_sample();
	assert_int_equal(report_busy_create(&profile, &busy), 0);
	assert_int_equal(json_writer_write(out, tree, busy), 0);
	fclose(out);
	assert_string_equal(
		text,
		"{\"schema\":1,\n\"title\":\"a \\\"job\\\"\",\n\"simulated\":false,\n"
		"\"totals\":{\"kernels\":3,\"kernel_ns\":3000,\"copies\":1,\"copy_ns\":1000,"
		"\"matched\":4,\"launches\":0,\"launches_failed\":0,\"lost\":0},\n"
		"\"summary\":\"3 kernels, 4.000 us of GPU time, 100.00 % matched; nothing lost\",\n"
		"\"ledger\":[],\n"
		"\"processes\":[\n{\"host\":\"node01\",\"pid\":100,\"rank\":3,\"command\":"
		"\"./train\",\"unclean\":false}],\n"
		"\"devices\":[\n{\"host\":\"node01\",\"gpu\":0,\"name\":\"NVIDIA H100\","
		"\"records\":2,\"busy_ns\":5000,\"idle_ns\":0,\"overlap_ns\":1000,"
		"\"first_ns\":1000,\"last_ns\":6000,\"late\":0,\"late_ns\":0}],\n"
		"\"streams\":[\n{\"host\":\"node01\",\"gpu\":0,\"rank\":3,\"pid\":100,\"context\":"
		"1,"
		"\"stream\":7,\"records\":2,\"busy_ns\":4000,\"idle_ns\":1000,\"overlap_ns\":0,"
		"\"first_ns\":1000,\"last_ns\":6000,\"late\":0,\"late_ns\":0}],\n"
		"\"leaves\":[\n"
		"{\"host\":\"node01\",\"process\":0,\"rank\":3,\"gpu\":0,\"context\":1,\"stream\":"
		"7,"
		"\"tid\":1234,\"kind\":\"kernel\",\"count\":3,\"ns\":3000,\"bytes\":0,"
		"\"frames\":[\"main\",\"ste\\\"p,\",\"[GPU0_Kernel]gemm\"]},\n"
		"{\"host\":\"node01\",\"process\":0,\"rank\":3,\"gpu\":0,\"context\":1,\"stream\":"
		"7,"
		"\"tid\":1234,\"kind\":\"memcpy\",\"count\":1,\"ns\":1000,\"bytes\":4096,"
		"\"frames\":[\"main\",\"ste\\\"p,\",\"[GPU0_Memcpy]HtoD\"]}]}\n");
	free(text);
	report_busy_destroy(busy);
}

static void the_csv_quotes_what_needs_it(void **state)
{
	(void)state;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill_sample();
	assert_int_equal(csv_writer_write(out, tree), 0);
	fclose(out);
	assert_string_equal(
		text, "host,rank,pid,gpu,context,stream,thread,kind,name,count,ns,bytes,stack\n"
		      "node01,3,100,0,1,7,1234,kernel,gemm,3,3000,0,\"main;ste\"\"p,\"\n"
		      "node01,3,100,0,1,7,1234,memcpy,HtoD,1,1000,4096,\"main;ste\"\"p,\"\n"
		      "# 3 kernels, 4.000 us of GPU time, 100.00 % matched; nothing lost\n");
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_without_a_symbol_are_file_and_offset),
		TEST(names_are_demangled_as_asked),
		TEST(simple_names_keep_what_names_the_function),
		TEST(full_names_of_plain_c_stay),
		TEST(text_is_cleaned_of_what_breaks_reports),
		TEST(hostile_names_cannot_forge_lines),
		TEST(frames_of_a_static_runtime_are_cut),
		TEST(frames_of_cuda_modules_are_cut_though_nameless),
		TEST(the_application_around_cuda_stays),
		TEST(copies_and_sets_have_leaves_of_their_own),
		TEST(what_is_not_known_is_said),
		TEST(rows_that_are_called_the_same_become_one),
		TEST(rows_that_name_nothing_are_an_error),
		TEST(dimensions_stand_at_the_root_in_their_order),
		TEST(words_that_are_no_dimensions_are_refused),
		TEST(microseconds_are_rounded_once_a_line),
		TEST(counts_and_bytes_are_weights_too),
		TEST(a_full_disk_is_an_error),
		TEST(a_complete_profile_says_that_nothing_is_lost),
		TEST(an_empty_profile_says_that_it_has_seen_nothing),
		TEST(not_quite_all_is_never_called_all),
		TEST(losses_and_notes_are_told_apart),
		TEST(an_unclean_end_is_counted_once),
		TEST(simulated_devices_are_announced),
		TEST(times_are_written_in_a_fitting_unit),
		TEST(the_table_shows_activities_hosts_devices_and_streams),
		TEST(the_json_holds_every_leaf_and_total),
		TEST(the_csv_quotes_what_needs_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
