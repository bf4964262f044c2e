#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options"),
	{"output", 'o', "FILE", OPTION_DAILY,
	 "Write the timeline, steps or new profile into FILE."},
	{"from", 0, "TIME", OPTION_DAILY, "Begin this long after the first event that was kept."},
	{"to", 0, "TIME", OPTION_DAILY, "End this long after the first event that was kept."},
	{"step", 0, "N", OPTION_DAILY,
	 "Show the program's N-th flamegrid_step(), with the GPU work that it launched."},
	{"around-worst", 0, NULL, OPTION_DAILY,
	 "Show the slowest step, else the longest gap or wait."},
	{"steps", 0, NULL, OPTION_DAILY, "Print how long each rank's steps took, doing what."},
	{"kernels", 0, NULL, OPTION_DAILY, "Print how long kernels took in each half of the run."},
	{"by-stack", 0, NULL, OPTION_DAILY, "With --kernels: a row for each launching stack."},
	{"step-range", 0, "NAME", OPTION_DAILY,
	 "With --steps: take NVTX ranges NAME as the steps."},
	{"format", 'f', "table|csv|json|profile|chrome|html", OPTION_DAILY,
	 "With --steps or --kernels table, csv or json (all); else make a new profile, JSON for "
	 "Chrome, or a page."},
	{"sums", 0, NULL, 0, "Keep sums beside the profile, from which long ranges come quickly."},
	{"ranks", 0, "LIST", OPTION_DAILY, "Show these ranks alone, such as 0,8-15."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_timeline = {
	.program = "flamegrid",
	.verb = "timeline",
	.usage = "[-o FILE] [OPTION...] PROFILE\n--steps|--kernels [OPTION...] PROFILE\n--sums "
		 "PROFILE",
	.summary = "Show launches and GPU work one by one, for Perfetto, or the steps.",
	.closing =
		"Exit status: 0; 1: failed; 2: usage; 3: without what was damaged; 4: not there.",
	.operand = "profile",
	.example = "flamegrid timeline prof --from 10s --to 12s -o step.perfetto",
	.rows = rows,
	.usage_status = 2,
};
