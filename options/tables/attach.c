#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	ROW_PID,
	{"output", 'o', "DIR", OPTION_DAILY, "Write to DIR (default: flamegrid-profile)."},
	{"duration", 0, "TIME", OPTION_DAILY, "End after this time (500ms, 30s, 2m)."},
	ROW_RECORD,
	ROWS_MESSAGES,
	OPTION_ROW_HELP,

	OPTION_GROUP("As in flamegrid run"),
	ROW_STACKS,
	ROW_GRAPHS,
	ROW_API,
	ROW_LINES("on"),
	ROW_INLINES,
	ROW_SYMBOL_CACHE,
	ROW_NODE_NAME,
	ROW_DEVICES,
	{0},
};

const struct option_table option_table_attach = {
	.program = "flamegrid",
	.verb = "attach",
	.usage = "--pid PID [OPTION...]",
	.summary = "Profile a running process with a dormant guest.",
	.closing = "The profile ends with the process, at Ctrl-C, or by flamegrid detach. Exit "
		   "status: 0; 1: the process cannot be attached to; 2: usage.",
	.example = "flamegrid attach --pid 4711 -o prof",
	.rows = rows,
	.usage_status = 2,
};
