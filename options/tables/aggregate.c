#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Where it listens, and stores"),
	{"listen", 0, "ENDPOINT", OPTION_DAILY,
	 "Is where agents connect; may be given several times."},
	{"store", 0, "FILE", OPTION_DAILY, "Is the profile, which is made or continued."},
	{"jobs", 0, "DIR", OPTION_DAILY, "Has a profile for each job that names itself."},
	{"jobs-age", 0, "TIME", 0,
	 "Deletes the profile of a complete job after this time, such as 30d."},
	{"jobs-size", 0, "GIB", 0,
	 "Deletes the oldest complete jobs while all profiles take more room."},
	{"keys", 0, "FILE", OPTION_DAILY, "Has its keys: agents need theirs to connect."},
	{"user-keys", 0, "FILE", 0,
	 "Has keys of users, each for jobs of that user alone (keygen --user)."},
	ROW_INSECURE,

	OPTION_GROUP("Profiles"),
	{"wait-nodes", 0, "SECONDS", 0,
	 "Waits so long for agents of a job whose number is not known (default: 10)."},
	{"wait-silent", 0, "SECONDS", 0,
	 "Waits so long for agents that fell silent (default: 300)."},
	{"title", 0, "TEXT", 0, "Names the profile in reports."},
	ROW_RAW_SAMPLES,

	OPTION_GROUP("Else"),
	ROWS_MESSAGES,
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{0},
};

const struct option_table option_table_aggregate = {
	.program = "flamegrid-aggregator",
	.verb = "aggregate",
	.usage = "--listen ENDPOINT... --store FILE [OPTION...]",
	.summary = "Takes records of node agents, and keeps the profile in FILE.",
	.closing = "Exit status: 0: it ended as asked, at SIGTERM or SIGINT, with everything "
		   "stored; 1: it failed; 2: usage.",
	.rows = rows,
	.usage_status = 2,
	.is_daemon = true,
};
