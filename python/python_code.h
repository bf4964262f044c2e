/* Names and lines of code objects: how one is told from another, and the ids of their names. Any number of threads at
 * once, each for code that its own frames keep alive. Takes no lock. Allocates nothing but the thread's python_texts.h,
 * and makes no other system call. */
#ifndef PYTHON_CODE_H
#define PYTHON_CODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "python_library.h"

#define PYTHON_CODE_ID_BITS 17
#define PYTHON_CODE_SLOTS   (1u << PYTHON_CODE_ID_BITS)

struct python_text;
struct python_texts;
struct record_ring;

/* The ids of names. A slot holds the high bits of a hash and an id; the slot's place stands for the low bits. 0: the
 * slot is empty. The struct is large: get it zeroed from mmap(). */
struct python_codes {
	struct record_ring *ring; /* borrowed */
	_Atomic uint32_t full;
	_Alignas(64) _Atomic uint64_t
		recent[PYTHON_CODE_SLOTS]; /* by identity; the newest replaces an older */
	_Alignas(64) _Atomic uint64_t names[PYTHON_CODE_SLOTS]; /* by names; none is replaced */
};

/* Returns the stack word (stack_word.h) of this code and of the line at this instruction. Copies new names into the
 * ring. texts: of the calling thread (python_texts_own()). Equal names have one id, whatever code they belong to. If
 * there is no room for them, or no memory for the texts, or no code, returns STACK_MARK_CODE_TABLE_FULL as a word. */
uint64_t python_codes_word(struct python_codes *codes, const struct python_library *library,
			   struct python_texts **texts, uint64_t code, int32_t instruction);

/* Returns the id of such names, which it copies into the ring if they are new; 0: no room. */
uint32_t python_codes_add(struct python_codes *codes, const struct python_text *file,
			  const struct python_text *name);

static inline uint64_t python_load(uint64_t address)
{
	uint64_t word;

	memcpy(&word, (const void *)(uintptr_t)address, sizeof(word));
	return word;
}

static inline uint64_t python_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t python_turn(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

#define PYTHON_MIX_A 0x9e3779b97f4a7c15u
#define PYTHON_MIX_B 0xd6e8feb86659fd93u
#define PYTHON_MIX_C 0xa0761d6478bd642fu
#define PYTHON_MIX_D 0xe7037ed1a0b428dbu

/* Of a name, a file's name or a table of lines that tell codes apart. */
#define PYTHON_CODE_BYTES_MAX 4096u

/* Hashes the texts of the two names and the bytes of the table of lines: all of them up to PYTHON_CODE_BYTES_MAX, of
 * longer ones the first and the last halves of so many, and the length. */
uint64_t python_code_content(const struct python_layout *layout, uint64_t name, uint64_t file,
			     uint64_t lines);

/* Tells a code from another that lay at the same address before. Uses the interpreter's own number of it. Without
 * one it uses the content of the objects that the code points to, since they may be at old addresses, too. */
static inline uint64_t python_code_extra(const struct python_layout *layout, bool numbered,
					 uint64_t code, uint64_t name, uint64_t file,
					 uint64_t lines)
{
	if (numbered)
		return python_load(code + layout->code_version) << 32;
	return python_code_content(layout, name, file, lines);
}

/* Returns whether the interpreter numbers its codes. */
static inline bool python_code_is_numbered(const struct python_layout *layout)
{
	return layout->code_version != PYTHON_LAYOUT_NONE;
}

/* The result is equal for equal code: by its contents, too, and not by its address alone. numbered:
 * python_code_is_numbered(). */
static inline uint64_t python_code_identity_by(const struct python_layout *layout, bool numbered,
					       uint64_t code)
{
	uint64_t name = python_load(code + layout->code_qualified_name);
	uint64_t file = python_load(code + layout->code_file);
	uint64_t lines = python_load(code + layout->code_lines);
	uint64_t first_line = python_load(code + layout->code_first_line) & UINT32_MAX;

	return python_mix(python_mix(code ^ PYTHON_MIX_A, name ^ PYTHON_MIX_B) ^ lines,
			  python_mix(file ^ PYTHON_MIX_C, first_line ^ PYTHON_MIX_D) ^
				  python_code_extra(layout, numbered, code, name, file, lines));
}

static inline uint64_t python_code_identity(const struct python_layout *layout, uint64_t code)
{
	return python_code_identity_by(layout, python_code_is_numbered(layout), code);
}

#endif
