#include "python_standing.h"

#include <string.h>

#include "python_frame.h"
#include "python_line.h"
#include "python_texts.h"

#include "proto/stack_word.h"
#include "unwind/process_memory.h"

#define THREADS_MAX  1024u
#define FRAMES_MAX   4096u /* more are no stack, but a circle */
#define OTHERS_MAX   2048u /* frames of other threads that one walk reads */
#define OBJECT_BYTES 256u  /* of a frame or a code: their fields */

/* Copies of objects stay out of the callers' frames, because the thread's stack may be tiny. */
#define NOINLINE __attribute__((noinline))

/* Fields above OBJECT_BYTES are 0. */
struct object {
	uint8_t bytes[PYTHON_LAYOUT_OFFSET_MAX + sizeof(uint64_t)];
};

static uint64_t at(const struct object *object)
{
	return (uint64_t)(uintptr_t)object->bytes;
}

static void read_object(uint64_t address, struct object *object)
{
	memset(object, 0, sizeof(*object));
	process_memory_read(address, object->bytes, OBJECT_BYTES);
}

static uint64_t read_word(uint64_t address)
{
	uint64_t word;

	return process_memory_read(address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

/* ---- code */

static bool read_code(const struct python_library *library, uint64_t address, struct object *code)
{
	read_object(address, code);
	return address && python_load(at(code) + PYTHON_OBJECT_TYPE) == library->code_type;
}

/* buffer is borrowed by *text. */
static bool read_text(const struct python_library *library, uint64_t string,
		      uint8_t buffer[static PYTHON_TEXTS_COPY], struct python_text *text)
{
	const struct python_layout *layout = &library->layout;
	uint64_t object = (uint64_t)(uintptr_t)buffer;

	if (!string ||
	    process_memory_read(string, buffer, PYTHON_STRING_HEAD) < PYTHON_STRING_HEAD ||
	    python_load(object + PYTHON_OBJECT_TYPE) != library->string_type)
		return false;
	uint64_t length = python_load(object + PYTHON_OBJECT_SIZE);
	uint32_t state = (uint32_t)python_load_int(object + PYTHON_STRING_STATE);
	uint64_t size = state & PYTHON_STRING_ASCII ? layout->string_ascii : layout->string_other;
	size += length < PYTHON_TEXTS_COPY ? length * PYTHON_STRING_KIND(state) : PYTHON_TEXTS_COPY;
	if (size > PYTHON_TEXTS_COPY || process_memory_read(string, buffer, size) < size)
		return false;
	python_string_read(layout, object, text);
	return true;
}

static bool is_one_of(const struct python_text *name, const char *const *functions)
{
	while (*functions && (strlen(*functions) != name->size ||
			      memcmp(*functions, name->text, name->size) != 0))
		functions++;
	return *functions != NULL;
}

static bool is_in_place(const struct python_library *library, struct python_texts *texts,
			const struct object *code, const struct python_place *place)
{
	const struct python_layout *layout = &library->layout;
	const struct python_text *file = &texts->file;

	if (!read_text(library, python_load(at(code) + layout->code_qualified_name),
		       texts->name_copy, &texts->name) ||
	    !is_one_of(&texts->name, place->functions))
		return false;
	if (!read_text(library, python_load(at(code) + layout->code_file), texts->file_copy,
		       &texts->file))
		return false;
	const char *found =
		memmem(file->text, file->size, place->directory, strlen(place->directory));
	return found && (found == file->text || found[-1] == '/');
}

static uint32_t line_of(const struct python_library *library, struct python_texts *texts,
			const struct object *code, int32_t instruction)
{
	const struct python_layout *layout = &library->layout;
	uint64_t lines = python_load(at(code) + layout->code_lines);
	uint64_t head[PYTHON_BYTES_DATA / sizeof(uint64_t)];

	if (!lines || process_memory_read(lines, head, sizeof(head)) < sizeof(head) ||
	    head[PYTHON_OBJECT_TYPE / sizeof(uint64_t)] != library->bytes_type)
		return 0;
	uint64_t size = head[PYTHON_OBJECT_SIZE / sizeof(uint64_t)];
	if (size > sizeof(texts->lines) ||
	    process_memory_read(lines + PYTHON_BYTES_DATA, texts->lines, size) < size)
		return 0;
	return python_line(layout->line_format, texts->lines, size,
			   python_load_int(at(code) + layout->code_first_line), instruction);
}

/* Returns 0 if the code is no longer there. */
static uint64_t word_of(const struct python_library *library, struct python_codes *codes,
			struct python_texts *texts, const struct object *code, int32_t instruction)
{
	const struct python_layout *layout = &library->layout;

	if (!read_text(library, python_load(at(code) + layout->code_file), texts->file_copy,
		       &texts->file) ||
	    !read_text(library, python_load(at(code) + layout->code_qualified_name),
		       texts->name_copy, &texts->name))
		return 0;
	uint32_t id = python_codes_add(codes, &texts->file, &texts->name);
	return id ? stack_word_python(id, line_of(library, texts, code, instruction))
		  : stack_word_mark(STACK_MARK_CODE_TABLE_FULL);
}

/* Returns the identity of a copied code and an instruction of it; 0: the interpreter has no number of its own for the
 * code, so that only the texts would tell it from another at the same address. */
static uint64_t key_of(const struct python_layout *layout, uint64_t address,
		       const struct object *code, int32_t instruction)
{
	const uint32_t offset = layout->code_version;
	uint64_t version = 0, key;

	if (offset != PYTHON_LAYOUT_NONE && offset + sizeof(uint64_t) <= OBJECT_BYTES)
		version = python_load(at(code) + offset) & UINT32_MAX;
	if (!version)
		return 0;
	key = python_mix(
		python_mix(address ^ PYTHON_MIX_A,
			   python_load(at(code) + layout->code_qualified_name) ^ PYTHON_MIX_B),
		python_mix(python_load(at(code) + layout->code_lines) ^ PYTHON_MIX_C,
			   python_load(at(code) + layout->code_file) ^ PYTHON_MIX_D) ^
			version << 32 ^ (uint32_t)instruction);
	return key ? key : 1;
}

/* The same as word_of(), for a code that was seen before. */
static uint64_t find_word(const struct python_library *library, struct python_codes *codes,
			  struct python_standing *remembered, uint64_t address,
			  const struct object *code, int32_t instruction)
{
	uint64_t key = key_of(&library->layout, address, code, instruction), word;
	uint32_t place = (uint32_t)(key >> 32) % PYTHON_STANDING_WORDS;

	if (key && remembered->keys[place] == key)
		return remembered->words[place];
	word = word_of(library, codes, remembered->texts, code, instruction);
	if (key && word) {
		remembered->keys[place] = key;
		remembered->words[place] = word;
	}
	return word;
}

/* ---- threads */

struct standing {
	uint64_t thread, frame, code; /* the innermost frame; addresses */
	int32_t instruction;
};

static uint64_t innermost_frame(const struct python_layout *layout, uint64_t thread)
{
	uint64_t frame = read_word(thread + layout->thread_frame);

	return frame && layout->c_frame_frame != PYTHON_LAYOUT_NONE
		       ? read_word(frame + layout->c_frame_frame)
		       : frame;
}

static NOINLINE void read_innermost(const struct python_layout *layout, uint64_t thread,
				    struct standing *standing)
{
	struct object frame;

	*standing = (struct standing){.thread = thread};
	standing->frame = innermost_frame(layout, thread);
	read_object(standing->frame, &frame);
	standing->code = python_frame_code(layout, at(&frame));
	standing->instruction = python_frame_instruction(layout, at(&frame), standing->code);
}

static uint64_t first_thread(const struct python_library *library)
{
	const struct python_layout *layout = &library->layout;
	uint64_t interpreter =
		library->runtime ? read_word(library->runtime + layout->runtime_interpreters) : 0;

	return interpreter ? read_word(interpreter + layout->interpreter_threads) : 0;
}

/* Returns whether a thread runs this code in any of its frames, or has more than *room, from which they are taken. */
static NOINLINE bool may_run(const struct python_layout *layout, uint64_t thread, uint64_t code,
			     uint32_t *room)
{
	uint64_t address = innermost_frame(layout, thread);
	struct object frame;

	while (address) {
		if (*room == 0)
			return true;
		--*room;
		read_object(address, &frame);
		if (python_frame_code(layout, at(&frame)) == code)
			return true;
		address = python_load(at(&frame) + layout->frame_back);
	}
	return false;
}

/* Finds the one thread, other than the calling one, that stands in the place. */
static NOINLINE bool find(const struct python_library *library, struct python_texts *texts,
			  const struct python_place *place, struct standing *found)
{
	const struct python_layout *layout = &library->layout;
	const uint64_t own = (uint64_t)(uintptr_t)library->this_thread_state();
	uint64_t thread = first_thread(library);
	struct object code;
	uint32_t i, room = OTHERS_MAX;

	*found = (struct standing){0};
	for (i = 0; thread && i < THREADS_MAX; i++) {
		struct standing standing;

		read_innermost(layout, thread, &standing);
		if (thread != own && read_code(library, standing.code, &code) &&
		    is_in_place(library, texts, &code, place)) {
			if (found->thread)
				return false;
			*found = standing;
		}
		thread = read_word(thread + layout->thread_next);
	}
	if (thread || !found->thread)
		return false;
	thread = first_thread(library);
	for (i = 0; thread && i < THREADS_MAX; i++) {
		if (thread != own && thread != found->thread &&
		    may_run(layout, thread, found->code, &room))
			return false;
		thread = read_word(thread + layout->thread_next);
	}
	return true;
}

uint32_t python_standing_walk(const struct python_library *library, struct python_codes *codes,
			      struct python_standing *remembered, const struct python_place *place,
			      uint64_t *words, uint32_t max, bool *cut)
{
	const struct python_layout *layout = &library->layout;
	struct standing standing, later;
	struct object frame, code;
	uint32_t nr = 0, seen = 0;

	*cut = false;
	if (!python_texts_own(&remembered->texts) ||
	    !find(library, remembered->texts, place, &standing))
		return 0;
	for (uint64_t address = standing.frame; address && seen < FRAMES_MAX; seen++) {
		read_object(address, &frame);
		address = python_load(at(&frame) + layout->frame_back);
		if (python_frame_is_shim(layout, at(&frame)))
			continue;
		uint64_t code_address = python_frame_code(layout, at(&frame));
		int32_t instruction = python_frame_instruction(layout, at(&frame), code_address);
		if (!read_code(library, code_address, &code))
			return 0;
		if (python_frame_is_incomplete(layout, at(&frame), at(&code), instruction))
			continue;
		*cut = nr == max;
		if (*cut)
			break;
		words[nr] = find_word(library, codes, remembered, code_address, &code, instruction);
		if (words[nr++] == 0)
			return 0;
	}
	read_innermost(layout, standing.thread, &later);
	bool stands = later.frame == standing.frame && later.code == standing.code &&
		      later.instruction == standing.instruction;
	return seen < FRAMES_MAX && stands ? nr : 0;
}
