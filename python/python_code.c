#include "python_code.h"

#include <assert.h>

#include "python_line.h"
#include "python_texts.h"

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

/* ---- one code from another --------------------------------------------------------------------- */

#define BLOCK 32u /* bytes that are hashed at a time */

/* Hashes [at, end), a block or more. The last block overlaps the one before, so that no branch asks for the rest. Each
 * step is a bijection of its lane, so contents that differ in one word have different lanes. There are four, because a
 * multiplication has to wait for the one before it. */
static inline uint64_t hash_blocks(uint64_t at, uint64_t end)
{
	uint64_t lanes[4] = {PYTHON_MIX_D, PYTHON_MIX_A, PYTHON_MIX_B, PYTHON_MIX_C};

	for (bool is_last = false; !is_last; at += BLOCK) {
		is_last = end - at <= BLOCK;
		at = is_last ? end - BLOCK : at;
		for (uint32_t i = 0; i < 4; i++)
			lanes[i] = (lanes[i] ^ python_load(at + 8ull * i)) * PYTHON_MIX_D;
	}
	return python_mix(lanes[0] ^ python_turn(lanes[1], 19),
			  lanes[2] ^ python_turn(lanes[3], 43));
}

/* Less than a block. Less than a word is read together with the end of the object's head. */
static inline uint64_t hash_short(uint64_t data, uint64_t size)
{
	uint64_t end = data + size, last = python_load(end - 8), step = size < 16 ? 0 : 8;

	if (size < 8)
		return size ? python_mix(last >> 8 * (8 - size), PYTHON_MIX_B) : 0;
	return python_mix(python_load(data) ^ PYTHON_MIX_A, last ^ PYTHON_MIX_B) ^
	       python_mix(python_load(data + step) ^ PYTHON_MIX_C,
			  python_load(end - 8 - step) ^ PYTHON_MIX_D);
}

/* One copy of the code, because it is seldom in the nearest cache. */
static __attribute__((noinline)) uint64_t hash_content(uint64_t data, uint64_t size)
{
	uint64_t end = data + size, hash = size * PYTHON_MIX_A;

	if (size < BLOCK)
		return hash ^ hash_short(data, size);
	if (size > PYTHON_CODE_BYTES_MAX) {
		hash ^= hash_blocks(data, data + PYTHON_CODE_BYTES_MAX / 2) * PYTHON_MIX_B;
		data = end - PYTHON_CODE_BYTES_MAX / 2;
	}
	return hash ^ hash_blocks(data, end);
}

static uint64_t hash_text(const struct python_layout *layout, uint64_t string)
{
	uint64_t state = python_load(string + PYTHON_STRING_STATE) & PYTHON_STRING_SHAPE;
	uint64_t length = python_load(string + PYTHON_OBJECT_SIZE);

	if (!(state & PYTHON_STRING_COMPACT))
		return state << 32 ^ length;
	return hash_content(string + (state & PYTHON_STRING_ASCII ? layout->string_ascii
								  : layout->string_other),
			    length * PYTHON_STRING_KIND(state)) ^
	       state << 32;
}

/* CPython hashes texts itself, by all of their bytes, when they become keys. Any text may become one at any time, so
 * its hash is taken only of those that are interned, as names are from the begin of their code: a code has one identity
 * all the time. */
static uint64_t hash_name(const struct python_layout *layout, uint64_t string)
{
	if (!(python_load(string + PYTHON_STRING_STATE) & PYTHON_STRING_INTERNED))
		return hash_text(layout, string);
	return python_load(string + PYTHON_STRING_HASH) ^
	       python_load(string + PYTHON_OBJECT_SIZE) * PYTHON_MIX_A;
}

/* The three do not wait for each other. */
uint64_t python_code_content(const struct python_layout *layout, uint64_t name, uint64_t file,
			     uint64_t lines)
{
	return python_mix(hash_name(layout, name) ^ PYTHON_MIX_C,
			  hash_text(layout, file) ^ PYTHON_MIX_D) ^
	       hash_content(lines + PYTHON_BYTES_DATA, python_load(lines + PYTHON_OBJECT_SIZE));
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

static __attribute__((noinline)) uint32_t intern_code(struct python_codes *codes,
						      const struct python_library *library,
						      struct python_texts **own, uint64_t code)
{
	struct python_texts *texts;

	if (python_load(code + PYTHON_OBJECT_TYPE) != library->code_type)
		return 0;
	texts = python_texts_own(own);
	if (!texts)
		return 0;
	read_name(library, python_load(code + library->layout.code_file), &texts->file);
	read_name(library, python_load(code + library->layout.code_qualified_name), &texts->name);
	return python_codes_add(codes, &texts->file, &texts->name);
}

static uint32_t code_id(struct python_codes *codes, const struct python_library *library,
			struct python_texts **texts, uint64_t code)
{
	uint64_t identity = python_code_identity(&library->layout, code);
	_Atomic uint64_t *recent = &codes->recent[identity & ID_MASK];
	uint64_t slot = atomic_load_explicit(recent, memory_order_acquire);

	if ((slot & ID_MASK) && (slot & ~ID_MASK) == (identity & ~ID_MASK))
		return (uint32_t)(slot & ID_MASK);

	uint32_t id = intern_code(codes, library, texts, code);
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
			   struct python_texts **texts, uint64_t code, int32_t instruction)
{
	uint32_t id = code_id(codes, library, texts, code);

	if (id == 0)
		return stack_word_mark(STACK_MARK_CODE_TABLE_FULL);
	return stack_word_python(id, code_line(library, code, instruction));
}
