#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"user", 0, "NAME", OPTION_DAILY,
	 "Make a key for this user, beside the keys that are in DIR."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_keygen = {
	.program = "flamegrid",
	.verb = "keygen",
	.usage = "DIR",
	.summary = "Make keys for an aggregator and its agents in DIR.",
	.closing = "Exit status: 0; 1: the keys could not be made or written; 2: usage.",
	.operand = "directory",
	.example = "flamegrid keygen keys",
	.rows = rows,
	.usage_status = 2,
};
