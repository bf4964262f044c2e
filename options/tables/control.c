#include "shared_rows.h"

static const struct option_row rows[] = {
	OPTION_GROUP("Which processes"),
	{"pid", 'p', "PID", OPTION_DAILY, "Command this process alone."},
	{"agent", 0, "PATH", OPTION_DAILY, "Command the processes of the agent on this socket."},
	{"job", 0, "JOB", OPTION_DAILY,
	 "Command a job that sends to a site's aggregator: 4711.0, or 4711."},
	{"user", 0, "NAME", 0, "Take the job of this user (default: your own)."},
	{"connect", 0, "ENDPOINT", 0,
	 "Ask the aggregator there, in place of PROFILE's or the configured one."},
	{"keys", 0, "FILE", 0,
	 "Use the keys in FILE for it: yours, the agents', or its public key, with munge."},

	OPTION_GROUP("When"),
	{"delay", 0, "TIME", OPTION_DAILY, "Start or stop after this time (500ms, 30s, 2m)."},
	{"duration", 0, "TIME", OPTION_DAILY,
	 "Stop so long after the command, or after its --delay or --at."},
	{"at", 0, "TIME", 0,
	 "Start or stop at a time in seconds since 1970, or so much from now (+5s)."},
	{"no-wait", 0, NULL, 0, "Do not wait until the processes have taken the command."},

	OPTION_GROUP("Other"),
	ROWS_MESSAGES,
	OPTION_ROW_HELP,
	{0},
};

const struct option_table option_table_control = {
	.program = "flamegrid",
	.verb = "control",
	.usage = "start|stop|auto|status [OPTION...]\n"
		 "start|stop|auto PROFILE|--job JOB [OPTION...]",
	.summary = "Start and end the capture of running processes.",
	.closing = "auto: as the run's options say. PROFILE: the --output of a job of several "
		   "ranks. Exit status: 0; 1: not all took the command in 5 s; 2: usage.",
	.words = "start|stop|auto|status",
	.example = "flamegrid control start prof",
	.rows = rows,
	.usage_status = 2,
};
