#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"listen", 'l', "ADDRESS:PORT", OPTION_DAILY,
	 "Listen here; a port alone is one of 127.0.0.1 (7420, or another if it is taken)."},
	{"control", 0, NULL, 0,
	 "Let the browser open capture windows of running jobs of several ranks."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_serve = {
	.program = "flamegrid",
	.verb = "serve",
	.usage = "[OPTION...] [PATH...]",
	.summary = "Show profiles in a browser, also of jobs that run.",
	.closing = "PATH is a profile, or a directory with profiles (.). Exit status: 0: a signal "
		   "ended it; 1: failed; 2: usage.",
	.operand = "path",
	.example = "flamegrid serve /scratch/profiles",
	.rows = rows,
	.usage_status = 2,
	.has_many = true,
	.is_optional = true,
};
