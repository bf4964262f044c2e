/* Reads a command line by its table, and stores each value in its target. Only the main thread calls it, because
 * getopt_long() keeps state. */
#ifndef OPTION_LINE_H
#define OPTION_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "option_table.h"

#include "base/log.h"

#define OPTION_LINE_GO -1 /* the program goes on */

/* Receives the value of an option: one of the pointers is set, or none if the caller asks option_line_has(). The value
 * is borrowed from the command line or the configuration. */
struct option_target {
	const char *name; /* a row's name; NULL in the last target: all other rows */
	/* Becomes true, or the argument's value (on|off). Together with choice or time_ns it says that the option was
	 * given. */
	bool *flag;
	const char **text; /* -o FILE: NULL for "-", standard output */
	void *choice;      /* an enum: first + the index of the word in the row's argument */
	uint32_t *number;  /* a decimal from least to most; a word counts as it does for choice */
	uint32_t first, least, most; /* least is 1, too, for a text that must not be empty */
	pid_t *pid;                  /* 1 or more */
	uint64_t *time_ns;     /* parsed by duration_parse(); least is 1 if 0 makes no sense */
	enum log_level *level; /* set by the options in ROWS_MESSAGES */
	/* Returns 0 or -errno, with *error one line that the caller owns (free()); NULL: out of memory. */
	int (*take)(void *context, const char *name, const char *value, char **error);
	void *context;
};

/* The target of the options in ROWS_MESSAGES; the caller hands it to log_set_level(). */
#define OPTION_TARGETS_MESSAGES(place)                                                             \
	{"quiet", .level = (place)}, {"verbose", .level = (place)},                                \
	{                                                                                          \
		"log-level", .level = (place)                                                      \
	}

/* Parses all options, and checks the operands; --help and --version print their text and end the parsing. Returns
 * OPTION_LINE_GO, with optind at the first operand; otherwise the exit status, after any message. */
int option_line_parse(const struct option_table *table, const struct option_target *targets,
		      size_t nr_targets, int argc, char **argv);

/* Returns the index of a first operand (NULL: there is none) among the table's words; -1 after an error: it is none. */
int option_line_word(const struct option_table *table, const char *word);

/* Returns whether the command line has this option. It prints nothing, not even errors. */
bool option_line_has(const struct option_table *table, const char *name, int argc, char **argv);

/* Stores one value in its target; value NULL: the option takes none. 0; -EINVAL: an impossible value; or the error of
 * target->take(). *error is set as take() sets it. */
int option_line_set(const struct option_row *row, const struct option_target *targets,
		    size_t nr_targets, const char *value, char **error);

/* Logs that something is missing, with the table's example. Returns as option_line_refuse(). */
int option_line_lacks(const struct option_table *table, const char *what);

/* Logs an error (log.h). Returns the exit status for a command line that was not understood. */
__attribute__((format(printf, 2, 3))) int option_line_refuse(const struct option_table *table,
							     const char *format, ...);

#endif
