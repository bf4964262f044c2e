#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"to", 0, "FILE", OPTION_DAILY,
	 "Export to the ClickHouse or Pyroscope server that FILE names; only its owner may read "
	 "it."},
	{"jobs", 0, "DIR", 0, "Export the profile of each job in DIR, an aggregator's --jobs."},
	{"follow", 0, NULL, 0,
	 "Export again and again until the input, a pipe, ends: the aggregator starts this."},
	ROWS_MESSAGES,
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_export = {
	.program = "flamegrid",
	.verb = "export",
	.usage = "--to FILE [OPTION...] [PROFILE]",
	.summary =
		"Add a profile to a ClickHouse or Pyroscope server.",
	.closing = "Exit status: 0: the server has everything; 1: failed; 2: usage.",
	.operand = "profile",
	.rows = rows,
	.usage_status = 2,
	.is_optional = true,
};
