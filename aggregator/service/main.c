/* flamegrid-aggregator: an aggregator of its own, for agents on other nodes. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator.h"
#include "descriptor_limit.h"

#include "base/log.h"
#include "proto/install_paths.h"
#include "proto/trust/key_set.h"

#define ENDPOINTS_MAX 16u
#define WAIT_MAX_S    1000000ul

enum exit_code {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

static const char usage[] =
	"Usage: flamegrid-aggregator --listen ENDPOINT... --store FILE [OPTION]...\n"
	"Takes batches from node agents and keeps their profile in FILE.\n"
	"\n"
	"  --listen ENDPOINT  where agents connect, e.g. tcp://127.0.0.1:7411 or ipc:///run/x;\n"
	"                     port *: any that is free; may be given several times\n"
	"  --store FILE       the profile; made if missing, else continued\n"
	"  --jobs DIR         a profile for each job whose agents say of which they are (flamegrid "
	"run\n"
	"                     --aggregator), in DIR/USER-JOB, with its reports when it is "
	"complete; "
	"FILE has\n"
	"                     the others\n"
	"  --wait-nodes SECONDS\n"
	"                     how long a job waits for agents that may still come, where its "
	"launcher has\n"
	"                     not told how many (default: 10)\n"
	"  --wait-silent SECONDS\n"
	"                     and for those that are silent, without a goodbye (default: 300)\n"
	"  --title TEXT       heading of its reports\n"
	"  --raw-samples on|off\n"
	"                     keep each sample of host threads by itself, too (default: off)\n"
	"  --keys FILE        take only agents that have this aggregator's keys, and encrypt what\n"
	"                     passes (flamegrid keygen makes them); else, endpoints that other\n"
	"                     machines can reach are refused\n"
	"  --insecure         without keys: allow them, with nothing authenticated or encrypted\n"
	"  --quiet            print nothing but warnings and errors\n"
	"  --log-level LEVEL  print messages from this level on: error, warning, notice, info\n"
	"                     (default) or debug\n"
	"  -v                 --log-level debug\n"
	"  --help, --version\n"
	"\n"
	"Ends at SIGTERM or SIGINT, with everything stored. Exit codes: 0 ended, 1 failed, 2 "
	"usage.\n";

static struct aggregator *running; /* for the signal handler; set before it is installed */

static void stop(int number)
{
	(void)number;
	aggregator_stop(running);
}

static int usage_error(const char *what)
{
	log_error("%s", what);
	fputs(usage, stderr);
	return EXIT_USAGE;
}

static int read_keys(const char *path, struct key_set *keys)
{
	char *error;
	int status = key_set_read(path, KEY_ROLE_AGGREGATOR, keys, &error);

	if (status)
		log_error("--keys: %s", error ? error : strerror(-status));
	free(error);
	return status ? EXIT_FAILED : EXIT_SUCCESS;
}

static bool take_seconds(const char *text, uint32_t *ms)
{
	char *end;
	unsigned long seconds = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || seconds == 0 || seconds > WAIT_MAX_S)
		return false;
	*ms = (uint32_t)(seconds * 1000);
	return true;
}

/* `flamegrid` writes reports. Where it is not found, its path says so when the first is to be written. */
static void find_reports(const char *program, char reports[static PATH_MAX])
{
	struct install_paths paths;

	install_paths_find(program, &paths);
	if (snprintf(reports, PATH_MAX, "%s/bin/flamegrid", paths.root) >= PATH_MAX)
		*reports = '\0';
}

static int run(const struct aggregator_options *options)
{
	struct sigaction action = {.sa_handler = stop};
	char *error;

	descriptor_limit_raise();
	int status = aggregator_create(options, &running, &error);

	if (status) {
		log_error("%s", error ? error : strerror(-status));
		free(error);
		return EXIT_FAILED;
	}
	signal(SIGPIPE, SIG_IGN); /* whoever read our words may be gone: the profile goes on */
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	for (uint32_t i = 0; i < options->nr_endpoints; i++)
		log_info("listening on %s", aggregator_endpoint(running, i));
	status = aggregator_run(running);
	if (status)
		log_error("%s", strerror(-status));
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	aggregator_destroy(running);
	return status ? EXIT_FAILED : EXIT_SUCCESS;
}

struct arguments {
	struct aggregator_options options;
	const char *endpoints[ENDPOINTS_MAX];
	const char *keys_path;
};

/* -1: go on; else the exit code. */
static int take_option(struct arguments *arguments, int option)
{
	struct aggregator_options *options = &arguments->options;

	switch (option) {
	case 'l':
		if (options->nr_endpoints == ENDPOINTS_MAX)
			return usage_error("too many endpoints");
		arguments->endpoints[options->nr_endpoints++] = optarg;
		return -1;
	case 's':
		options->store_path = optarg;
		return -1;
	case 't':
		options->title = optarg;
		return -1;
	case 'r':
		options->raw_samples = strcmp(optarg, "on") == 0;
		if (!options->raw_samples && strcmp(optarg, "off") != 0)
			return usage_error("--raw-samples must be on or off");
		return -1;
	case 'i':
		options->insecure = true;
		return -1;
	case 'k':
		arguments->keys_path = optarg;
		return -1;
	case 'j':
		options->jobs_path = optarg;
		return -1;
	case 'n':
		return take_seconds(optarg, &options->wait_nodes_ms)
			       ? -1
			       : usage_error("--wait-nodes must be a number of seconds");
	case 'w':
		return take_seconds(optarg, &options->wait_silent_ms)
			       ? -1
			       : usage_error("--wait-silent must be a number of seconds");
	case 'q':
		log_set_level(LOG_LEVEL_WARNING);
		return -1;
	case 'v':
		log_set_level(LOG_LEVEL_DEBUG);
		return -1;
	case 'L':
		return log_take_level(optarg) ? -1 : EXIT_USAGE;
	case 'h':
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	case 'V':
		puts("flamegrid-aggregator " FLAMEGRID_VERSION);
		return EXIT_SUCCESS;
	default:
		return EXIT_USAGE;
	}
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"listen", required_argument, NULL, 'l'},
		{"store", required_argument, NULL, 's'},
		{"title", required_argument, NULL, 't'},
		{"raw-samples", required_argument, NULL, 'r'},
		{"insecure", no_argument, NULL, 'i'},
		{"keys", required_argument, NULL, 'k'},
		{"jobs", required_argument, NULL, 'j'},
		{"wait-nodes", required_argument, NULL, 'n'},
		{"wait-silent", required_argument, NULL, 'w'},
		{"quiet", no_argument, NULL, 'q'},
		{"log-level", required_argument, NULL, 'L'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	struct arguments arguments = {0};
	struct aggregator_options *options = &arguments.options;
	struct key_set keys;
	char reports[PATH_MAX];
	int option, status;

	log_begin("flamegrid-aggregator", NULL, LOG_LEVEL_INFO);
	options->endpoints = arguments.endpoints;
	while ((option = getopt_long(argc, argv, "v", long_options, NULL)) != -1) {
		status = take_option(&arguments, option);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return usage_error("unexpected argument");
	if (options->nr_endpoints == 0 || !options->store_path)
		return usage_error("--listen and --store are needed");
	if (arguments.keys_path) {
		if (read_keys(arguments.keys_path, &keys))
			return EXIT_FAILED;
		options->keys = &keys;
	}
	if (options->jobs_path) {
		find_reports(argv[0], reports);
		options->reports_program = reports;
	}
	return run(options);
}
