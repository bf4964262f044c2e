/* Reads options of `flamegrid run` from one text, as Slurm's --flamegrid= takes it: long options without dashes, with
 * blanks between, `output=prof-%j record=sync,um`. Single-threaded. */
#ifndef STEP_OPTIONS_H
#define STEP_OPTIONS_H

#include <stddef.h>

#define STEP_OPTIONS_MAX 64u

struct step_options {                 /* zeroed: none */
	char *list[STEP_OPTIONS_MAX]; /* owns; "--NAME" or "--NAME=VALUE" */
	size_t nr;
};

/* Appends the options in text. It refuses options that make no sense in a step. It does not check whether `run` knows
 * the others. 0; -EINVAL or -ENOMEM: *error is one line, which the caller owns (free()), or NULL. Call fini in either
 * case. */
int step_options_add(struct step_options *options, const char *text, char **error);
void step_options_fini(struct step_options *options);

#endif
