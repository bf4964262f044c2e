/* What pprof and speedscope get: the bytes of messages, sums of leaves, and where frames have their code. Readers of
 * others read whole files in exports_test.sh. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "report/writers/deflate_file.h"
#include "report/writers/leaf_sums.h"
#include "report/writers/name_sources.h"
#include "report/writers/pprof_writer.h"
#include "report/writers/protobuf_text.h"
#include "report/writers/speedscope_writer.h"
#include "tests/report/model/report_fixture.h"

static void a_message_has_the_bytes_of_the_format(void **state)
{
	static const uint8_t expected[] = {
		0x0a, 26,                                      /* field 1: 26 bytes */
		0x08, 0x96, 0x01,                              /* 1: 150 */
		0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,      /* 2: 2^64 - 1 */
		0xff, 0xff, 0xff, 0x01, 0x22, 2,    'h',  'i', /* 4: "hi" */
		0x2a, 4,    0x00, 0x01, 0x80, 0x01,            /* 5: 0, 1, 128 */
		0x32, 0,                                       /* 6: "" */
	};
	static const uint64_t numbers[] = {0, 1, 128};
	struct protobuf_text text = {0};
	char *bytes;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	(void)state;
	protobuf_text_number(&text, 1, 150);
	protobuf_text_number(&text, 2, UINT64_MAX);
	protobuf_text_number(&text, 3, 0);
	protobuf_text_bytes(&text, 4, "hi", 2);
	protobuf_text_numbers(&text, 5, numbers, 3);
	protobuf_text_bytes(&text, 6, "", 0);
	assert_int_equal(protobuf_text_write(&text, 1, out), 0);
	fclose(out);
	assert_int_equal(text.size, 0);
	assert_int_equal(size, sizeof(expected));
	assert_memory_equal(bytes, expected, size);
	protobuf_text_fini(&text);
	free(bytes);
}

/* Returns what zlib reads of gzip's bytes; the caller owns it. */
static char *unpack(const char *bytes, size_t size, size_t *unpacked_size)
{
	char *unpacked = malloc(1 << 22);
	z_stream stream = {.next_in = (unsigned char *)(uintptr_t)bytes,
			   .avail_in = (unsigned int)size,
			   .next_out = (unsigned char *)unpacked,
			   .avail_out = 1 << 22};

	assert_non_null(unpacked);
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	*unpacked_size = stream.total_out;
	inflateEnd(&stream);
	return unpacked;
}

static void gzip_returns_every_byte(void **state)
{
	const size_t sizes[] = {0, 1, 65536, 3000000};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char *packed, *unpacked, *data = malloc(sizes[i] + 1);
		size_t packed_size, size;
		FILE *out = open_memstream(&packed, &packed_size);
		FILE *in = deflate_file_open(out, DEFLATE_GZIP);
		uint32_t random = 1;

		assert_non_null(data);
		for (size_t at = 0; at < sizes[i]; at++) {
			random = random * 1664525 + 1013904223;
			data[at] = (char)(random >> 24);
		}
		fwrite(data, 1, sizes[i] / 3, in);
		fwrite(data + sizes[i] / 3, 1, sizes[i] - sizes[i] / 3, in);
		assert_int_equal(fclose(in), 0);
		fclose(out);
		unpacked = unpack(packed, packed_size, &size);
		assert_int_equal(size, sizes[i]);
		assert_memory_equal(unpacked, data, size);
		free(unpacked);
		free(packed);
		free(data);
	}
}

static void a_full_disk_is_an_error_of_every_writer(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct report_busy *busy;

	(void)state;
	report_fixture_add_kernel(report_fixture_stack("main", NULL), "gemm", 1000);
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(
		pprof_writer_write(full, &(struct pprof_input){.profile = &report_fixture.profile,
							       .tree = report_fixture.tree,
							       .busy = busy}),
		-ENOSPC);
	fclose(full);
	full = fopen("/dev/full", "w");
	assert_int_equal(
		speedscope_writer_write(
			full, &(struct speedscope_input){.profile = &report_fixture.profile,
							 .tree = report_fixture.tree}),
		-ENOSPC);
	fclose(full);
	report_busy_destroy(busy);
}

static void work_of_two_gpus_has_one_name_and_a_sum_for_each_value(void **state)
{
	const struct report_by none = {0}, by_rank = {1, {REPORT_BY_RANK}};
	struct leaf_sums sums;
	char first, text[LEAF_SUMS_TEXT_SIZE];

	(void)state;
	uint32_t stack = report_fixture_stack("main", NULL);
	report_fixture_add_kernel(stack, "gemm", 1000);
	report_fixture_process("node02", 7, 12, 1);
	report_fixture.process_id = 2;
	report_fixture_add_kernel(stack, "gemm", 200);
	report_fixture_build(DEMANGLE_FULL);

	assert_int_equal(leaf_sums_init(&sums, report_fixture.tree, &none), 0);
	assert_int_equal(sums.nr_sums, 1);
	assert_int_equal(sums.sums[0].ns, 1200);
	assert_int_equal(sums.sums[0].count, 2);
	const char *name = leaf_sums_name(report_fixture.tree->strings[sums.sums[0].name], &first);
	assert_int_equal(first, '[');
	assert_string_equal(name, "Kernel]gemm");
	leaf_sums_fini(&sums);

	assert_int_equal(leaf_sums_init(&sums, report_fixture.tree, &by_rank), 0);
	assert_int_equal(sums.nr_sums, 2);
	assert_string_equal(
		leaf_sums_value(report_fixture.tree, REPORT_BY_RANK, sums.sums[1].values[0], text),
		"12");
	assert_int_equal(sums.sums[1].ns, 200);
	assert_null(leaf_sums_value(report_fixture.tree, REPORT_BY_RANK, (uint32_t)REPORT_RANK_NONE,
				    text));
	assert_null(leaf_sums_value(report_fixture.tree, REPORT_BY_HOST, 0, text));
	leaf_sums_fini(&sums);
}

static void names_without_a_gpu_stay(void **state)
{
	static const char *const names[] = {"[CPU]", "[Host_Memory]pinned",
					    "[GPU_Launch]cuLaunchKernel", "[GPU0]", ""};
	char first;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_ptr_equal(leaf_sums_name(names[i], &first), names[i]);
		assert_int_equal(first, '\0');
	}
	assert_string_equal(leaf_sums_name("[GPU?_Memset]", &first), "Memset]");
}

static void frames_have_their_file_line_and_module(void **state)
{
	struct name_sources *sources;
	struct name_source source;

	(void)state;
	report_fixture_code("/home/u/train.py", "step", 88);
	report_fixture_code("/a/util.py", "load", 5);
	report_fixture_code("/b/util.py", "load", 5);
	report_fixture_frame(report_fixture.program, 16, "main");
	report_fixture_frame(report_fixture.program, 32, "run\ngemm\t/src/gemm.cc:12");
	report_fixture_frame(report_fixture.program, 0x1234, "");
	assert_int_equal(name_sources_create(&report_fixture.profile, NULL, &sources), 0);

	source = name_sources_find(sources, "train.py:step:88");
	assert_string_equal(source.file, "/home/u/train.py");
	assert_int_equal(source.line, 88);
	assert_int_equal(source.module, 0);
	source = name_sources_find(sources, "main");
	assert_int_equal(source.module, report_fixture.program);
	assert_int_equal(source.address, 0);
	source = name_sources_find(sources, "gemm.cc:gemm:12");
	assert_string_equal(source.file, "/src/gemm.cc");
	assert_int_equal(source.line, 12);
	assert_int_equal(source.module, report_fixture.program);
	source = name_sources_find(sources, "util.py:load:5"); /* of two files */
	assert_string_equal(source.file, "");
	assert_int_equal(source.line, 0);
	source = name_sources_find(sources, "[nothing like it]");
	assert_string_equal(source.file, "");
	assert_int_equal(source.module, 0);
	name_sources_destroy(sources);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_has_the_bytes_of_the_format),
		TEST(gzip_returns_every_byte),
		TEST(a_full_disk_is_an_error_of_every_writer),
		TEST(work_of_two_gpus_has_one_name_and_a_sum_for_each_value),
		TEST(names_without_a_gpu_stay),
		TEST(frames_have_their_file_line_and_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
