#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"chip", 0, "NAME", OPTION_DAILY,
	 "Show the metrics of this chip, such as GH100 (default: list the chips)."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_metrics = {
	.program = "flamegrid",
	.verb = "metrics",
	.usage = "[--chip NAME [LIST]]",
	.summary = "List the metrics that run --metrics takes, and their passes.",
	.closing = "Exit status: 0; 1: no CUPTI, or a metric is unknown; 2: usage.",
	.operand = "list",
	.example = "flamegrid metrics --chip GH100 roofline,lts__t_bytes.sum",
	.rows = rows,
	.usage_status = 2,
	.is_optional = true,
};
