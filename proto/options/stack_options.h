/* The frames that a launch's stack holds: option --stacks of `flamegrid run`, given to the guest in its environment.
 * Pure; any thread. */
#ifndef STACK_OPTIONS_H
#define STACK_OPTIONS_H

#include <stdint.h>

#include "proto/record.h"

#define STACK_OPTIONS_ENV  "FLAMEGRID_STACKS" /* "leaf", or "full,96,128": mode, native and Python depth */
#define STACK_OPTIONS_SIZE 32u /* bytes that the text needs at most, with its NUL */

#define STACK_OPTIONS_NATIVE_DEPTH 96u
#define STACK_OPTIONS_PYTHON_DEPTH 128u
/* Both depths together at most: a stack also needs room for marks. */
#define STACK_OPTIONS_DEPTH_MAX (RECORD_STACK_DEPTH - 4)

enum stack_mode {
	STACK_MODE_LEAF,   /* native frames up to the first Python evaluation loop, then Python frames only */
	STACK_MODE_FULL,   /* native and Python frames as they call each other */
	STACK_MODE_NATIVE, /* native frames only */
	STACK_MODE_PYTHON, /* Python frames only */
	STACK_MODE_NONE,   /* no stacks */
	STACK_MODES,
};

struct stack_options {
	enum stack_mode mode;
	uint32_t native_depth, python_depth; /* frames at most, nearest to the launch; from 1 */
};

#define STACK_OPTIONS_DEFAULT                                                                      \
	((struct stack_options){STACK_MODE_LEAF, STACK_OPTIONS_NATIVE_DEPTH,                       \
				STACK_OPTIONS_PYTHON_DEPTH})

/* Reads "mode", "mode,native" or "mode,native,python". A missing part, NULL and "" mean the default. 0; -EINVAL: no
 * such mode, or not a number; -ERANGE: a depth of 0, or both depths together above STACK_OPTIONS_DEPTH_MAX. On error
 * *options is the default. */
int stack_options_parse(const char *text, struct stack_options *options);

/* Writes the text that parses to *options. text has room for STACK_OPTIONS_SIZE bytes. */
void stack_options_format(const struct stack_options *options, char *text);

#endif
