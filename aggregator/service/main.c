/* flamegrid-aggregator: runs an aggregator for agents on other nodes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator.h"
#include "descriptor_limit.h"

#include "aggregator/metrics/metrics_board.h"
#include "aggregator/store/store.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/service_ready.h"
#include "fleet/exporter.h"
#include "http/http_address.h"
#include "metrics/metrics_endpoint.h"
#include "options/option_line.h"
#include "proto/install_paths.h"
#include "proto/trust/key_set.h"

#define ENDPOINTS_MAX 16u
#define WAIT_MAX_S    1000000u
#define JOBS_GIB_MAX  1000000u

static struct aggregator *running; /* for the signal handler, which is installed later */

static void stop(int number)
{
	(void)number;
	aggregator_stop(running);
}

static int read_keys(const char *path, struct key_set *keys)
{
	char *error;
	int status = key_set_read(path, KEY_ROLE_AGGREGATOR, keys, &error);

	if (status)
		log_error("--keys: %s", error ? error : strerror(-status));
	free(error);
	return status ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Reports are written by `flamegrid`, which exports, too. If it is not found, what it should do fails with its path in
 * the message. */
static void find_flamegrid(const char *program, char flamegrid[static PATH_MAX])
{
	struct install_paths paths;

	install_paths_find(program, &paths);
	if (snprintf(flamegrid, PATH_MAX, "%s/bin/flamegrid", paths.root) >= PATH_MAX)
		*flamegrid = '\0';
}

static int fail(int status, char *error)
{
	log_error("%s", error ? error : strerror(-status));
	free(error);
	return EXIT_FAILURE;
}

/* metrics: where to serve the board's; size 0: nowhere. */
static int run(const struct aggregator_options *options, const struct http_address *metrics)
{
	struct sigaction action = {.sa_handler = stop};
	struct metrics_endpoint *endpoint;
	struct service_ready ready;
	char *error;

	service_ready_take(&ready);
	descriptor_limit_raise();
	int status = aggregator_create(options, &running, &error);

	if (status)
		return fail(status, error);
	endpoint = metrics_endpoint_start(metrics, metrics_board_write, options->board);
	/* a reader of our output that is gone must not end the profile */
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	for (uint32_t i = 0; i < options->nr_endpoints; i++)
		log_info("listening on %s", aggregator_endpoint(running, i));
	status = service_ready_tell(&ready);
	if (status)
		log_warning("NOTIFY_SOCKET: %s", strerror(-status));
	status = aggregator_run(running);
	if (status)
		log_error("%s", strerror(-status));
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	metrics_endpoint_stop(endpoint);
	aggregator_destroy(running);
	return status ? EXIT_FAILURE : EXIT_SUCCESS;
}

struct arguments {
	struct aggregator_options options;
	const char *endpoints[ENDPOINTS_MAX];
	const char *keys_path, *users, *export_path;
	struct http_address metrics; /* size 0: none */
	uint32_t wait_nodes_s, wait_silent_s, jobs_gib, max_mib;
};

static int take_endpoint(void *context, const char *name, const char *value, char **error)
{
	struct arguments *arguments = context;

	if (arguments->options.nr_endpoints == ENDPOINTS_MAX)
		return error_text_set(error, -EINVAL, "--%s %s: more than %u endpoints", name,
				      value, ENDPOINTS_MAX);
	arguments->endpoints[arguments->options.nr_endpoints++] = value;
	return 0;
}

static int parse(int argc, char **argv, struct arguments *arguments)
{
	struct aggregator_options *options = &arguments->options;
	const struct option_table *table = &option_table_aggregate;
	enum log_level level = LOG_LEVEL_INFO;
	const struct option_target targets[] = {
		{"listen", .take = take_endpoint, .context = arguments},
		{"store", .text = &options->store_path},
		{"export", .text = &arguments->export_path, .least = 1},
		{"title", .text = &options->title},
		{"raw-samples", .flag = &options->raw_samples},
		{"max-size", .number = &arguments->max_mib, .least = 1, .most = STORE_MIB_MAX},
		{"insecure", .flag = &options->insecure},
		{"keys", .text = &arguments->keys_path},
		{"user-keys", .text = &arguments->users},
		{"metrics", .take = metrics_endpoint_take, .context = &arguments->metrics},
		{"jobs", .text = &options->jobs_path},
		{"jobs-age", .time_ns = &options->keep_jobs.age_ns, .least = 1},
		{"jobs-size", .number = &arguments->jobs_gib, .least = 1, .most = JOBS_GIB_MAX},
		{"wait-nodes", .number = &arguments->wait_nodes_s, .least = 1, .most = WAIT_MAX_S},
		{"wait-silent", .number = &arguments->wait_silent_s, .least = 1,
		 .most = WAIT_MAX_S},
		OPTION_TARGETS_MESSAGES(&level),
	};
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	log_set_level(level);
	if (options->nr_endpoints == 0)
		return option_line_refuse(table, "--listen is missing");
	if (!options->store_path)
		return option_line_refuse(table, "--store is missing");
	if ((options->keep_jobs.age_ns || arguments->jobs_gib) && !options->jobs_path)
		return option_line_refuse(table, "--jobs-age and --jobs-size need --jobs");
	options->users_by_munge = arguments->users && strcmp(arguments->users, "munge") == 0;
	options->user_keys_path = options->users_by_munge ? NULL : arguments->users;
	if (arguments->users && (!options->jobs_path || !arguments->keys_path))
		return option_line_refuse(table, "--user-keys needs --jobs and --keys");
	options->bytes_max = (uint64_t)arguments->max_mib << 20;
	options->keep_jobs.bytes = (uint64_t)arguments->jobs_gib << 30;
	options->wait_nodes_ms = arguments->wait_nodes_s * 1000;
	options->wait_silent_ms = arguments->wait_silent_s * 1000;
	return OPTION_LINE_GO;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct aggregator_options *options = &arguments.options;
	struct key_set keys;
	struct exporter exporter;
	char flamegrid[PATH_MAX];

	log_begin("flamegrid-aggregator", NULL, LOG_LEVEL_INFO);
	options->endpoints = arguments.endpoints;
	int status = parse(argc, argv, &arguments);
	if (status != OPTION_LINE_GO)
		return status;
	if (arguments.keys_path) {
		if (read_keys(arguments.keys_path, &keys))
			return EXIT_FAILURE;
		options->keys = &keys;
	}
	find_flamegrid(argv[0], flamegrid);
	if (options->jobs_path)
		options->reports_program = flamegrid;
	if (arguments.metrics.size) {
		options->board = metrics_board_create();
		if (!options->board)
			return fail(-ENOMEM, NULL);
	}
	if (arguments.export_path) {
		exporter_init(&exporter,
			      &(struct exporter_options){.program = flamegrid,
							 .target = arguments.export_path,
							 .store_path = options->store_path,
							 .jobs_path = options->jobs_path});
		options->exporter = &exporter;
	}
	status = run(options, &arguments.metrics);
	metrics_board_destroy(options->board);
	return status;
}
