#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"output", 'o', "DIR", OPTION_DAILY, "Write the profile there (default flamegrid-demo)."},
	{"timeline", 0, "TIME|all", OPTION_DAILY,
	 "Keep each launch and piece of GPU work, as flamegrid run does."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_demo = {
	.program = "flamegrid",
	.verb = "demo",
	.usage = "[-o DIR] [--timeline TIME]",
	.summary = "Profile a small program, simulated where there is no GPU.",
	.closing = "Exit status: 0; 1: the program or its profile failed; 2: usage.",
	.rows = rows,
	.usage_status = 2,
};
