#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"baseline", 'b', "PROFILE", OPTION_DAILY,
	 "Compare with this profile; several tell how much runs differ."},
	{"max-regress", 0, "PERCENT", OPTION_DAILY, "Find changes from this one on (default: 1%)."},
	{"min-share", 0, "PERCENT", OPTION_DAILY,
	 "Judge kernels of at least this part of the GPU time (default: 5%)."},
	{"format", 'f', "text|json|markdown|junit", OPTION_DAILY,
	 "Choose the form of the result (default: text)."},
	ROW_OUTPUT_FILE,
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_check = {
	.program = "flamegrid",
	.verb = "check",
	.usage = "--baseline PROFILE [OPTION...] PROFILE...",
	.summary = "Tell whether GPU work takes longer than before, beyond chance.",
	.closing =
		"Exit status: 0: it does not; 1: it does; 2: error; 3: too noisy or incomplete to "
		"tell.",
	.operand = "profile",
	.example = "flamegrid check --baseline main/prof prof",
	.rows = rows,
	.usage_status = 2,
	.has_many = true,
};
