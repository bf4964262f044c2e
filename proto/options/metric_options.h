/* What is measured, and by what: options --metrics, --kernels, --ranges and --launches of `flamegrid run`. The guest
 * gets them in its environment as "LAUNCHES:METRIC,…:REGEX", with an 'r' before it for --ranges. Pure; any thread. */
#ifndef METRIC_OPTIONS_H
#define METRIC_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define METRIC_OPTIONS_ENV   "FLAMEGRID_METRICS"
#define METRIC_OPTIONS_MAX   63u /* metrics; below DEFINITION_METRICS_MAX */
#define METRIC_OPTIONS_NAME  96u /* bytes of a metric's name, with its NUL */
#define METRIC_OPTIONS_REGEX 256u
/* characters of a regular expression whose repetitions are written out */
#define METRIC_OPTIONS_COMPILED 10000u
#define METRIC_OPTIONS_TEXT     (METRIC_OPTIONS_MAX * METRIC_OPTIONS_NAME + METRIC_OPTIONS_REGEX + 16u)
#define METRIC_OPTIONS_LAUNCHES 10u      /* by default */
#define METRIC_OPTIONS_MOST     1000000u /* launches */
/* The metric that only measured ranges have: the number of their kernels. The guest counts it itself. */
#define METRIC_OPTIONS_KERNELS "range__kernels.sum"

struct metric_options {
	uint32_t nr_names; /* 0: nothing is measured */
	/* of each kernel and stack, or measurements of each range; 0: METRIC_OPTIONS_LAUNCHES */
	uint32_t launches;
	bool are_ranges; /* ranges of the program are measured, not single launches */
	/* if ranges are measured, METRIC_OPTIONS_KERNELS is behind the others */
	char names[METRIC_OPTIONS_MAX + 1][METRIC_OPTIONS_NAME];
	/* extended regular expression for names of kernels or ranges; "": all of them */
	char regex[METRIC_OPTIONS_REGEX];
};

/* Adds a list of metrics and sets ("sol", "roofline"), separated by commas. A metric that is there already is not added
 * again. 0; -EINVAL: a name with other characters than letters, digits, '_' and '.', or a name that is too long;
 * -ENODATA: a name is empty, as behind a last comma; -ENXIO: names[nr_names] has no ending such as ".sum"; -E2BIG: too
 * many. On error the names may be incomplete. */
int metric_options_add(struct metric_options *options, const char *list);

/* Returns the words that tell a user of its error. Static. */
const char *metric_options_refusal(int error);

/* Sets the number of launches. 0; -EINVAL: it is not from 1 to METRIC_OPTIONS_MOST. */
int metric_options_launches(struct metric_options *options, const char *text);

/* Sets the regular expression of --kernels, or of --ranges. 0; -EINVAL: it cannot be compiled; -E2BIG: it is too
 * long; -EOVERFLOW: it may compile to more than METRIC_OPTIONS_COMPILED, which could take all memory. */
int metric_options_regex(struct metric_options *options, const char *regex, bool of_ranges);

/* Returns whether the environment's text, which may be NULL, is of --ranges, without a look at the rest. */
static inline bool metric_options_are_of_ranges(const char *text)
{
	return text && *text == 'r';
}

/* Reads the environment's text; NULL or "": nothing is measured. 0 or -EINVAL, and then nothing is measured. */
int metric_options_parse(const char *text, struct metric_options *options);

/* Writes the text that parses to `options`. */
void metric_options_format(const struct metric_options *options, char text[METRIC_OPTIONS_TEXT]);

/* The sets by number, from 0; NULL: there is no further one. *list: its metrics, separated by commas. */
const char *metric_options_set(uint32_t number, const char **list);

#endif
