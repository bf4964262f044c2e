#include "made_interpreter.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTRUCTION 8u /* bytes: unit 4 */

static uint64_t symbol(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address)
		abort();
	return (uint64_t)(uintptr_t)address;
}

static void put64(uint64_t *words, uint32_t offset, uint64_t value)
{
	memcpy((char *)words + offset, &value, sizeof(value));
}

/* What 3.13 and later begin with: enough of it to be taken for the version's. */
static void put_offsets(uint64_t *runtime, const struct python_layout *layout)
{
	const bool is_13 = layout->minor == 13;
	const struct {
		uint32_t at_13, at_14;
		uint64_t value;
	} words[] = {
		{5, 5, layout->runtime_interpreters},
		{8, 8, layout->interpreter_next},
		{9, 9, layout->interpreter_threads},
		{20, 23, layout->thread_prev},
		{21, 24, layout->thread_next},
		{22, 25, layout->thread_interpreter},
		{24, 27, layout->thread_id},
		{184 / 8, 208 / 8, layout->thread_frame},
		{232 / 8, 256 / 8, layout->frame_back},
		{240 / 8, 264 / 8, layout->frame_code},
		{248 / 8, 272 / 8, layout->frame_instruction},
		{264 / 8, 288 / 8, layout->frame_owner},
		{280 / 8, 320 / 8, layout->code_file},
		{288 / 8, 328 / 8, layout->code_name},
		{296 / 8, 336 / 8, layout->code_qualified_name},
		{304 / 8, 344 / 8, layout->code_lines},
		{312 / 8, 352 / 8, layout->code_first_line},
		{344 / 8, 384 / 8, layout->code_bytecode},
		{520 / 8, 600 / 8, PYTHON_OBJECT_SIZE},
		{528 / 8, 608 / 8, PYTHON_BYTES_DATA},
		{544 / 8, 624 / 8, PYTHON_STRING_STATE},
		{552 / 8, 632 / 8, PYTHON_OBJECT_SIZE},
		{560 / 8, 640 / 8, layout->string_ascii},
	};

	memcpy(runtime, "xdebugpy", 8);
	runtime[1] = 3u << 24 | (uint64_t)layout->minor << 16;
	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		runtime[is_13 ? words[i].at_13 : words[i].at_14] = words[i].value;
}

static void put_frame(struct made_interpreter *made, uint32_t index, struct fake_code *code)
{
	const struct python_layout *layout = &made->library.layout;
	struct fake_object *frame = &made->frames[index];
	uint64_t address = fake_object_address(&code->code);

	fake_object_put64(frame, layout->frame_code, address);
	fake_object_put64(frame, layout->frame_back,
			  index == 0 || layout->segment == PYTHON_SEGMENT_SHIM
				  ? fake_object_address(&made->frames[index + 1])
				  : 0);
	if (layout->instruction == PYTHON_INSTRUCTION_POINTER)
		fake_object_put64(frame, layout->frame_instruction,
				  address + layout->code_bytecode + INSTRUCTION);
	else
		fake_object_put32(frame, layout->frame_instruction,
				  layout->instruction == PYTHON_INSTRUCTION_UNITS ? INSTRUCTION / 2
										  : INSTRUCTION);
	if (layout->segment == PYTHON_SEGMENT_ENTRY)
		fake_object_put8(frame, layout->segment_mark, index == 1);
}

static void put_frames(struct made_interpreter *made)
{
	const struct python_layout *layout = &made->library.layout;
	uint64_t top = fake_object_address(&made->frames[0]);

	put_frame(made, 0, &made->leaf);
	put_frame(made, 1, &made->root);
	if (layout->segment == PYTHON_SEGMENT_SHIM)
		fake_object_put8(&made->frames[2], layout->segment_mark, layout->shim_owner);
	if (layout->c_frame_frame != PYTHON_LAYOUT_NONE) {
		fake_object_put64(&made->c_frame, layout->c_frame_frame, top);
		top = fake_object_address(&made->c_frame);
	}
	fake_object_put64(&made->thread, layout->thread_frame, top);
}

static void put_threads(struct made_interpreter *made, const struct python_layout *layout)
{
	uint64_t interpreter = (uint64_t)(uintptr_t)made->interpreter;

	put64(made->interpreter, layout->interpreter_threads, fake_object_address(&made->thread));
	fake_object_put64(&made->thread, layout->thread_interpreter, interpreter);
	fake_object_put64(&made->thread, layout->thread_id, (uint64_t)pthread_self());
}

void made_interpreter_create(struct made_interpreter *made, const char *path, unsigned threads,
			     unsigned frames)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct python_layout *layout = python_layout_of(threads);

	const bool is_code = frames != 0;

	if (!is_code)
		frames = threads;
	if (!library || !layout || !python_layout_of(frames)) {
		fprintf(stderr, "%s\n", library ? "no such version" : dlerror());
		abort();
	}
	memset(made, 0, sizeof(*made));
	made->library.layout = *python_layout_of(frames);
	made->library.code_type = symbol(library, "PyCode_Type");
	made->library.string_type = symbol(library, "PyUnicode_Type");
	made->library.bytes_type = symbol(library, "PyBytes_Type");
	made->runtime = dlsym(library, "_PyRuntime");
	uint64_t loop = symbol(library, "_PyEval_EvalFrameDefault");
	memcpy(&made->loop, &loop, sizeof(loop));
	fake_code_fill(&made->leaf, &made->library, "/made/made.py", "leaf", 100);
	fake_code_fill(&made->root, &made->library, "/made/made.py", "root", 200);
	if (!is_code)
		fake_object_put64(&made->leaf.code, PYTHON_OBJECT_TYPE, made->library.bytes_type);
	put_frames(made);
	put_threads(made, layout);
	made->file = library;
	made->runtime_interpreters = layout->runtime_interpreters;
	memset(made->runtime, 0, MADE_RUNTIME_BYTES);
	if (layout->minor >= 13)
		put_offsets(made->runtime, layout);
}

void made_interpreter_destroy(struct made_interpreter *made)
{
	if (made->file)
		dlclose(made->file);
	made->file = NULL;
}

static void set_head(struct made_interpreter *made, uint64_t head)
{
	__atomic_store_n(&made->runtime[made->runtime_interpreters / sizeof(uint64_t)], head,
			 __ATOMIC_SEQ_CST);
}

void made_interpreter_start(struct made_interpreter *made)
{
	set_head(made, (uint64_t)(uintptr_t)made->interpreter);
}

void made_interpreter_stop(struct made_interpreter *made)
{
	set_head(made, 0);
}

static void set_thread(struct made_interpreter *made, uint64_t next, uint64_t thread_id)
{
	const struct python_layout *layout = &made->library.layout;

	fake_object_put64(&made->thread, layout->thread_next, next);
	fake_object_put64(&made->thread, layout->thread_id, thread_id);
}

void made_interpreter_hide(struct made_interpreter *made)
{
	set_thread(made, fake_object_address(&made->thread), 1);
}

void made_interpreter_show(struct made_interpreter *made)
{
	set_thread(made, 0, (uint64_t)pthread_self());
}

struct outer {
	const struct made_interpreter *made;
	made_python_work *work;
	void *context;
};

static volatile int returned;

static void run_inner(void *context)
{
	const struct outer *outer = context;

	outer->made->loop(outer->work, outer->context);
	returned++;
}

void made_interpreter_run(const struct made_interpreter *made, made_python_work *work,
			  void *context)
{
	struct outer outer = {made, work, context};

	if (made->library.layout.segment == PYTHON_SEGMENT_EVERY)
		made->loop(run_inner, &outer);
	else
		made->loop(work, context);
	returned++;
}
