/* Objects and frames as CPython lays them out, for tests without an interpreter. All memory is the
 * caller's; one thread. */
#ifndef FAKE_OBJECTS_H
#define FAKE_OBJECTS_H

#include <stdint.h>

#include "python/python_library.h"

#define FAKE_OBJECT_WORDS 64u

/* Zeroed, then filled by the functions below. */
struct fake_object {
	uint64_t words[FAKE_OBJECT_WORDS];
};

uint64_t fake_object_address(const struct fake_object *object);
void fake_object_put64(struct fake_object *object, uint32_t offset, uint64_t value);
void fake_object_put32(struct fake_object *object, uint32_t offset, uint32_t value);
void fake_object_put8(struct fake_object *object, uint32_t offset, uint8_t value);

/* A compact string of length code points of kind bytes each; ascii only with kind 1. */
void fake_object_string(struct fake_object *object, const struct python_library *library,
			const void *data, uint32_t length, unsigned kind, int ascii);
void fake_object_ascii(struct fake_object *object, const struct python_library *library,
		       const char *text);
void fake_object_bytes(struct fake_object *object, const struct python_library *library,
		       const void *data, uint32_t size);

/* A code with what it refers to. */
struct fake_code {
	struct fake_object code, file, name, lines;
};

/* Each unit of the bytecode is on a line of its own, from first_line on (3.11 and later). */
void fake_code_fill(struct fake_code *code, const struct python_library *library, const char *file,
		    const char *name, uint32_t first_line);

#endif
