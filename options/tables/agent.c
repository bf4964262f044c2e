#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Where it listens, and sends to"),
	{"connect", 0, "ENDPOINT", OPTION_DAILY,
	 "Send to this aggregator: tcp://127.0.0.1:7040, ipc:///run/x."},
	{"socket", 0, "PATH", OPTION_DAILY, "Listen for processes on this Unix socket."},
	{"keys", 0, "FILE", OPTION_DAILY, "Use the keys of the agents in FILE (flamegrid keygen)."},
	ROW_INSECURE,
	{"any-user", 0, NULL, OPTION_DAILY, "Accept processes of all users, not only your own."},

	OPTION_GROUP("What it records of host threads"),
	ROWS_HOST_THREADS,
	{"watch-pid", 0, "PID", 0, "Watch this process and all that it starts, too."},

	OPTION_GROUP("What it records of GPUs"),
	ROW_SAMPLE_COUNTERS,

	OPTION_GROUP("Stacks and names"),
	ROW_STACK_SOURCE,
	ROW_INLINES,
	ROW_SYMBOL_CACHE,
	ROW_NODE_NAME,
	ROW_DEVICES,

	OPTION_GROUP("Other"),
	ROW_METRICS,
	ROWS_MESSAGES,
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{0},
};

const struct option_table option_table_agent = {
	.program = "flamegrid-agent",
	.verb = "agent",
	.usage = "--connect ENDPOINT --socket PATH [OPTION...]",
	.summary = "Take records of this node's processes, and send them.",
	.closing =
		"Exit status: 0: it ended as asked, at SIGTERM or SIGINT; 1: it failed; 2: usage.",
	.rows = rows,
	.usage_status = 2,
	.is_daemon = true,
};
