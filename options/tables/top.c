#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"interval", 'i', "TIME", OPTION_DAILY, "Read the profile so often; default 2s."},
	{"once", 0, NULL, OPTION_DAILY, "Print one table, and leave."},
	{"json", 0, NULL, OPTION_DAILY, "Print JSON in place of the table; with --once."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_top = {
	.program = "flamegrid",
	.verb = "top",
	.usage = "[OPTION...] [PROFILE]",
	.summary = "Show what runs on a job's GPUs, now or in all.",
	.closing = "PROFILE is what flamegrid run writes; without it, the one here that is being "
		   "written, else the newest. Exit status: 0; 1: failed; 2: usage.",
	.operand = "profile",
	.example = "flamegrid top prof",
	.rows = rows,
	.usage_status = 2,
	.is_optional = true,
};
