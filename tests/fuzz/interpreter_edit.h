/* The inputs of interpreter_fuzz: two bytes, the versions of the list of threads and of the library's name, then
 * what happens to the interpreter, as a list of these. Numbers are taken modulo what there is. */
#ifndef INTERPRETER_EDIT_H
#define INTERPRETER_EDIT_H

#include <stdint.h>

enum interpreter_edit_kind {
	INTERPRETER_EDIT_WORD, /* object, offset: eight bytes of it become value */
	INTERPRETER_EDIT_HALF, /* the same of four bytes */
	INTERPRETER_EDIT_FRAME, /* object: of the leaf or the root; form: its identity, high: its owner and mark */
	INTERPRETER_EDIT_READ, /* the agent looks for the interpreter, and names the frames */
	INTERPRETER_EDIT_KINDS,
};

enum interpreter_object {
	INTERPRETER_OBJECT_RUNTIME,
	INTERPRETER_OBJECT_INTERPRETER,
	INTERPRETER_OBJECT_THREAD,
	INTERPRETER_OBJECT_LEAF, /* its code; behind it file, name and lines; then the root's four */
	INTERPRETER_OBJECT_ROOT = INTERPRETER_OBJECT_LEAF + 4,
	INTERPRETER_OBJECTS = INTERPRETER_OBJECT_ROOT + 4,
};

/* Of a value: it is a number, or value's low byte is an object, whose address and the rest of value are added up. */
enum { INTERPRETER_FORM_NUMBER, INTERPRETER_FORM_ADDRESS, INTERPRETER_FORMS };

/* Of a frame's identity. */
enum {
	INTERPRETER_IDENTITY_FULL,
	INTERPRETER_IDENTITY_PLACES,
	INTERPRETER_IDENTITY_VALUE,
	INTERPRETER_IDENTITIES
};

struct interpreter_edit {
	uint8_t kind, object, form, high;
	uint16_t offset, reserved;
	uint64_t value;
};

#endif
