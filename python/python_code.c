#include "python_code.h"

#include <assert.h>

#include "python_line.h"
#include "python_string.h"

#include "proto/ring/record_ring.h"
#include "proto/stack_word.h"

#define ID_MASK ((uint64_t)PYTHON_CODE_SLOTS - 1)
static_assert(PYTHON_CODE_SLOTS == 2 * RECORD_CODES_MAX,
	      "half of the slots stay empty, so every probe ends, and any id fits");

#define LINES_BYTES_MAX (1u << 28) /* a larger table of lines is taken for damage */

static uint64_t hash_bytes(uint64_t hash, const char *bytes, uint32_t size)
{
	uint64_t word = 0;
	uint32_t i = 0;

	for (; i + sizeof(word) <= size; i += (uint32_t)sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		hash = python_mix(hash ^ word, PYTHON_MIX_C);
	}
	word = 0;
	memcpy(&word, bytes + i, size - i);
	return python_mix(hash ^ word ^ PYTHON_MIX_A, PYTHON_MIX_D ^ size);
}

/* Returns the id in the first slot of this hash. 0: there is none, and *place is the empty slot for it. */
static uint32_t find_names(struct python_codes *codes, uint64_t hash, uint64_t *place)
{
	for (uint64_t i = hash & ID_MASK;; i = (i + 1) & ID_MASK) {
		uint64_t slot = atomic_load_explicit(&codes->names[i], memory_order_acquire);

		*place = i;
		if (slot == 0)
			return 0;
		if ((slot & ~ID_MASK) == (hash & ~ID_MASK))
			return (uint32_t)(slot & ID_MASK);
	}
}

/* The names are in the ring before any reader can see the id. A thread that loses the race for the slot uses
 * the winner's id; its own names stay unused. */
uint32_t python_codes_add(struct python_codes *codes, const struct python_text *file,
			  const struct python_text *name)
{
	uint64_t hash =
		hash_bytes(hash_bytes(file->size, file->text, file->size), name->text, name->size);
	uint64_t place, empty = 0;
	uint32_t winner = find_names(codes, hash, &place);

	if (winner)
		return winner;
	if (atomic_load_explicit(&codes->full, memory_order_relaxed))
		return 0;
	uint32_t id =
		record_ring_add_code(codes->ring, file->text, file->size, name->text, name->size);
	if (id == 0) {
		atomic_store_explicit(&codes->full, 1, memory_order_relaxed);
		return 0;
	}
	while (winner == 0) {
		if (atomic_compare_exchange_strong_explicit(
			    &codes->names[place], &empty, (hash & ~ID_MASK) | id,
			    memory_order_acq_rel, memory_order_acquire))
			return id;
		empty = 0;
		winner = find_names(codes, hash, &place);
	}
	return winner;
}

static void read_name(const struct python_library *library, uint64_t string,
		      struct python_text *text)
{
	if (string && python_load(string + PYTHON_OBJECT_TYPE) == library->string_type) {
		python_string_read(&library->layout, string, text);
		return;
	}
	text->text = PYTHON_STRING_UNREADABLE;
	text->size = sizeof(PYTHON_STRING_UNREADABLE) - 1;
}

/* It stays out of the callers' frames, because the texts are large. */
static __attribute__((noinline)) uint32_t
intern_code(struct python_codes *codes, const struct python_library *library, uint64_t code)
{
	struct python_text file, name;

	if (python_load(code + PYTHON_OBJECT_TYPE) != library->code_type)
		return 0;
	read_name(library, python_load(code + library->layout.code_file), &file);
	read_name(library, python_load(code + library->layout.code_qualified_name), &name);
	return python_codes_add(codes, &file, &name);
}

static uint32_t code_id(struct python_codes *codes, const struct python_library *library,
			uint64_t code)
{
	uint64_t identity = python_code_identity(&library->layout, code);
	_Atomic uint64_t *recent = &codes->recent[identity & ID_MASK];
	uint64_t slot = atomic_load_explicit(recent, memory_order_acquire);

	if ((slot & ID_MASK) && (slot & ~ID_MASK) == (identity & ~ID_MASK))
		return (uint32_t)(slot & ID_MASK);

	uint32_t id = intern_code(codes, library, code);
	if (id)
		atomic_store_explicit(recent, (identity & ~ID_MASK) | id, memory_order_release);
	return id;
}

static uint32_t code_line(const struct python_library *library, uint64_t code, int32_t instruction)
{
	const struct python_layout *layout = &library->layout;
	uint64_t lines = python_load(code + layout->code_lines);
	int32_t first_line = (int32_t)python_load(code + layout->code_first_line);

	if (!lines || python_load(lines + PYTHON_OBJECT_TYPE) != library->bytes_type)
		return 0;
	uint64_t size = python_load(lines + PYTHON_OBJECT_SIZE);
	if (size > LINES_BYTES_MAX)
		return 0;
	return python_line(layout->line_format,
			   (const uint8_t *)(uintptr_t)(lines + PYTHON_BYTES_DATA), size,
			   first_line, instruction);
}

uint64_t python_codes_word(struct python_codes *codes, const struct python_library *library,
			   uint64_t code, int32_t instruction)
{
	uint32_t id = code_id(codes, library, code);

	if (id == 0)
		return stack_word_mark(STACK_MARK_CODE_TABLE_FULL);
	return stack_word_python(id, code_line(library, code, instruction));
}
