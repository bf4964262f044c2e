#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"json", 0, NULL, OPTION_DAILY, "Print JSON."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_doctor = {
	.program = "flamegrid",
	.verb = "doctor",
	.usage = "[--json]",
	.summary = "Find obstacles to profiling on this host.",
	.closing = "Exit status: 0; 1: there is a problem, and a run would have no GPU work in "
		   "it; 2: usage.",
	.rows = rows,
	.usage_status = 2,
};
