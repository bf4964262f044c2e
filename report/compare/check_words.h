/* The sentences of a check's result that all its formats share. Any thread. */
#ifndef CHECK_WORDS_H
#define CHECK_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "run_check.h"

#define CHECK_WORDS_SIZE 1024u

struct check_report {
	const struct check_result *result;
	const struct check_question *question;
	const char *const *labels; /* clean; of the question's runs */
};

/* Write a text, cut to size, and return it: the verdict, "regressed: 1 of 7 kernels"; and of a row "+1.02 % (+0.81 to
 * +1.20 %): launches +0.00 %, duration +1.02 %; launched by train.py:step:41". */
const char *check_words_verdict(const struct check_report *report, char *text, size_t size);
const char *check_words_row(const struct check_row *row, char *text, size_t size);

/* Returns whether the runs have steps whose change chance may explain. */
bool check_words_is_open(const struct check_step *step);

/* Writes "the run takes 52.1 ms a step instead of 47.0 ms …" (run_step.h); "": it is not known. */
const char *check_words_step(const struct check_report *report, char *text, size_t size);

/* Writes a line for each thing that a reader must know. */
void check_words_notes(FILE *out, const struct check_report *report);

/* Writes "+1.02 %"; "-": not known. */
const char *check_words_percent(double part, char text[static 32]);

#endif
