/* The page as bytes: what it contains, what it escapes, and that its columns decode to the leaves
 * that went in. What a browser makes of it is tests/browser's matter. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "page_profile.h"

#include "report/straggler/report_straggler.h"
#include "report/writers/html/html_writer.h"

#define SIZE_MAX_100K_NODES 1500000u /* bytes */

static unsigned int callocs_until_failure; /* 0: none fails */

void *__real_calloc(size_t count, size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);

void *__wrap_calloc(size_t count, size_t size_bytes)
{
	if (callocs_until_failure && --callocs_until_failure == 0)
		return NULL;
	return __real_calloc(count, size_bytes);
}

static const char *const strings[] = {
	"",
	"main",
	"train.py:step:3",
	"cudaLaunchKernel",
	"[GPU0_Kernel]gemm",
	"[GPU1_Memcpy]HtoD",
	"node01",
	"./job",
	"ring_full",
	"node02",
};
static const struct report_node nodes[] = {{0, 0}, {0, 1}, {1, 2}, {2, 3}, {1, 3}};
static const struct report_leaf leaves[] = {
	{.node = 3,
	 .name = 4,
	 .step = 5,
	 .host = 6,
	 .rank = 0,
	 .gpu = 0,
	 .context_id = 1,
	 .stream_id = 7,
	 .tid = 100,
	 .count = 3,
	 .ns = 1234567,
	 .bytes = 0},
	{.node = 4,
	 .name = 5,
	 .host = 6,
	 .rank = 0,
	 .gpu = 1,
	 .context_id = 1,
	 .stream_id = 7,
	 .tid = 100,
	 .kind = REPORT_KIND_MEMCPY,
	 .count = 1,
	 .ns = 127,
	 .bytes = UINT64_MAX},
	{.node = 3,
	 .name = 4,
	 .host = 9,
	 .rank = REPORT_RANK_NONE,
	 .gpu = REPORT_GPU_NONE,
	 .context_id = 2,
	 .stream_id = UINT32_MAX,
	 .context = 5,
	 .tid = 0,
	 .count = UINT64_C(1) << 40,
	 .ns = (UINT64_C(1) << 53) + 1,
	 .bytes = 0},
	{.node = 0,
	 .name = 4,
	 .step = 5,
	 .host = 6,
	 .rank = 0,
	 .gpu = 0,
	 .context_id = 1,
	 .stream_id = 7,
	 .tid = 100,
	 .count = 1,
	 .ns = 128,
	 .bytes = 0},
};
static const struct report_process processes[] = {{0, 6, 7, 100, 0, 0},
						  {0, 9, 7, 200, REPORT_RANK_NONE, 1}};
static const struct report_loss losses[] = {
	{.reason = 8, .text = 5, .lost = 1, .count = 12, .ns = 345}};
static const struct report_notice notices[] = {{.text = 5, .nr_processes = 2},
					       {.text = 7, .nr_processes = 1}};
static const struct report_tree plain_tree = {
	.strings = strings,
	.nr_strings = sizeof(strings) / sizeof(strings[0]),
	.nodes = nodes,
	.nr_nodes = sizeof(nodes) / sizeof(nodes[0]),
	.leaves = leaves,
	.nr_leaves = sizeof(leaves) / sizeof(leaves[0]),
	.processes = processes,
	.nr_processes = 2,
	.losses = losses,
	.nr_losses = 1,
	.notices = notices,
	.nr_notices = 2,
	.kernels = UINT64_MAX,
	.lost = 12,
	.state = REPORT_INCOMPLETE,
	.verdict = "INCOMPLETE: a half",
	.title = "a job",
};

/* Writes into memory; *page is the caller's to free. */
static int write_page(const struct report_tree *tree, const struct html_options *options,
		      char **page, size_t *size_bytes)
{
	FILE *out = open_memstream(page, size_bytes);
	int error;

	assert_non_null(out);
	error = html_writer_write(out, tree, options);
	assert_int_equal(fclose(out), 0);
	return error;
}

/* The page, and behind it the JSON of its profile. */
static char *page_of(const struct report_tree *tree, const struct html_options *options)
{
	char *page;
	size_t size_bytes, profile_bytes;

	assert_int_equal(write_page(tree, options, &page, &size_bytes), 0);
	assert_int_equal(strlen(page), size_bytes);
	char *profile = page_profile_unpack(page, &profile_bytes);
	page = realloc(page, size_bytes + strlen(profile) + 1);
	assert_non_null(page);
	strcpy(page + size_bytes, profile);
	free(profile);
	return page;
}

static char *page_of_string(const char *name)
{
	const char *names[] = {"", name};
	struct report_node two_nodes[] = {{0, 0}, {0, 1}};
	struct report_tree tree = {.strings = names,
				   .nr_strings = 2,
				   .nodes = two_nodes,
				   .nr_nodes = 2,
				   .title = name};

	return page_of(&tree, NULL);
}

static unsigned int occurrences(const char *text, const char *of)
{
	unsigned int nr = 0;

	for (text = strstr(text, of); text; text = strstr(text + 1, of))
		nr++;
	return nr;
}

struct column_reader {
	uint8_t *bytes;
	size_t size_bytes, at;
	uint64_t zeros; /* still to come of a run */
};

static void reader_init(struct column_reader *reader, const char *page)
{
	char *profile = page_profile_unpack(page, &reader->size_bytes);

	reader->bytes = (uint8_t *)profile;
	reader->at = strlen(profile) + 1;
	reader->zeros = 0;
}

static uint64_t read_varint(struct column_reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		assert_true(reader->at < reader->size_bytes);
		value |= (uint64_t)(reader->bytes[reader->at] & 0x7f) << shift;
		if (reader->bytes[reader->at++] < 0x80)
			return value;
	}
}

static uint64_t read_value(struct column_reader *reader)
{
	uint64_t value;

	if (reader->zeros) {
		reader->zeros--;
		return 0;
	}
	value = read_varint(reader);
	if (value == 0)
		reader->zeros = read_varint(reader);
	return value;
}

static int64_t read_signed(struct column_reader *reader)
{
	uint64_t value = read_value(reader);

	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static void the_columns_decode_to_the_nodes_and_leaves_that_went_in(void **state)
{
	char *page = page_of(&plain_tree, NULL);
	struct column_reader reader;
	uint64_t rows[3][9];
	int64_t node = 0;

	(void)state;
	assert_non_null(strstr(page, "\"nodes\":5,\"dimensions\":3,\"leaves\":4}"));
	reader_init(&reader, page);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(read_value(&reader), i ? i - nodes[i].parent - 1 : 0);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(read_value(&reader), nodes[i].name);
	for (unsigned int i = 0; i < 27; i++)
		rows[i / 9][i % 9] = i % 9 == 4 || i % 9 == 5 ? (uint64_t)read_signed(&reader)
							      : read_value(&reader);
	for (uint32_t i = 0; i < 4; i++) {
		node += read_signed(&reader);
		assert_int_equal(node, leaves[i].node);
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(read_value(&reader), leaves[i].name);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t row = read_value(&reader);

		assert_in_range(row, 0, 2);
		assert_int_equal(rows[row][0], report_plane_of(leaves[i].kind));
		assert_int_equal(rows[row][1], leaves[i].job);
		assert_int_equal(rows[row][2], leaves[i].step);
		assert_int_equal(rows[row][3], leaves[i].host);
		assert_int_equal((int64_t)rows[row][4], leaves[i].rank);
		assert_int_equal((int64_t)rows[row][5], leaves[i].gpu);
		assert_int_equal(rows[row][6], leaves[i].context ? 2 * leaves[i].context + 1
								 : 2 * leaves[i].context_id);
		assert_int_equal(rows[row][7], leaves[i].stream_id);
		assert_int_equal(rows[row][8], leaves[i].tid);
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(read_value(&reader), leaves[i].count);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(read_value(&reader), leaves[i].ns);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(read_value(&reader), leaves[i].bytes);
	assert_int_equal(reader.at, reader.size_bytes);
	assert_int_equal(reader.zeros, 0);
	free(reader.bytes);
	free(page);
}

static void totals_losses_and_unclean_processes_are_in_the_page(void **state)
{
	char *page = page_of(&plain_tree, NULL);

	(void)state;
	assert_non_null(strstr(page, "\"kernels\":\"18446744073709551615\""));
	assert_non_null(strstr(page, "\"lost\":\"12\""));
	assert_non_null(strstr(page, "\"losses\":[[8,\"12\",\"345\",5,1]]"));
	assert_non_null(strstr(page, "\"state\":4,\"verdict\":\"INCOMPLETE: a half\""));
	assert_non_null(strstr(page, "\"notices\":[[5,2],[7,1]]"));
	assert_non_null(strstr(page, "\"processes\":2,\"unclean\":[[9,7,200,-1]]"));
	assert_non_null(strstr(page, "\"simulated\":false"));
	assert_non_null(strstr(page, "<title>a job</title>"));
	free(page);
}

static void a_simulated_profile_says_so(void **state)
{
	struct report_tree tree = plain_tree;
	char *page;

	(void)state;
	tree.simulated = 1;
	page = page_of(&tree, NULL);
	assert_non_null(strstr(page, "\"simulated\":true"));
	free(page);
}

static void a_page_without_room_says_what_it_does_not_show(void **state)
{
	struct report_tree tree = plain_tree;

	(void)state;
	tree.leaves_given_up = 1u << REPORT_BY_RANK | 1u << REPORT_BY_STREAM;
	char *page = page_of(&tree, NULL);
	assert_non_null(strstr(page,
			       "\"verdict\":\"INCOMPLETE: a half; more stacks than a page has "
			       "room for: not by rank, stream (flamegrid report --by "
			       "shows each)\""));
	free(page);
	tree.verdict = "";
	page = page_of(&tree, NULL);
	assert_non_null(strstr(page, "\"verdict\":\"more stacks than a page has room for: "));
	free(page);
}

static void options_choose_what_the_page_opens_with(void **state)
{
	const struct html_options options = {.weight = FOLDED_BYTES,
					     .split = 1u << REPORT_BY_HOST | 1u << REPORT_BY_GPU |
						      1u << REPORT_BY_THREAD,
					     .subtitle = "</script>",
					     .user_frames = true};
	char *page = page_of(&plain_tree, &options);

	(void)state;
	assert_non_null(strstr(
		page,
		"\"weight\":\"bytes\",\"split\":[\"host\",\"gpu\",\"thread\"],\"user\":true"));
	assert_non_null(strstr(page, "\"subtitle\":\"\\u003c/script\\u003e\""));
	free(page);

	page = page_of(&plain_tree, NULL);
	assert_non_null(
		strstr(page, "\"subtitle\":\"\",\"weight\":\"time\",\"split\":[],\"user\":false"));
	free(page);
}

static void the_page_forbids_everything_but_its_own_script_and_style(void **state)
{
	char *page = page_of(&plain_tree, NULL);

	(void)state;
	assert_int_equal(strncmp(page, "<!DOCTYPE html>", 15), 0);
	assert_non_null(strstr(page, "content=\"default-src 'none'; style-src 'sha256-"));
	assert_non_null(strstr(page, "script-src 'sha256-"));
	assert_int_equal(occurrences(page, "unsafe-"), 0);
	assert_int_equal(occurrences(page, "_HASH@"), 0);
	assert_int_equal(occurrences(page, "</script>"), 2);
	assert_int_equal(occurrences(page, " style="), 0);
	assert_int_equal(occurrences(page, " src="), 0);
	assert_int_equal(occurrences(page, " href="), 0);
	free(page);
}

static void a_name_cannot_end_the_data_or_the_title(void **state)
{
	char *page = page_of_string("</script></title><!--<script>&amp;\"\\");

	(void)state;
	assert_int_equal(occurrences(page, "</script>"), 2);
	assert_int_equal(occurrences(page, "<!--"), 0);
	assert_non_null(strstr(
		page,
		"<title>&lt;/script&gt;&lt;/title&gt;&lt;!--&lt;script&gt;&amp;amp;\"\\</title>"));
	assert_non_null(strstr(
		page, "\"\\u003c/script\\u003e\\u003c/title\\u003e\\u003c!--\\u003cscript\\u003e"
		      "\\u0026amp;\\\"\\\\\""));
	free(page);
}

static void control_characters_and_line_separators_are_escaped(void **state)
{
	char *page = page_of_string("a\x01\n\x7f\xe2\x80\xa8\xe2\x80\xa9z");

	(void)state;
	assert_non_null(strstr(page, "\"a\\u0001\\u000a\\u007f\\u2028\\u2029z\""));
	assert_non_null(strstr(page, "<title>a   \xe2\x80\xa8\xe2\x80\xa9z</title>"));
	free(page);
}

static void bytes_that_are_not_utf8_become_the_replacement_character(void **state)
{
	static const struct {
		const char *bytes, *json;
	} cases[] = {
		{"x\xff", "\"x\\ufffd\""},
		{"x\xc3", "\"x\\ufffd\""},            /* cut short by the end */
		{"x\xe2\x82", "\"x\\ufffd\\ufffd\""}, /* likewise */
		{"x\xc0\xaf", "\"x\\ufffd\\ufffd\""}, /* longer than needed */
		{"x\xe0\x80\x80", "\"x\\ufffd\\ufffd\\ufffd\""},
		{"x\xf0\x80\x80\x80", "\"x\\ufffd\\ufffd\\ufffd\\ufffd\""},
		{"x\xed\xa0\x80", "\"x\\ufffd\\ufffd\\ufffd\""}, /* half of a surrogate pair */
		{"x\xf4\x90\x80\x80", "\"x\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* beyond U+10FFFF */
		{"x\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5",
		 "\"x\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *page = page_of_string(cases[i].bytes);

		if (!strstr(page, cases[i].json))
			fail_msg("case %zu is not written as %s", i, cases[i].json);
		free(page);
	}
}

static void a_profile_without_leaves_is_a_page(void **state)
{
	const char *const names[] = {""};
	const struct report_node root = {0, 0};
	const struct report_tree tree = {
		.strings = names, .nr_strings = 1, .nodes = &root, .nr_nodes = 1};
	char *page = page_of(&tree, NULL);

	(void)state;
	assert_non_null(strstr(page, "\"nodes\":1,\"dimensions\":0,\"leaves\":0}"));
	assert_non_null(strstr(page, "<title></title>"));
	free(page);
}

static void expect_invalid(const struct report_tree *tree, const struct html_options *options)
{
	char *page;
	size_t size_bytes;

	assert_int_equal(write_page(tree, options, &page, &size_bytes), -EINVAL);
	assert_int_equal(size_bytes, 0);
	free(page);
}

static void an_index_out_of_range_is_refused_before_anything_is_written(void **state)
{
	const struct report_node late_parent[] = {{0, 0}, {1, 1}};
	const struct report_leaf bad_leaf = {.node = 5};
	const struct report_process bad_process = {.command = 10};
	const struct report_loss bad_loss = {.reason = 10};
	const struct report_notice bad_notice = {.text = 10};
	const struct html_options bad_weight = {.weight = (enum folded_weight)3};
	struct report_tree tree = plain_tree;

	(void)state;
	expect_invalid(&plain_tree, &bad_weight);
	tree.nr_nodes = 0;
	expect_invalid(&tree, NULL);
	tree.nodes = late_parent;
	tree.nr_nodes = 2;
	expect_invalid(&tree, NULL);
	tree = plain_tree;
	tree.leaves = &bad_leaf;
	tree.nr_leaves = 1;
	expect_invalid(&tree, NULL);
	tree = plain_tree;
	tree.processes = &bad_process;
	tree.nr_processes = 1;
	expect_invalid(&tree, NULL);
	tree = plain_tree;
	tree.losses = &bad_loss;
	expect_invalid(&tree, NULL);
	tree = plain_tree;
	tree.notices = &bad_notice;
	tree.nr_notices = 1;
	expect_invalid(&tree, NULL);
}

static void lack_of_memory_is_reported_before_anything_is_written(void **state)
{
	(void)state;
	for (unsigned int nth = 1; nth <= 4; nth++) {
		char page[16] = "";
		FILE *out = fmemopen(page, sizeof(page), "w");
		int error;

		assert_non_null(out);
		callocs_until_failure = nth;
		error = html_writer_write(out, &plain_tree, NULL);
		assert_int_equal(callocs_until_failure, 0);
		assert_int_equal(error, -ENOMEM);
		assert_int_equal(ftell(out), 0);
		assert_int_equal(fclose(out), 0);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(out);
	assert_int_equal(html_writer_write(out, &plain_tree, NULL), -ENOSPC);
	fclose(out);
}

static void tables_are_there_if_their_input_is(void **state)
{
	struct kernel_config shape = {.grid_x = 264,
				      .grid_y = 1,
				      .grid_z = 1,
				      .block_x = 256,
				      .block_y = 1,
				      .block_z = 1};
	struct report_config config = {.name = "gemm",
				       .device = "H100",
				       .shape = shape,
				       .count = 3,
				       .total_ns = 30,
				       .min_ns = 9,
				       .max_ns = 11};
	struct report_statistics statistics = {.configs = &config, .nr_configs = 1};
	struct report_busy_row device = {.host = "node01",
					 .device_name = "H100",
					 .whole_device = 1,
					 .busy_ns = 70,
					 .idle_ns = 30};
	struct report_busy busy = {.rows = &device, .nr_rows = 1};
	const struct report_memory_row memory = {.host = 6, .peak_bytes = 4096};
	struct collective_fold fold = {.used = 5};
	struct report_straggler_communicator on = {.fold = &fold, .name = "all ranks"};
	const struct report_straggler straggler = {.communicators = &on, .nr_communicators = 1};
	const struct html_options options = {
		.statistics = &statistics, .busy = &busy, .straggler = &straggler};
	struct report_tree tree = plain_tree;

	(void)state;
	char *page = page_of(&tree, NULL);
	assert_null(strstr(page, "\"kernel_configurations\""));
	assert_null(strstr(page, "\"devices\""));
	assert_null(strstr(page, "\"memory\":["));
	free(page);
	tree.memory = &memory;
	tree.nr_memory = 1;
	page = page_of(&tree, &options);
	assert_non_null(strstr(page, "\"kernel_configurations\":[\n{\"kernel\":\"gemm\""));
	assert_non_null(strstr(page, "\"grid\":[264,1,1],\"block\":[256,1,1]"));
	assert_non_null(strstr(page, "\"min_ns\":9,\"max_ns\":11,\"occupancy\":null"));
	assert_non_null(strstr(page, "\"busy_ns\":70,\"idle_ns\":30"));
	assert_non_null(strstr(page, "\"peak_bytes\":4096"));
	assert_non_null(strstr(page, "\"straggler\":{\"line\":\"late: no rank stands out beyond "
				     "chance\""));
	free(page);
}

/* Every node with a leaf, as in a job whose every call site launches. */
static void a_hundred_thousand_frames_fit_into_a_mail(void **state)
{
	const uint32_t nr = 50000;
	struct report_node *many_nodes = calloc(nr, sizeof(*many_nodes));
	struct report_leaf *many_leaves = calloc(nr, sizeof(*many_leaves));
	struct report_tree tree = plain_tree;
	char *page;

	(void)state;
	assert_non_null(many_nodes);
	assert_non_null(many_leaves);
	for (uint32_t i = 0; i < nr; i++) {
		many_nodes[i] = (struct report_node){i / 3, i % 10};
		many_leaves[i] = leaves[i % 4];
		many_leaves[i].node = i;
		many_leaves[i].ns = UINT64_C(123456789);
	}
	tree.nodes = many_nodes;
	tree.nr_nodes = nr;
	tree.leaves = many_leaves;
	tree.nr_leaves = nr;
	page = page_of(&tree, NULL);
	assert_in_range(strlen(page), nr, SIZE_MAX_100K_NODES);
	free(page);
	free(many_leaves);
	free(many_nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_columns_decode_to_the_nodes_and_leaves_that_went_in),
		cmocka_unit_test(totals_losses_and_unclean_processes_are_in_the_page),
		cmocka_unit_test(a_simulated_profile_says_so),
		cmocka_unit_test(a_page_without_room_says_what_it_does_not_show),
		cmocka_unit_test(options_choose_what_the_page_opens_with),
		cmocka_unit_test(the_page_forbids_everything_but_its_own_script_and_style),
		cmocka_unit_test(a_name_cannot_end_the_data_or_the_title),
		cmocka_unit_test(control_characters_and_line_separators_are_escaped),
		cmocka_unit_test(bytes_that_are_not_utf8_become_the_replacement_character),
		cmocka_unit_test(a_profile_without_leaves_is_a_page),
		cmocka_unit_test(an_index_out_of_range_is_refused_before_anything_is_written),
		cmocka_unit_test(lack_of_memory_is_reported_before_anything_is_written),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(tables_are_there_if_their_input_is),
		cmocka_unit_test(a_hundred_thousand_frames_fit_into_a_mail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
