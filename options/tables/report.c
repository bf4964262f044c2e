#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("What is shown"),
	{"ranks", 0, NULL, OPTION_DAILY, "Show the work of each rank, and which rank stands out."},
	{"straggler", 0, NULL, OPTION_DAILY, "Show for which rank the others wait, and why."},
	{"collectives", 0, NULL, OPTION_DAILY, "Show calls of NCCL by communicator and function."},
	{"metrics", 0, NULL, 0, "Show what launches were measured by (run --metrics)."},
	{"planes", 0, "LIST", OPTION_DAILY, "Show all, gpu, sync, cpu, idle, stalls; energy; use."},
	{"memory", 0, "peak|live|allocs|frees", 0,
	 "Show memory in place of GPU work: at its peak, living now, or all of either."},
	{"clocks", 0, NULL, 0, "Show how each host's clocks stood to the aggregator's."},
	{"rows", 0, "activities|calls|failures|configurations|times|collectives|ranks", 0,
	 "Choose the rows of csv (default: activities)."},

	OPTION_GROUP("How it is shown"),
	{"format", 'f', "folded|html|table|json|csv|pprof|speedscope|samples", OPTION_DAILY,
	 "table (default) or html to read; folded (default in a pipe), "
	 "pprof, speedscope for such viewers; json, csv, samples for programs."},
	{"by", 'b', "KEYS", OPTION_DAILY,
	 "Split by job,host,rank,gpu,stream, or others."},
	{"top", 0, "N", OPTION_DAILY, "Print so many rows of a table (default: 20)."},
	{"verbose", 'v', NULL, 0,
	 "In tables also print keys of communicators, and chances (p-values)."},
	{"topology", 0, "FILE", 0, "Take the hosts of each switch from FILE, as Slurm's topology.conf "
		"has them (--straggler)."},
	{"weight", 'w', "time|count|bytes|energy|sm|occupancy|tensor|dram|nvlink|pcie", 0,
	 "Choose what folded stacks weigh (default: time, or of energy and use those)."},
	ROW_UNIT,
	{"demangle", 0, "full|simple|none", 0,
	 "Choose C++ names (default: full; in tables simple)."},
	ROW_LINES("on"),
	{"frames", 0, "all|user", 0, "Show all frames (default), or those of a framework as one, "
		"such as [torch]."},
	{"frameworks", 0, "LIST", 0, "Count files with these parts in their paths as frameworks, "
		"too, such as /megatron/ (needs --frames user, or html)."},
	{"backward", 0, "forward|thread", 0, "Show PyTorch's backward kernels under their forward "
		"lines (default), or under the thread that launched them."},
	{"nccl", 0, "split|whole", 0, "Split kernels of NCCL's into waiting for other ranks and "
		"moving data (default), or show them whole."},

	OPTION_GROUP("Where it goes"),
	ROW_OUTPUT_FILE,
	{"open", 0, NULL, OPTION_DAILY,
	 "Open the page in a browser, or say how to copy it."},
	{"files", 0, NULL, 0,
	 "Write all files that flamegrid run leaves into PROFILE, a directory."},
	{"strict", 0, NULL, OPTION_DAILY, "Exit with 3 if anything was lost, or is INCOMPLETE."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_report = {
	.program = "flamegrid",
	.verb = "report",
	.usage = "[OPTION...] [PROFILE]",
	.summary = "Show a profile as a table, flame graph, folded stacks, or JSON.",
	.closing = "Without PROFILE: the newest. Exit status: 0; 1: failed; 2: usage; 3: --strict.",
	.operand = "profile",
	.rows = rows,
	.usage_status = 2,
	.is_optional = true,
};
