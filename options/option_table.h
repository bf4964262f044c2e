/* The options of each program and verb. The parser (option_line.h), --help (option_help.h), the manual pages,
 * completion (pages/) and the configuration's names all come from this table. Constant; any thread. */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum option_flag {
	OPTION_DAILY = 1u << 0,        /* --help shows it; --help=all shows every option */
	OPTION_EXPERIMENTAL = 1u << 1, /* may change, or go */
	OPTION_LINE_ONLY = 1u << 2,    /* refused in the configuration */
	OPTION_NOT_IN_STEP = 1u << 3,  /* refused for tasks of Slurm (step_options.h) */
};

/* A row with a name is an option. A row with help alone is the heading of the options that follow. A row with neither
 * ends the table. */
struct option_row {
	const char *name; /* long, without dashes */
	char letter;      /* 0: none */
	/* The name of the value; NULL: the option takes none. Words in small letters, with | between, stand for
	 * themselves. They are the only values, unless a name in capitals is among them. "[=all]": only --help */
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
			"Print the daily options, or all of them."                                 \
	}
#define OPTION_ROW_VERSION                                                                         \
	{                                                                                          \
		"version", 'V', NULL, OPTION_DAILY, "Print the version."                           \
	}

struct option_table {
	const char *program; /* "flamegrid" */
	const char *verb;    /* "run"; a daemon's is the verb that starts it */
	const char *usage;   /* the text behind program and verb; one form a line */
	const char *summary; /* a sentence */
	const char *closing; /* the end of --help: the exit status */
	const char *example; /* a whole command, for those who left something out; NULL: none */
	/* the noun of the operand; NULL: there is none, or words or stops_at_operand say more */
	const char *operand;
	const char *words; /* possible first operands, with | between; NULL: any */
	const struct option_row *rows;
	int usage_status;      /* the exit status for a command line that was not understood */
	bool has_many;         /* several operands may follow one another */
	bool is_optional;      /* the operand may be left out */
	bool stops_at_operand; /* options behind the first operand belong to the command */
	bool is_daemon;        /* a program of its own */
};

extern const struct option_table option_table_run, option_table_report, option_table_diff,
	option_table_check, option_table_control, option_table_attach, option_table_detach,
	option_table_demo, option_table_doctor, option_table_export, option_table_fetch,
	option_table_keygen, option_table_merge, option_table_metrics, option_table_serve,
	option_table_step, option_table_timeline, option_table_top, option_table_watch,
	option_table_agent, option_table_aggregate;

/* All tables in the order of the lists; NULL ends them. */
extern const struct option_table *const option_tables[];

/* "flamegrid run", "flamegrid-agent". */
const char *option_table_name(const struct option_table *table, char text[static 64]);

/* Returns the option with this long name of size bytes; NULL: none. */
const struct option_row *option_table_find(const struct option_table *table, const char *name,
					   size_t size);

/* Returns the index of value among the words of an argument; -1: none. *exhaustive: only these words are allowed. */
int option_words_find(const char *argument, const char *value, bool *exhaustive);

/* Returns whether a mistyped word may mean name and is nearer to it than *least letters; *least then becomes the
 * distance. Start with SIZE_MAX. Added, missing, changed and swapped letters count. One may differ, or fewer than a
 * third of the word's letters. If letters are only missing, they may be as many as half of the word's. */
bool option_is_near(const char *word, const char *name, size_t *least);

#endif
