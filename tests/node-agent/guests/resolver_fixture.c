#include "tests/node-agent/guests/resolver_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_test.h"

#include "node-agent/guests/ring_source.h"
#include "node-agent/guests/stack_resolver.h"
#include "proto/definition.h"

#define CUDA   (DEFINITION_MODULE_CUDA)
#define CUDART (DEFINITION_MODULE_CUDA | DEFINITION_MODULE_CUDART)

static const struct record_ring_sizes sizes = {
	.launch_lanes = 1,
	.launch_lane_records = 64,
	.activity_records = 64,
	.definition_bytes = 2 * DEFINITION_SIZE_MAX,
	.stacks = 64,
	.stack_words = 2048,
	.codes = 16,
	.code_words = 256,
};

struct string_dictionary *resolver_fixture_strings;
struct stack_dictionary *resolver_fixture_stacks;

void resolver_fixture_add_module(struct resolver_process *process, uint64_t start, uint32_t flags,
				 const char *path)
{
	struct definition_module module = {
		.start = start, .end = start + 0x1000, .bias = start, .flags = flags};

	assert_int_equal(module_table_add(process->modules, &module, path, strlen(path)), 0);
}

void resolver_fixture_open(struct resolver_process *process, uid_t user)
{
	assert_int_equal(record_ring_create(&sizes, &process->guest, &process->fd), 0);
	assert_int_equal(record_ring_map(process->fd, &process->ring), 0);
	process->ledger = process_ledger_create();
	process->outputs = (struct ring_outputs){.strings = resolver_fixture_strings,
						 .stacks = resolver_fixture_stacks,
						 .ledger = process->ledger};
	process->modules =
		module_table_create(ring_outputs_modules(&process->outputs), 0, user, false);
	process->text_room = 1000;
	process->resolver = stack_resolver_create(process->ring, &process->outputs,
						  process->modules, &process->text_room);
	assert_non_null(process->resolver);
	resolver_fixture_add_module(process, APP, DEFINITION_MODULE_MAIN, "/bin/app");
	resolver_fixture_add_module(process, LIBC, 0, "/lib/libc.so.6");
	resolver_fixture_add_module(process, LIBCUDA, CUDA, "/lib/libcuda.so.1");
	resolver_fixture_add_module(process, LIBCUDART, CUDART, "/lib/libcudart.so.13");
	resolver_fixture_add_module(process, GUEST, CUDA, "/lib/libflamegrid-inject.so");
}

void resolver_fixture_close(struct resolver_process *process)
{
	stack_resolver_destroy(process->resolver);
	module_table_destroy(process->modules);
	process_ledger_destroy(process->ledger);
	record_ring_unmap(process->ring);
	record_ring_destroy(process->guest);
	close(process->fd);
}

void resolver_fixture_create(void)
{
	resolver_fixture_strings = string_dictionary_create();
	resolver_fixture_stacks = stack_dictionary_create();
}

void resolver_fixture_destroy(void)
{
	stack_dictionary_destroy(resolver_fixture_stacks);
	string_dictionary_destroy(resolver_fixture_strings);
}

uint64_t resolver_fixture_counted(struct resolver_process *process, enum ledger_reason reason)
{
	uint32_t nr;

	process_ledger_update(process->ledger, NULL, 0);
	const struct ledger_entry *entries = process_ledger_entries(process->ledger, &nr);
	for (uint32_t i = 0; i < nr; i++)
		if (entries[i].reason == (uint32_t)reason)
			return entries[i].count;
	return 0;
}

static void print_text(FILE *out, uint32_t string_id)
{
	const struct message_text *text =
		string_dictionary_texts(resolver_fixture_strings, string_id);

	fprintf(out, "%.*s", (int)text->size, text->data);
}

static void print_frame(FILE *out, const struct message_frame *frame)
{
	if (frame->code == MESSAGE_FRAME_NATIVE && frame->module == MESSAGE_FRAME_NO_MODULE) {
		fprintf(out, "0x%x", (unsigned int)frame->offset);
	} else if (frame->code == MESSAGE_FRAME_NATIVE) {
		print_text(out,
			   stack_dictionary_modules(resolver_fixture_stacks, frame->module)->path);
		fprintf(out, "+0x%x", (unsigned int)frame->offset);
	} else {
		const struct message_code *code =
			stack_dictionary_codes(resolver_fixture_stacks, frame->code);

		assert_int_equal(frame->module, MESSAGE_FRAME_NO_MODULE);
		if (code->file) {
			print_text(out, code->file);
			fputc(':', out);
		}
		print_text(out, code->name);
		if (code->file)
			fprintf(out, ":%u", (unsigned int)frame->offset);
		else
			assert_int_equal(frame->offset, 0);
	}
}

/* "leaf < … < root" */
void resolver_fixture_assert_node(uint32_t node, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (const char *separator = ""; node != STACK_NODE_NONE; separator = " < ") {
		const struct message_node *entry =
			stack_dictionary_nodes(resolver_fixture_stacks, node);

		fputs(separator, out);
		print_frame(out, stack_dictionary_frames(resolver_fixture_stacks, entry->frame));
		node = entry->parent;
	}
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

uint32_t resolver_fixture_add(struct resolver_process *process, const uint64_t *words,
			      uint32_t depth)
{
	uint32_t stack_id = record_ring_add_stack(process->guest, words, depth);

	assert_int_not_equal(stack_id, RECORD_STACK_NONE);
	return stack_id;
}

uint32_t resolver_fixture_node(struct resolver_process *process, uint32_t stack_id, uint32_t cbid)
{
	uint32_t node;

	assert_int_equal(stack_resolver_node(process->resolver, stack_id, cbid, &node), 0);
	return node;
}

uint32_t resolver_fixture_capture(struct resolver_process *process, uint32_t stack_id)
{
	uint32_t node = 1234567;

	assert_int_equal(stack_resolver_capture(process->resolver, stack_id, &node), 0);
	return node;
}

uint32_t resolver_fixture_add_code(struct resolver_process *process, const char *file,
				   const char *name)
{
	uint32_t id = record_ring_add_code(process->guest, file, (uint32_t)strlen(file), name,
					   (uint32_t)strlen(name));

	assert_int_not_equal(id, 0);
	return id;
}
