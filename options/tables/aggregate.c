#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Where it listens, and stores"),
	{"listen", 0, "ENDPOINT", OPTION_DAILY,
	 "Let agents connect there; may be given several times."},
	{"store", 0, "FILE", OPTION_DAILY, "Make or continue the profile FILE."},
	{"jobs", 0, "DIR", OPTION_DAILY, "Keep a profile in DIR for each job that names itself."},
	{"jobs-age", 0, "TIME", 0,
	 "Delete the profile of a complete job after this time, such as 30d."},
	{"jobs-size", 0, "GIB", 0,
	 "Delete the oldest complete jobs while all profiles take more room."},
	{"keys", 0, "FILE", OPTION_DAILY, "Use the keys in FILE: agents need theirs to connect."},
	{"user-keys", 0, "munge|FILE", 0,
	 "Let users send and read for their own jobs alone: by munge, or by keys in FILE (keygen "
	 "--user)."},
	ROW_INSECURE,

	OPTION_GROUP("Profiles"),
	{"wait-nodes", 0, "SECONDS", 0,
	 "Wait so long for agents of a job whose number is not known (default: 10)."},
	{"wait-silent", 0, "SECONDS", 0,
	 "Wait so long for agents that fell silent (default: 300)."},
	{"export", 0, "FILE", 0,
	 "Export all profiles to the ClickHouse or Pyroscope server that FILE names, as they "
	 "grow."},
	{"title", 0, "TEXT", 0, "Name the profile so in reports."},
	ROW_RAW_SAMPLES,
	ROW_MAX_SIZE,

	OPTION_GROUP("Other"),
	ROW_METRICS,
	ROWS_MESSAGES,
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{0},
};

const struct option_table option_table_aggregate = {
	.program = "flamegrid-aggregator",
	.verb = "aggregate",
	.usage = "--listen ENDPOINT... --store FILE [OPTION...]",
	.summary = "Take records of node agents, and keep the profile in FILE.",
	.closing = "Exit status: 0: it ended as asked, at SIGTERM or SIGINT, with everything "
		   "stored; 1: it failed; 2: usage.",
	.rows = rows,
	.usage_status = 2,
	.is_daemon = true,
};
