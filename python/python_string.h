/* Reads a Python string as UTF-8, directly from the object: an exact str that its owner keeps alive. Any thread. */
#ifndef PYTHON_STRING_H
#define PYTHON_STRING_H

#include <stdint.h>

#include "python_layout.h"

#include "proto/record.h"

#define PYTHON_STRING_LENGTH_MAX (1u << 24) /* code points; a longer one is taken for damage */
#define PYTHON_STRING_UNREADABLE "<unreadable>"

struct python_text {
	const char *text; /* no NUL; in buffer, in the object, or static */
	uint32_t size;    /* up to RECORD_CODE_TEXT_MAX */
	char buffer[RECORD_CODE_TEXT_MAX];
};

/* Stores at most RECORD_CODE_TEXT_MAX bytes: the end of a longer string. Lone surrogates become U+FFFD. A string that
 * is not compact, or makes no sense, is PYTHON_STRING_UNREADABLE. text->text is borrowed until the string or *text
 * goes. */
void python_string_read(const struct python_layout *layout, uint64_t string,
			struct python_text *text);

#endif
