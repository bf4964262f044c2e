#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Options of begin"),
	{"pid", 0, "PID", OPTION_DAILY, "Profile this process, which is about to become the task."},
	{"hook", 0, "FD", OPTION_DAILY,
	 "Learn how the task ended from the other end of this socket."},
	{"title", 0, "TEXT", OPTION_DAILY, "Name the profile so in reports."},
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_step = {
	.program = "flamegrid",
	.verb = "step",
	.usage = "check [OPTIONS]\n"
		 "begin --pid PID [--hook FD] [--title TEXT] [OPTIONS]\n"
		 "end",
	.summary = "Profile the tasks of a Slurm step, for its plugin and prolog.",
	.closing = "OPTIONS are those of flamegrid run without dashes: \"output=prof-%j "
		   "record=sync,um\". Exit status: 0; 1: the task is not profiled, or not all "
		   "is written in time; 2: usage.",
	.words = "check|begin|end",
	.rows = rows,
	.usage_status = 2,
	.stops_at_operand = true,
};
