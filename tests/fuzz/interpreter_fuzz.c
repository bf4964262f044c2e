/* The memory of a process that looks like CPython of some version, and of which any word can be anything. Whatever
 * is there, frames are those of known codes, and are the same when they are asked for again. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "interpreter_edit.h"
#include "node-agent/symbols/module_table.h"
#include "node-agent/kernel/python_file.h"
#include "node-agent/kernel/python_process.h"
#include "node-agent/kernel/remote_memory.h"
#include "node-agent/guests/ring_source.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "tests/bpf/made_interpreter.h"

#define EDITS_MAX   64u
#define MINOR_FIRST 8u
#define MINORS      7u
#define LOOKS_MAX   16u /* an interpreter that is being loaded is looked at again, but not for ever */

static_assert(sizeof(struct interpreter_edit) == 16, "inputs are lists of these");

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct ring_outputs outputs;
	struct python_scope scope;
	struct module_table *modules;
	struct python_process *python;
	struct made_interpreter made;
	struct sample_python_frame raw[SAMPLE_PYTHON_DEPTH];
	uint32_t nr_raw;
};

static struct run *create(unsigned minor, unsigned named)
{
	static struct python_files *files; /* the libraries stay the same */
	struct run *run = calloc(1, sizeof(*run));
	char path[4096];

	if (!files)
		files = python_files_create();
	if (!files || !run)
		abort();
	snprintf(path, sizeof(path), "%s/libpython3.%u-made.so", FUZZ_MADE_PYTHONS, named);
	made_interpreter_create(&run->made, path, minor, minor);
	made_interpreter_start(&run->made);
	run->outputs.strings = string_dictionary_create();
	run->outputs.stacks = stack_dictionary_create();
	run->scope.files = files;
	run->modules =
		module_table_create(ring_outputs_modules(&run->outputs), getpid(), getuid(), true);
	run->python = python_process_create(&run->scope, &run->outputs, getpid());
	if (!run->outputs.strings || !run->outputs.stacks || !run->modules || !run->python ||
	    !module_table_reread(run->modules))
		abort();
	return run;
}

static void destroy(struct run *run)
{
	python_process_destroy(run->python);
	module_table_destroy(run->modules);
	stack_dictionary_destroy(run->outputs.stacks);
	string_dictionary_destroy(run->outputs.strings);
	made_interpreter_destroy(&run->made);
	free(run);
}

/* ---- the interpreter ----------------------------------------------------------------------------- */

static uint8_t *object_of(struct run *run, uint32_t object, uint32_t *size)
{
	struct made_interpreter *made = &run->made;
	struct fake_object *const objects[] = {
		&made->thread,    &made->leaf.code,  &made->leaf.file,
		&made->leaf.name, &made->leaf.lines, &made->root.code,
		&made->root.file, &made->root.name,  &made->root.lines};

	object %= INTERPRETER_OBJECTS;
	*size = sizeof(struct fake_object);
	if (object >= INTERPRETER_OBJECT_THREAD)
		return (uint8_t *)objects[object - INTERPRETER_OBJECT_THREAD]->words;
	*size = object == INTERPRETER_OBJECT_RUNTIME ? MADE_RUNTIME_BYTES : MADE_INTERPRETER_BYTES;
	return (uint8_t *)(object == INTERPRETER_OBJECT_RUNTIME ? made->runtime
								: made->interpreter);
}

static uint64_t value_of(struct run *run, const struct interpreter_edit *edit)
{
	uint32_t size;

	if (edit->form % INTERPRETER_FORMS == INTERPRETER_FORM_NUMBER)
		return edit->value;
	return (uint64_t)(uintptr_t)object_of(run, (uint8_t)edit->value, &size) +
	       (edit->value >> 8);
}

static void change(struct run *run, const struct interpreter_edit *edit, uint32_t bytes)
{
	uint64_t value = value_of(run, edit);
	uint32_t size;
	uint8_t *object = object_of(run, edit->object, &size);

	memcpy(object + edit->offset % (size - sizeof(value)), &value, bytes);
}

/* As the kernel's half does; what cannot be read is zero there, too. */
static uint64_t identity_of(const struct run *run, const struct fake_object *code,
			    bool has_contents)
{
	const struct python_layout *layout = &run->made.library.layout;
	const char *object = (const char *)code->words;
	struct sample_python_identity identity = {0};

	memcpy(&identity.file, object + layout->code_file, 8);
	memcpy(&identity.name, object + layout->code_qualified_name, 8);
	memcpy(&identity.lines, object + layout->code_lines, 8);
	memcpy(&identity.first_line, object + layout->code_first_line, 4);
	if (layout->code_version != PYTHON_LAYOUT_NONE)
		memcpy(&identity.version, object + layout->code_version, 4);
	if (has_contents && !identity.version) {
		uint64_t lines = identity.lines + SAMPLE_PYTHON_HEAD;

		remote_memory_read(getpid(), identity.file + SAMPLE_PYTHON_HEAD, identity.file_head,
				   16);
		remote_memory_read(getpid(), identity.name + SAMPLE_PYTHON_HEAD, identity.name_head,
				   16);
		remote_memory_read(getpid(), lines, identity.lines_head, 24);
		remote_memory_read(getpid(), lines + identity.lines_head[0], identity.lines_tail,
				   16);
	}
	return sample_python_hash(&identity);
}

static void add_frame(struct run *run, const struct interpreter_edit *edit)
{
	const struct python_layout *layout = &run->made.library.layout;
	const struct fake_object *code =
		edit->object % 2 ? &run->made.root.code : &run->made.leaf.code;
	const uint32_t form = edit->form % INTERPRETER_IDENTITIES;
	struct sample_python_frame *raw = &run->raw[run->nr_raw];

	if (run->nr_raw == SAMPLE_PYTHON_DEPTH)
		return;
	run->nr_raw++;
	raw->code = fake_object_address(code) | (uint64_t)edit->high << SAMPLE_PYTHON_CODE_BITS;
	raw->instruction = edit->offset;
	if (layout->instruction == PYTHON_INSTRUCTION_POINTER)
		raw->instruction += fake_object_address(code) + layout->code_bytecode;
	raw->identity = form == INTERPRETER_IDENTITY_VALUE
				? edit->value
				: identity_of(run, code, form == INTERPRETER_IDENTITY_FULL);
}

/* ---- the agent ----------------------------------------------------------------------------------- */

static void check_frames(const struct run *run, const struct python_process_frames *frames)
{
	const struct stack_dictionary *stacks = run->outputs.stacks;

	if (frames->nr > SAMPLE_PYTHON_DEPTH)
		abort();
	for (uint32_t i = 0; i < frames->nr; i++) {
		const struct message_frame *frame = &frames->frames[i];

		if (frame->module != MESSAGE_FRAME_NO_MODULE ||
		    frame->code == MESSAGE_FRAME_NATIVE ||
		    frame->code > stack_dictionary_nr_codes(stacks))
			abort();
		if (stack_dictionary_codes(stacks, frame->code)->name >
		    string_dictionary_count(run->outputs.strings))
			abort();
	}
}

static void read_frames(struct run *run)
{
	static struct python_process_frames frames, again;
	bool refused;

	if (python_process_frames(run->python, run->raw, run->nr_raw, &frames, &refused) != 0)
		abort();
	check_frames(run, &frames);
	if (frames.unread || refused)
		return;
	if (python_process_frames(run->python, run->raw, run->nr_raw, &again, &refused) != 0 ||
	    again.nr != frames.nr || again.unread || refused)
		abort();
	for (uint32_t i = 0; i < frames.nr; i++)
		if (frames.frames[i].code != again.frames[i].code ||
		    frames.frames[i].offset != again.frames[i].offset ||
		    frames.segment_end[i] != again.segment_end[i])
			abort();
}

/* Of code in the library and beside it, of the kernel's own part of the process, and of what is no code. */
static void find_places(struct run *run)
{
	const uint64_t addresses[] = {
		(uint64_t)(uintptr_t)run->made.loop, (uint64_t)(uintptr_t)&find_places,
		(uint64_t)getauxval(AT_SYSINFO_EHDR) + 0x800, (uint64_t)(uintptr_t)run, 8};
	struct message_frame frame;

	for (uint32_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		python_process_is_loop(run->python, addresses[i]);
		if (module_table_find(run->modules, addresses[i], &frame) != 0 ||
		    (frame.module == MESSAGE_FRAME_NO_MODULE && frame.offset != addresses[i]))
			abort();
	}
}

static void look(struct run *run)
{
	struct sample_python where;
	uint32_t looks = 0;

	do {
		python_process_find(run->python, run->modules, &where);
		if (where.frame_size > SAMPLE_PYTHON_FRAME_MAX ||
		    where.code_size > SAMPLE_PYTHON_CODE_MAX || ++looks > LOOKS_MAX)
			abort();
	} while (python_process_state(run->python) == PYTHON_PROCESS_EARLY);
	find_places(run);
	read_frames(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct interpreter_edit edit = {0};

	if (size < 2)
		return 0;
	struct run *run = create(MINOR_FIRST + data[0] % MINORS, MINOR_FIRST + data[1] % MINORS);
	const uint8_t *at = data + 2;
	for (uint32_t i = 0; i < EDITS_MAX && (size_t)(data + size - at) >= sizeof(edit); i++) {
		memcpy(&edit, at, sizeof(edit));
		at += sizeof(edit);
		switch ((enum interpreter_edit_kind)(edit.kind % INTERPRETER_EDIT_KINDS)) {
		case INTERPRETER_EDIT_WORD:
			change(run, &edit, 8);
			break;
		case INTERPRETER_EDIT_HALF:
			change(run, &edit, 4);
			break;
		case INTERPRETER_EDIT_FRAME:
			add_frame(run, &edit);
			break;
		case INTERPRETER_EDIT_READ:
		case INTERPRETER_EDIT_KINDS:
			look(run);
			break;
		}
	}
	look(run);
	destroy(run);
	return 0;
}
