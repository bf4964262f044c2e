/* What a stream's reader can see: whether it is a terminal, how large, and whether it has colours. Single-threaded. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

struct terminal {
	bool is_terminal;
	bool has_colours; /* a terminal, without $NO_COLOR, and $TERM is not "dumb" */
	/* $COLUMNS and $LINES have precedence over the terminal's answer; 80 and 24 if nothing says more. Not on a
	 * terminal both are 0: there is no limit. */
	uint32_t columns, lines;
};

void terminal_read(struct terminal *terminal, int fd);

#endif
