#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"by", 0, "frame|kernel|line|class", OPTION_DAILY,
	 "Choose what a row is (default: frame; of stalls: kernel)."},
	{"top", 0, "N", OPTION_DAILY, "Print so many rows (default: 20)."},
	{"format", 'f', "table|folded|json|html", OPTION_DAILY,
	 "Print rows, \"stack before after\", JSON, or a flame graph (default: table; of ranks: "
	 "folded)."},
	{"rank", 0, "N", OPTION_DAILY, "Compare this rank of one profile."},
	{"against", 0, "median|N", OPTION_DAILY,
	 "Compare with the median of all others (default), or a rank."},
	ROW_OUTPUT_FILE,
	OPTION_ROW_HELP,

	OPTION_GROUP("As in flamegrid report"),
	ROW_UNIT,
	{"weight", 'w', "time|count|bytes", 0, "Choose what folded stacks weigh (default: time)."},
	{"planes", 0, "LIST", 0, "Compare these planes (default: gpu)."},
	ROW_LINES("off"),
	{0},
};

const struct option_table option_table_diff = {
	.program = "flamegrid",
	.verb = "diff",
	.usage = "[OPTION...] BEFORE AFTER\n--rank N [OPTION...] PROFILE",
	.summary = "Show how two profiles, or a rank and the others, differ.",
	.closing = "Exit status: 0; 1: failed; 2: usage.",
	.operand = "profile",
	.example = "flamegrid diff before after",
	.rows = rows,
	.usage_status = 2,
	.has_many = true,
};
