#include "fake_objects.h"

#include <assert.h>
#include <string.h>

#define UNITS 32u /* of bytecode of a fake code */

uint64_t fake_object_address(const struct fake_object *object)
{
	return (uint64_t)(uintptr_t)object;
}

static void put(struct fake_object *object, uint32_t offset, const void *value, size_t size)
{
	assert(offset + size <= sizeof(*object));
	memcpy((char *)object + offset, value, size);
}

void fake_object_put64(struct fake_object *object, uint32_t offset, uint64_t value)
{
	put(object, offset, &value, sizeof(value));
}

void fake_object_put32(struct fake_object *object, uint32_t offset, uint32_t value)
{
	put(object, offset, &value, sizeof(value));
}

void fake_object_put8(struct fake_object *object, uint32_t offset, uint8_t value)
{
	put(object, offset, &value, sizeof(value));
}

void fake_object_string(struct fake_object *object, const struct python_library *library,
			const void *data, uint32_t length, unsigned kind, int ascii)
{
	memset(object, 0, sizeof(*object));
	fake_object_put64(object, PYTHON_OBJECT_TYPE, library->string_type);
	fake_object_put64(object, PYTHON_OBJECT_SIZE, length);
	fake_object_put64(object, PYTHON_STRING_HASH, UINT64_MAX);
	fake_object_put32(object, PYTHON_STRING_STATE,
			  kind << 2 | PYTHON_STRING_COMPACT | (ascii ? PYTHON_STRING_ASCII : 0));
	put(object, ascii ? library->layout.string_ascii : library->layout.string_other, data,
	    (size_t)length * kind);
}

void fake_object_ascii(struct fake_object *object, const struct python_library *library,
		       const char *text)
{
	fake_object_string(object, library, text, (uint32_t)strlen(text), 1, 1);
}

void fake_object_bytes(struct fake_object *object, const struct python_library *library,
		       const void *data, uint32_t size)
{
	memset(object, 0, sizeof(*object));
	fake_object_put64(object, PYTHON_OBJECT_TYPE, library->bytes_type);
	fake_object_put64(object, PYTHON_OBJECT_SIZE, size);
	put(object, PYTHON_BYTES_DATA, data, size);
}

void fake_code_fill(struct fake_code *code, const struct python_library *library, const char *file,
		    const char *name, uint32_t first_line)
{
	const struct python_layout *layout = &library->layout;
	uint8_t lines[2 * UNITS];

	/* An entry for each unit: kind 11, one line on; columns 0 to 0. */
	for (uint32_t i = 0; i < UNITS; i++) {
		lines[2 * i] = 0x80 | 11 << 3;
		lines[2 * i + 1] = 0;
	}
	lines[0] = 0x80 | 10 << 3;
	memset(code, 0, sizeof(*code));
	fake_object_ascii(&code->file, library, file);
	fake_object_ascii(&code->name, library, name);
	fake_object_bytes(&code->lines, library, lines, sizeof(lines));
	fake_object_put64(&code->code, PYTHON_OBJECT_TYPE, library->code_type);
	fake_object_put64(&code->code, PYTHON_OBJECT_SIZE, UNITS);
	fake_object_put32(&code->code, layout->code_first_line, first_line);
	fake_object_put64(&code->code, layout->code_file, fake_object_address(&code->file));
	fake_object_put64(&code->code, layout->code_name, fake_object_address(&code->name));
	fake_object_put64(&code->code, layout->code_qualified_name,
			  fake_object_address(&code->name));
	fake_object_put64(&code->code, layout->code_lines, fake_object_address(&code->lines));
}
