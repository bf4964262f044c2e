#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"exec", 0, "COMMAND", OPTION_DAILY, "Let the shell run COMMAND for each event."},
	{"format", 'f', "text|json", OPTION_DAILY,
	 "Print an event as a line of text (default), or of JSON."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_watch = {
	.program = "flamegrid",
	.verb = "watch",
	.usage = "[OPTION...] PROFILE",
	.summary = "Tell who is late in a job while it runs.",
	.closing = "PROFILE is what flamegrid run writes. The watch ends with the job. Exit status: "
		   "0; 1: failed; 2: usage.",
	.operand = "profile",
	.example = "flamegrid watch prof",
	.rows = rows,
	.usage_status = 2,
};
