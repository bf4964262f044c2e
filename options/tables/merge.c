#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"output", 'o', "DIR", OPTION_DAILY, "Write the merged profile into DIR."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_merge = {
	.program = "flamegrid",
	.verb = "merge",
	.usage = "-o DIR PROFILE...",
	.summary = "Make one profile of several: of hosts, steps, jobs or windows.",
	.closing = "Exit status: 0; 1: failed; 2: usage; 3: without what was damaged.",
	.operand = "profile",
	.example = "flamegrid merge -o all prof-1 prof-2",
	.rows = rows,
	.usage_status = 2,
	.has_many = true,
};
