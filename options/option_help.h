/* Prints what --help says of a program or verb, in 80 columns. Any thread. */
#ifndef OPTION_HELP_H
#define OPTION_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "option_table.h"

/* How it is called, what it does, and its daily options; or all. */
void option_help_print(FILE *out, const struct option_table *table, bool all);

/* A list of verbs, and what each does. */
void option_help_verbs(FILE *out);

#endif
