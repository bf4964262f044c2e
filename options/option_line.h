/* Reads a command line by its table, and puts each value where it belongs. The main thread: getopt_long() reads it. */
#ifndef OPTION_LINE_H
#define OPTION_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "option_table.h"

#include "base/log.h"

#define OPTION_LINE_GO -1 /* nothing to exit for */

/* Where the value of an option goes: one of the pointers is set, or none where option_line_has() tells of it. The value
 * is borrowed from the command line, or from the configuration. */
struct option_target {
	const char *name; /* of a row; NULL, behind all others: each that none of them names */
	/* Becomes true, or, with the argument on|off, that. Beside choice: the option was given. */
	bool *flag;
	const char **text;
	void *choice;     /* an enum: first, and the index of the word in the row's argument */
	uint32_t *number; /* decimal, from least to most; or a word, which is taken as for choice */
	uint32_t first, least, most;
	pid_t *pid;            /* 1 or more */
	uint64_t *time_ns;     /* as duration_parse() takes it; least: 1 where 0 makes no sense */
	enum log_level *level; /* of OPTION_TARGETS_MESSAGES */
	/* 0 or -errno, with *error one line about it, owns: free(), NULL: out of memory */
	int (*take)(void *context, const char *name, const char *value, char **error);
	void *context;
};

/* Where the options of the rows ROWS_MESSAGES go, for log_set_level(). */
#define OPTION_TARGETS_MESSAGES(place)                                                             \
	{"quiet", .level = (place)}, {"verbose", .level = (place)},                                \
	{                                                                                          \
		"log-level", .level = (place)                                                      \
	}

/* Stops at --help and --version, after what they ask for was printed.
 * OPTION_LINE_GO, and optind is the first operand's; otherwise the exit status, after the error was said. */
int option_line_parse(const struct option_table *table, const struct option_target *targets,
		      size_t nr_targets, int argc, char **argv);

/* Whether it has the option of this name. Says nothing, not even of errors. */
bool option_line_has(const struct option_table *table, const char *name, int argc, char **argv);

/* Puts one value, NULL where the option has none, into its target. 0; -EINVAL: the value cannot be, or another error of
 * target->take(); *error as there. */
int option_line_set(const struct option_row *row, const struct option_target *targets,
		    size_t nr_targets, const char *value, char **error);

/* Logs an error (log.h); the exit status of what was not understood. */
__attribute__((format(printf, 2, 3))) int option_line_refuse(const struct option_table *table,
							     const char *format, ...);

#endif
