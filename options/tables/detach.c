#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	ROW_PID,
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_detach = {
	.program = "flamegrid",
	.verb = "detach",
	.usage = "--pid PID",
	.summary = "End flamegrid attach of a process, which then writes its profile.",
	.closing = "Exit status: 0; 1: nobody is attached to the process; 2: usage.",
	.example = "flamegrid detach --pid 4711",
	.rows = rows,
	.usage_status = 2,
};
