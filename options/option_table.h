/* The options of each program and verb. From its table come the parser (option_line.h), --help (option_help.h), the
 * manual pages, completion (pages/) and the names that the configuration may have. Constant; any thread. */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum option_flag {
	OPTION_DAILY = 1u << 0,        /* --help has it; --help=all has every option */
	OPTION_EXPERIMENTAL = 1u << 1, /* may change, or go */
	OPTION_LINE_ONLY = 1u << 2,    /* not in the configuration, where its table has one */
	OPTION_NOT_IN_STEP = 1u << 3,  /* not for tasks of Slurm (step_options.h) */
};

/* With a name: an option. With help alone: the heading of the options that follow. Without both: the end. */
struct option_row {
	const char *name; /* long, without dashes */
	char letter;      /* 0: none */
	/* of its value; NULL: it has none. Words in small letters with | between stand for themselves, and are all that
	 * may be said, unless a name in capitals is among them. "[=all]": only --help */
	const char *argument;
	unsigned int flags; /* a set of enum option_flag */
	const char *help;   /* a sentence */
};

#define OPTION_GROUP(title)                                                                        \
	{                                                                                          \
		.help = (title)                                                                    \
	}
#define OPTION_ROW_HELP                                                                            \
	{                                                                                          \
		"help", 'h', "[=all]", OPTION_DAILY | OPTION_LINE_ONLY | OPTION_NOT_IN_STEP,       \
			"Prints the daily options, or all of them."                                \
	}
#define OPTION_ROW_VERSION                                                                         \
	{                                                                                          \
		"version", 'V', NULL, OPTION_DAILY, "Prints the version."                          \
	}

struct option_table {
	const char *program; /* "flamegrid" */
	const char *verb;    /* "run"; of a daemon: the verb of flamegrid that starts it */
	const char *usage;   /* behind program and verb; one form a line */
	const char *summary; /* a sentence */
	const char *closing; /* of --help: the exit status */
	const char *words;   /* first operands, with | between; NULL: it is the user's */
	const struct option_row *rows;
	int usage_status;      /* the exit status when it was not understood */
	bool stops_at_operand; /* options behind the first operand are not ours */
	bool is_daemon;        /* a program of its own */
	bool is_configured;    /* /etc/flamegrid.conf has defaults for it */
};

extern const struct option_table option_table_run, option_table_report, option_table_diff,
	option_table_control, option_table_attach, option_table_detach, option_table_doctor,
	option_table_keygen, option_table_step, option_table_agent, option_table_aggregate;

/* All, in the order in which they are listed; NULL ends them. */
extern const struct option_table *const option_tables[];

/* "flamegrid run", "flamegrid-agent". */
const char *option_table_name(const struct option_table *table, char text[static 64]);

/* The option of this long name, of size bytes; NULL: there is none. */
const struct option_row *option_table_find(const struct option_table *table, const char *name,
					   size_t size);

/* The index of value among the words of an argument; -1: none of them. *exhaustive: nothing else may be said. */
int option_words_find(const char *argument, const char *value, bool *exhaustive);

/* Whether a mistyped word may mean name, and is nearer to it than *least letters, which it then is. SIZE_MAX: no name
 * has been near so far. One letter may differ, or fewer than a third of them: a letter was added, left out, changed, or
 * swapped with its neighbour. */
bool option_is_near(const char *word, const char *name, size_t *least);

#endif
