#include "run_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/core/raw_budget.h"
#include "aggregator/store/store.h"
#include "base/error_text.h"
#include "base/log.h"
#include "cli/base/verbs.h"
#include "node-agent/watch/bpf_options.h"
#include "options/option_line.h"
#include "proto/options/duration.h"
#include "proto/options/record_options.h"

/* Logs the error, if there is one. Returns whether there was none. */
static bool taken(int result, char *error)
{
	if (result < 0)
		option_line_refuse(&option_table_run, "%s", error ? error : strerror(-result));
	free(error);
	return result == 0;
}

/* Takes the options of capture_options.h and bpf_options.h. */
static int take_elsewhere(void *context, const char *name, const char *value, char **error)
{
	struct run_options *options = context;
	int result = capture_options_take(&options->capture, name, value, error);

	return result == -ENOENT ? bpf_options_take(&options->bpf, name, value, error) : result;
}

int run_options_take_timeline(void *context, const char *name, const char *value, char **error)
{
	struct event_log_options *timeline = context;
	uint64_t keep_ns = 0;

	if (strcmp(value, "all") != 0 && (duration_parse(value, &keep_ns, NULL) || keep_ns == 0))
		return error_text_set(error, -EINVAL,
				      "--%s %s: neither `all` nor a time such as 30s or 2m", name,
				      value);
	timeline->keeps = true;
	timeline->keep_ns = keep_ns;
	return 0;
}

#define FAN_IN_MAX  65536u
#define TARGETS_MAX 30u

/* Fills in the targets. The last one takes all options that no other target names. */
static size_t find_targets(struct run_options *options,
			   struct option_target targets[static TARGETS_MAX])
{
	const struct option_target made[] = {
		{"output", .text = &options->output_template, .least = 1},
		{"title", .text = &options->wanted_title},
		{"aggregator", .text = &options->aggregator},
		{"keys", .text = &options->keys_path},
		{"insecure", .flag = &options->insecure},
		{"agent", .text = &options->agent_path},
		{"interface", .text = &options->interface},
		{"aggregate", .choice = &options->aggregate, .first = RUN_AGGREGATE_AUTO},
		{"fan-in", .number = &options->fan_in, .least = 1, .most = FAN_IN_MAX},
		{"spool", .text = &options->spool, .least = 1},
		{"nvtx", .flag = &options->nvtx},
		{"watch", .text = &options->watch, .least = 1},
		{"raw-samples", .flag = &options->raw_samples},
		{"timeline", .take = run_options_take_timeline, .context = &options->timeline},
		{"sample-counters", .take = counter_option_take, .context = &options->counters},
		{"max-size", .number = &options->max_mib, .least = 1, .most = STORE_MIB_MAX},
		{"dormant", .flag = &options->dormant},
		{"stack-source", .choice = &options->stack_source, .first = STACK_SOURCE_GUEST},
		{"lines", .choice = &options->names.lines, .first = REPORT_LINES_ON},
		{"inlines", .flag = &options->inlines},
		{"symbol-cache", .text = &options->symbol_cache},
		{"node-name", .text = &options->node_name},
		{"devices", .text = &options->devices_path},
		{"strict", .flag = &options->strict},
		{"no-config", .flag = NULL},
		{"task", .pid = &options->task},
		OPTION_TARGETS_MESSAGES(&options->log_level),
		{NULL, .take = take_elsewhere, .context = options},
	};

	_Static_assert(sizeof(made) <= TARGETS_MAX * sizeof(*made), "more targets than room");
	memcpy(targets, made, sizeof(made));
	return sizeof(made) / sizeof(*made);
}

/* ---- the configuration */

static int fail_setting(const struct run_options *options,
			const struct site_config_setting *setting, const char *why, char **error)
{
	return error_text_set(error, -EINVAL, "%s: line %u: %s%s%s: %s", options->config.path,
			      setting->line, setting->name, setting->value ? " " : "",
			      setting->value ? setting->value : "", why);
}

static int take_setting(struct run_options *options, const struct site_config_setting *setting,
			char **error)
{
	const struct option_row *row =
		option_table_find(&option_table_run, setting->name, strlen(setting->name));
	struct option_target targets[TARGETS_MAX];
	size_t nr = find_targets(options, targets);
	char *why;

	if (!row || row->flags & OPTION_LINE_ONLY)
		return fail_setting(options, setting, "no option that can be there", error);
	if ((row->argument != NULL) != (setting->value != NULL))
		return fail_setting(options, setting, row->argument ? "no value" : "has no value",
				    error);
	if (capture_options_is_in_environment(setting->name) ||
	    option_line_set(row, targets, nr, setting->value, &why) == 0)
		return 0;
	int result = error_text_set(error, -EINVAL, "%s: line %u: %s", options->config.path,
				    setting->line, why ? why : strerror(ENOMEM));
	free(why);
	return result;
}

/* The options that choose where the profile goes. */
struct destinations {
	const char *output, *agent, *aggregator;
	bool dormant;
};

static struct destinations destinations_of(struct run_options *options)
{
	struct destinations found = {options->output_template, options->agent_path,
				     options->aggregator, options->dormant};

	options->output_template = options->agent_path = options->aggregator = NULL;
	options->dormant = false;
	return found;
}

/* Checks the options of one source: the configuration or the command line. */
static int check_destinations(const struct destinations *found, const char *place, char **error)
{
	const char *other = found->agent     ? "agent"
			    : found->dormant ? "dormant"
			    : found->output  ? "output"
					     : NULL;

	*error = NULL;
	if (!found->aggregator || strcmp(found->aggregator, "none") == 0 || !other)
		return 0;
	return error_text_set(error, -EINVAL,
			      "%s--aggregator and --%s: one of them: a site's aggregator keeps "
			      "the profile in a place of its own",
			      place, other);
}

/* One destination on the command line replaces all destinations of the configuration. */
static void choose_destination(struct run_options *options, const struct destinations *configured,
			       const struct destinations *given)
{
	bool is_given = given->output || given->agent || given->dormant || given->aggregator;

	options->output_template = given->output ? given->output : configured->output;
	options->agent_path = given->agent;
	options->dormant = given->dormant;
	options->aggregator = given->aggregator;
	if (!is_given) {
		options->agent_path = configured->agent;
		options->aggregator = configured->aggregator;
	}
	if (options->aggregator && strcmp(options->aggregator, "none") == 0)
		options->aggregator = NULL;
}

static int take_settings(struct run_options *options, struct destinations *configured, char **error)
{
	char place[PATH_MAX + 8];
	int result = site_config_read(&options->config, error);

	for (size_t i = 0; i < options->config.nr && result == 0; i++)
		result = take_setting(options, &options->config.settings[i], error);
	*configured = destinations_of(options);
	if (result)
		return result;
	snprintf(place, sizeof(place), "%s: ", options->config.path);
	return check_destinations(configured, place, error);
}

int run_options_check_config(struct run_options *options, char **error)
{
	struct destinations configured;
	int result = capture_options_init(&options->capture, error);

	return result ? result : take_settings(options, &configured, error);
}

/* A faulty configuration is ignored as a whole: half of it may do more harm than none, and a site's mistake must stop
 * no job. *complaint, which the caller owns, then says what is wrong. 0 or -errno. */
static int take_config(struct run_options *options, struct destinations *configured,
		       char **complaint)
{
	const struct run_options before = *options;
	int result = take_settings(options, configured, complaint);

	if (result) {
		*options = before;
		*configured = (struct destinations){0};
	}
	return result;
}

/* ---- the command line */

/* Returns whether the run goes on. In a task, --strict comes from `step` and not from the user, so it is ignored. */
static bool say_config(const struct run_options *options, int result, const char *complaint)
{
	bool is_strict = options->strict && !options->task;

	if (result)
		log_write(is_strict ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "%s%s",
			  complaint ? complaint : strerror(-result),
			  is_strict ? ": not started (--strict)"
				    : ": the configuration is left alone");
	return !result || !is_strict;
}

/* The configuration is read before the command line, which overrides it. The command line says whether its faults are
 * shown. */
static int parse_line(struct run_options *options, struct destinations *configured, int argc,
		      char **argv)
{
	struct option_target targets[TARGETS_MAX];
	size_t nr = find_targets(options, targets);
	char *complaint = NULL;
	int error = 0;

	if (!option_line_has(&option_table_run, "no-config", argc, argv))
		error = take_config(options, configured, &complaint);
	int status = option_line_parse(&option_table_run, targets, nr, argc, argv);
	if (options->log_level)
		log_set_level(options->log_level);
	if (status == OPTION_LINE_GO && !say_config(options, error, complaint))
		status = EXIT_RUN_OWN;
	free(complaint);
	return status;
}

/* A process of the agent's takes the samples, and may work on other GPUs than the rest. So the run goes on. Its tasks
 * have the same options, and do not say it again. */
static void say_counters(const struct run_options *options)
{
	const char *other = capture_options_of_counters(&options->capture);

	if (options->counters.per_second && other && !options->task)
		log_warning("--sample-counters and %s use the same counters of a GPU: whichever "
			    "begins second may be refused there",
			    other);
}

int run_options_parse(struct run_options *options, int argc, char **argv)
{
	struct destinations configured = {0}, given;
	const char *counters;
	char *error;
	int result = capture_options_init(&options->capture, &error);

	if (!taken(result, error))
		return EXIT_RUN_OWN;
	result = parse_line(options, &configured, argc, argv);
	if (result != OPTION_LINE_GO)
		return result;
	if (optind == argc)
		return option_line_lacks(&option_table_run, "no command given");
	/* A limit that the site or the environment sets is for other runs as well. */
	if (options->capture.stacks.mode == STACK_MODE_NONE &&
	    option_line_has(&option_table_run, "max-cost", argc, argv))
		return option_line_refuse(&option_table_run,
					  "--max-cost takes less of stacks, and --stacks none has "
					  "none");
	if (!options->capture.metrics.nr_names &&
	    (option_line_has(&option_table_run, "kernels", argc, argv) ||
	     option_line_has(&option_table_run, "ranges", argc, argv) ||
	     option_line_has(&option_table_run, "launches", argc, argv)))
		return option_line_refuse(&option_table_run,
					  "--kernels, --ranges and --launches go with --metrics");
	if (option_line_has(&option_table_run, "kernels", argc, argv) &&
	    option_line_has(&option_table_run, "ranges", argc, argv))
		return option_line_refuse(&option_table_run,
					  "--metrics measures kernels or ranges: choose one of "
					  "--kernels and --ranges");
	given = destinations_of(options);
	result = check_destinations(&given, "", &error);
	if (!taken(result, error))
		return EXIT_RUN_OWN;
	choose_destination(options, &configured, &given);
	if (options->dormant)
		options->capture.window = (struct window_options){.dormant = true};
	result = capture_options_check(&options->capture, &error);
	if (!taken(result, error))
		return EXIT_RUN_OWN;
	counters = capture_options_of_counters(&options->capture);
	if (counters && options->bpf.host_calls && !options->bpf.calls_auto)
		return option_line_refuse(&option_table_run,
					  "%s needs the guest in the program, and --host-calls on "
					  "records without it: choose one",
					  counters);
	say_counters(options);
	if (options->nvtx ||
	    (options->capture.metrics.nr_names && options->capture.metrics.are_ranges))
		options->capture.record |= RECORD_OPTION_NVTX;
	if (options->timeline.keeps && !options->agent_path && !options->aggregator)
		options->capture.record |= RECORD_OPTION_MARKS;
	options->timeline.bytes_max = (uint64_t)options->max_mib << 20;
	options->command = argv + optind;
	return OPTION_LINE_GO;
}

bool run_options_fold_on_nodes(const struct run_options *options, int32_t nr_nodes, bool is_shared)
{
	return options->aggregate == RUN_AGGREGATE_NODE ||
	       (options->aggregate == RUN_AGGREGATE_AUTO &&
		(nr_nodes > RAW_BUDGET_AGENTS || is_shared));
}

bool run_options_ask(const struct run_options *options)
{
	return options->aggregate == RUN_AGGREGATE_AUTO;
}
