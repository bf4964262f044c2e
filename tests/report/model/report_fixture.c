#include "report_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"

struct report_fixture report_fixture;

uint32_t report_fixture_string(const char *text)
{
	uint32_t id;

	assert_int_equal(
		catalog_add_string(report_fixture.catalog, text, (uint32_t)strlen(text), &id), 0);
	return id;
}

uint32_t report_fixture_module(const char *path, uint32_t flags)
{
	struct catalog_module new = {.path = report_fixture_string(path), .flags = flags};
	uint32_t id;

	assert_int_equal(catalog_add_module(report_fixture.catalog, &new, &id), 0);
	return id;
}

uint32_t report_fixture_process(const char *node, uint32_t pid, int32_t rank, int32_t gpu)
{
	struct roster_host host = {report_fixture_string("b00t"), report_fixture_string(node)};
	struct roster_identity identity = {.pid = pid};
	struct roster_device device = {.index = gpu,
				       .uuid = {(uint8_t)(gpu + 1)},
				       .name = report_fixture_string("NVIDIA H100")};
	struct roster_ordinal ordinal = {.device_id = 0};
	uint32_t id;

	assert_int_equal(roster_add_host(report_fixture.collection->roster, &host, &identity.host),
			 0);
	device.host = identity.host;
	assert_int_equal(
		roster_add_device(report_fixture.collection->roster, &device, &ordinal.device), 0);
	assert_int_equal(roster_add_process(report_fixture.collection->roster, &identity, &id), 0);
	struct roster_process *new = roster_process(report_fixture.collection->roster, id);
	new->rank = rank;
	new->command = report_fixture_string("./train");
	new->state = PROCESS_ENDED;
	assert_int_equal(roster_process_set_devices(new, &ordinal, 1), 0);
	return id;
}

int report_fixture_set_up(void **state)
{
	(void)state;
	report_fixture.collection = collection_create();
	if (!report_fixture.collection)
		return -1;
	report_fixture.profile = (struct profile){.collection = report_fixture.collection};
	report_fixture.catalog = report_fixture.collection->catalog;
	report_fixture.tree = NULL;
	report_fixture.program = report_fixture_module("/usr/bin/train", 0);
	report_fixture.runtime = report_fixture_module("/usr/lib/libcudart.so.13", 1u << 1);
	report_fixture.process_id = report_fixture_process("node01", 100, 3, 0);
	return 0;
}

int report_fixture_tear_down(void **state)
{
	(void)state;
	report_tree_destroy(report_fixture.tree);
	collection_destroy(report_fixture.collection);
	return 0;
}

uint32_t report_fixture_frame(uint32_t in_module, uint64_t offset, const char *name)
{
	uint32_t id;

	assert_int_equal(catalog_add_frame(report_fixture.catalog, in_module, offset, 1, &id), 0);
	if (name)
		assert_int_equal(catalog_name_frame(report_fixture.catalog, id,
						    *name ? report_fixture_string(name) : 0),
				 0);
	return id;
}

uint32_t report_fixture_push(uint32_t parent, uint32_t frame)
{
	uint32_t id;

	assert_int_equal(catalog_add_node(report_fixture.catalog, parent, frame, &id), 0);
	return id;
}

uint32_t report_fixture_code(const char *file, const char *name, uint64_t line)
{
	struct catalog_code code = {.file = file ? report_fixture_string(file) : 0,
				    .name = report_fixture_string(name)};
	uint32_t code_id, id;

	assert_int_equal(catalog_add_code(report_fixture.catalog, code, &code_id), 0);
	assert_int_equal(catalog_add_code_frame(report_fixture.catalog, code_id, line, &id), 0);
	return id;
}

uint32_t report_fixture_stack(const char *first, ...)
{
	static uint64_t offset;
	uint32_t node = 0;
	va_list more;

	va_start(more, first);
	for (const char *name = first; name; name = va_arg(more, const char *))
		node = report_fixture_push(
			node, report_fixture_frame(report_fixture.program, ++offset, name));
	va_end(more);
	return node;
}

struct fold_key report_fixture_key(uint32_t stack_id, const char *kernel)
{
	return (struct fold_key){
		.process_id = report_fixture.process_id,
		.context_id = 1,
		.stream_id = 7,
		.tid = 1234,
		.stack_id = stack_id,
		.name_id = kernel ? report_fixture_string(kernel) : 0,
		.matched = 1,
	};
}

void report_fixture_add_row(struct fold_key key, uint64_t count, uint64_t ns, uint64_t bytes)
{
	assert_int_equal(fold_table_add(report_fixture.collection->totals, &key, count, ns, bytes),
			 0);
}

void report_fixture_add_kernel(uint32_t node, const char *kernel, uint64_t ns)
{
	report_fixture_add_row(report_fixture_key(node, kernel), 1, ns, 0);
}

void report_fixture_build_with(const struct report_options *options)
{
	report_tree_destroy(report_fixture.tree);
	assert_int_equal(report_tree_build(&report_fixture.profile, options, &report_fixture.tree),
			 0);
	for (uint32_t i = 1; i < report_fixture.tree->nr_nodes; i++)
		assert_true(report_fixture.tree->nodes[i].parent < i);
}

void report_fixture_build(enum demangle_mode mode)
{
	report_fixture_build_with(&(struct report_options){.demangle = mode});
}

void report_fixture_assert_folded_with(const struct folded_options *options, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(folded_writer_write(out, report_fixture.tree, options), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

void report_fixture_assert_folded(const char *expected)
{
	report_fixture_build(DEMANGLE_FULL);
	report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_NS}, expected);
}

void report_fixture_assert_folded_without_lines(const char *expected)
{
	report_fixture_build_with(&(struct report_options){.lines = REPORT_LINES_OFF});
	report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_NS}, expected);
}
