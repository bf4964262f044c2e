/* Shows a text on a terminal, one screen at a time if it is longer than the screen. Single-threaded. */
#ifndef PAGER_H
#define PAGER_H

#include <stddef.h>
#include <stdio.h>

#include "terminal.h"

#define PAGER_USUAL "less"
#define PAGER_LESS                                                                                 \
	"FRX" /* what less does if $LESS is not set: colours, and no pause for a short text */

/* Writes the text to out, which belongs to the terminal. If it has more lines than the screen, $PAGER gets it, or
 * "less" where that is not set. A blank $PAGER, one that fails, and a terminal whose $TERM is not set or "dumb" leave
 * the text to out. 0, or -errno of writing. A pager that is left early is no error. */
int pager_show(FILE *out, const struct terminal *terminal, const char *text, size_t size);

/* 0 or -errno. */
typedef int pager_writer(void *context, FILE *out);

/* Shows what the writer writes on standard output, which is this terminal, and breaks its lines to the terminal's
 * width. 0; -errno of the writer or of writing; -ENOMEM. */
int pager_show_text(const struct terminal *terminal, pager_writer *write, void *context);

#endif
