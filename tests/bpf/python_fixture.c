#include "tests/support/cmocka_test.h"

#include "python_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/kernel/python_file.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"

static const char *made_folder;
static char notice[512];

void python_fixture_folder(const char *path)
{
	made_folder = path;
}

const char *python_fixture_notice(void)
{
	return notice;
}

static void note(void *context, const char *line)
{
	(void)context;
	snprintf(notice, sizeof(notice), "%s", line);
}

struct python_fixture *python_fixture_create(unsigned named, unsigned minor)
{
	struct python_fixture *fixture = calloc(1, sizeof(*fixture));
	char path[4096];

	notice[0] = '\0';
	snprintf(path, sizeof(path), "%s/libpython3.%u-made.so", made_folder, named);
	made_interpreter_create(&fixture->made, path, minor, minor);
	fixture->outputs.strings = string_dictionary_create();
	fixture->outputs.stacks = stack_dictionary_create();
	fixture->scope.files = python_files_create();
	fixture->scope.notice = note;
	fixture->modules = module_table_create(ring_outputs_modules(&fixture->outputs), getpid(),
					       getuid(), true);
	fixture->python = python_process_create(&fixture->scope, &fixture->outputs, getpid());
	assert_true(module_table_reread(fixture->modules));
	return fixture;
}

struct python_fixture *python_fixture_create_ready(unsigned minor)
{
	struct python_fixture *fixture = python_fixture_create(minor, minor);

	made_interpreter_start(&fixture->made);
	assert_true(python_process_find(fixture->python, fixture->modules, &fixture->where));
	return fixture;
}

void python_fixture_destroy(struct python_fixture *fixture)
{
	python_process_destroy(fixture->python);
	module_table_destroy(fixture->modules);
	python_files_destroy(fixture->scope.files);
	stack_dictionary_destroy(fixture->outputs.stacks);
	string_dictionary_destroy(fixture->outputs.strings);
	made_interpreter_destroy(&fixture->made);
	free(fixture);
}

struct sample_python_frame python_fixture_raw_frame(const struct python_fixture *fixture,
						    const struct fake_code *code, unsigned high)
{
	const struct python_layout *layout = &fixture->made.library.layout;
	const uint64_t address = fake_object_address(&code->code);
	struct sample_python_identity identity = {
		.file = fake_object_address(&code->file),
		.name = fake_object_address(&code->name),
		.lines = fake_object_address(&code->lines),
	};

	memcpy(&identity.first_line, (const char *)&code->code + layout->code_first_line, 4);
	if (layout->code_version != PYTHON_LAYOUT_NONE)
		memcpy(&identity.version, (const char *)&code->code + layout->code_version, 4);
	memcpy(identity.file_head, (const char *)&code->file + SAMPLE_PYTHON_HEAD, 16);
	memcpy(identity.name_head, (const char *)&code->name + SAMPLE_PYTHON_HEAD, 16);
	memcpy(identity.lines_head, (const char *)&code->lines + SAMPLE_PYTHON_HEAD, 24);
	memcpy(identity.lines_tail,
	       (const char *)&code->lines + SAMPLE_PYTHON_HEAD + identity.lines_head[0], 16);
	return (struct sample_python_frame){
		.code = address | (uint64_t)high << SAMPLE_PYTHON_CODE_BITS,
		.instruction = layout->instruction == PYTHON_INSTRUCTION_POINTER
				       ? address + layout->code_bytecode + 8
				       : 8,
		.identity = sample_python_hash(&identity),
	};
}

bool python_fixture_read(struct python_fixture *fixture, const struct sample_python_frame *raw,
			 uint32_t nr)
{
	bool refused;

	assert_int_equal(
		python_process_frames(fixture->python, raw, nr, &fixture->frames, &refused), 0);
	return refused;
}

static void check_text(const struct python_fixture *fixture, uint32_t id, const char *wanted)
{
	const struct message_text *text = string_dictionary_texts(fixture->outputs.strings, id);

	assert_int_equal(text->size, strlen(wanted));
	assert_memory_equal(text->data, wanted, text->size);
}

void python_fixture_check_name(const struct python_fixture *fixture, uint32_t index,
			       const char *name)
{
	const struct message_frame *frame = &fixture->frames.frames[index];

	assert_true(index < fixture->frames.nr);
	assert_int_equal(frame->module, MESSAGE_FRAME_NO_MODULE);
	check_text(fixture, stack_dictionary_codes(fixture->outputs.stacks, frame->code)->name,
		   name);
}
