#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"output", 'o', "DIR", OPTION_DAILY,
	 "Write the profile into DIR (default: the job's name there)."},
	{"user", 0, "NAME", 0, "Take the jobs of this user (default: your own)."},
	{"connect", 0, "ENDPOINT", 0, "Ask the aggregator there, in place of the configured one."},
	{"keys", 0, "FILE", 0,
	 "Use the keys in FILE for it: yours, the agents', or its public key, with munge."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_fetch = {
	.program = "flamegrid",
	.verb = "fetch",
	.usage = "[OPTION...] [JOB]",
	.summary = "List your jobs at a site's aggregator, or copy the profile of one.",
	.closing = "JOB: 4711.0, 4711, or a name of the list. Exit status: 0; 1: failed; 2: usage.",
	.operand = "job",
	.rows = rows,
	.usage_status = 2,
	.is_optional = true,
};
