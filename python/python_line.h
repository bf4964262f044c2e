/* The line of an instruction, from a code object's table of lines. Pure. */
#ifndef PYTHON_LINE_H
#define PYTHON_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "python_layout.h"

/* offset: of the instruction, in bytes from the start of the bytecode; negative: before it.
 * Returns the line that the interpreter gives as f_lineno; 0: there is none, or the table makes no sense. */
uint32_t python_line(enum python_line_format format, const uint8_t *table, size_t size,
		     int32_t first_line, int32_t offset);

#endif
