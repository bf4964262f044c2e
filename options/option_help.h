/* Prints the text of --help for a program or verb, in 80 columns. Any thread. */
#ifndef OPTION_HELP_H
#define OPTION_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "option_table.h"

/* Prints the usage, the summary and the daily options; with `all` every option. */
void option_help_print(FILE *out, const struct option_table *table, bool all);

/* Prints the list of verbs with their summaries. */
void option_help_verbs(FILE *out);

#endif
