#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"rank", 0, "N", OPTION_DAILY, "Compare this rank."},
	{"against", 0, "median|N", OPTION_DAILY,
	 "Compare with the median of all others (default), or a rank."},
	{"format", 'f', "folded|html", OPTION_DAILY,
	 "Print \"stack before after\" (default), or a flame graph."},
	ROW_OUTPUT_FILE,
	OPTION_ROW_HELP,

	OPTION_GROUP("As in flamegrid report"),
	ROW_UNIT,
	ROW_WEIGHT,
	{"planes", 0, "LIST", 0, "Compare these planes (default: gpu)."},
	ROW_LINES("off"),
	{0},
};

const struct option_table option_table_diff = {
	.program = "flamegrid",
	.verb = "diff",
	.usage = "--rank N [OPTION...] PROFILE",
	.summary = "Show how a rank's work differs from that of the others.",
	.closing = "Exit status: 0; 1: failed; 2: usage.",
	.operand = "profile",
	.rows = rows,
	.usage_status = 2,
};
