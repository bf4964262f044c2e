#include "capture_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"
#include "cli/base/job_environment.h"
#include "proto/options/api_options.h"
#include "proto/options/collectives_option.h"
#include "proto/options/cost_option.h"
#include "proto/options/duration.h"
#include "proto/options/meter_option.h"
#include "proto/options/metric_options.h"
#include "proto/options/record_options.h"
#include "proto/options/sample_option.h"

#define NO_STEPS "flamegrid control knows no steps: --every-steps is for the others"

/* Each window of capture has a session of its own, which takes 0.2 s to begin and to end (an H200, CUPTI 13.0). */
#define SHORT_WINDOW_NS 1000000000u
#define SHORT_WINDOWS   "--sample-gpu needs windows of 1s at least (--duty)"

/* origin: an option, or a variable of the environment. */
static int fail(char **error, const char *origin, const char *text, const char *why)
{
	return error_text_set(error, -EINVAL, "%s%s %s: %s", origin, *origin == '-' ? "" : ":",
			      text, why);
}

static int take_stacks(struct capture_options *options, const char *origin, const char *text,
		       char **error)
{
	char why[128];
	int result = stack_options_parse(text, &options->stacks);

	if (result == 0)
		return 0;
	if (result == -ERANGE)
		snprintf(why, sizeof(why), "depths are from 1, and together at most %u",
			 STACK_OPTIONS_DEPTH_MAX);
	else
		snprintf(why, sizeof(why),
			 "not leaf, full, native, python or none, with depths after commas");
	return fail(error, origin, text, why);
}

static int take_graphs(struct capture_options *options, const char *origin, const char *text,
		       char **error)
{
	if (graph_mode_parse(text, &options->graphs) == 0)
		return 0;
	return fail(error, origin, text, "not nodes or launch");
}

static int take_record(struct capture_options *options, const char *origin, const char *text,
		       char **error)
{
	if (record_options_parse(text, &options->record) == 0)
		return 0;
	return fail(error, origin, text,
		    "not all, nor a list of sync, overhead, um, modules, memory, nvtx, stalls");
}

static int take_nvtx_digits(struct capture_options *options, const char *origin, const char *text,
			    char **error)
{
	if (nvtx_digits_parse(text, &options->nvtx_digits) == 0)
		return 0;
	return fail(error, origin, text, "not auto, keep or mask");
}

static int take_api(struct capture_options *options, const char *origin, const char *text,
		    char **error)
{
	if (api_options_check(text) < 0)
		return fail(error, origin, text,
			    "not all, runtime or driver, nor names of functions with commas "
			    "between and * "
			    "for any text");
	options->api = text;
	return 0;
}

static int take_collectives(struct capture_options *options, const char *origin, const char *text,
			    char **error)
{
	if (collectives_option_parse(text, &options->collectives) == 0)
		return 0;
	return fail(error, origin, text, "not on or off");
}

static int take_meter(struct capture_options *options, const char *origin, const char *text,
		      char **error)
{
	if (meter_option_parse(text, &options->meter_full) == 0)
		return 0;
	return fail(error, origin, text, "not sampled or full");
}

static int take_max_cost(struct capture_options *options, const char *origin, const char *text,
			 char **error)
{
	if (cost_option_parse(text, &options->max_cost) == 0)
		return 0;
	return fail(error, origin, text,
		    "not a percentage above 0 and up to 100, such as 2% or 0.5%");
}

/* Returns whether kernels would be sampled in windows that are too short for it. */
static bool samples_short_windows(const struct capture_options *options)
{
	return options->sample_rate && options->window.on_ns < options->window.period_ns &&
	       options->window.on_ns < SHORT_WINDOW_NS;
}

static int take_sample_gpu(struct capture_options *options, const char *origin, const char *text,
			   char **error)
{
	if (sample_option_parse(text, &options->sample_rate) < 0)
		return fail(error, origin, text, "not a number of samples from 1/s to 1000000/s");
	return samples_short_windows(options) ? fail(error, origin, text, SHORT_WINDOWS) : 0;
}

/* The environment holds all these options at once. */
static int take_all_metrics(struct capture_options *options, const char *origin, const char *text,
			    char **error)
{
	if (metric_options_parse(text, &options->metrics) == 0)
		return 0;
	return fail(error, origin, text, "not understood");
}

static int take_metrics(struct capture_options *options, const char *origin, const char *text,
			char **error)
{
	options->metrics.nr_names = 0;
	int result = metric_options_add(&options->metrics, text);

	if (result == -ENXIO)
		text = options->metrics.names[options->metrics.nr_names];
	return result ? fail(error, origin, text, metric_options_refusal(result)) : 0;
}

static int take_regex(struct capture_options *options, const char *origin, const char *text,
		      bool of_ranges, char **error)
{
	switch (metric_options_regex(&options->metrics, text, of_ranges)) {
	case 0:
		return 0;
	case -EOVERFLOW:
		return fail(error, origin, text,
			    "its repetitions, such as {1,255}, take more than 10,000 characters");
	default:
		return fail(error, origin, text, "not a regular expression of up to 255 bytes");
	}
}

static int take_kernels(struct capture_options *options, const char *origin, const char *text,
			char **error)
{
	return take_regex(options, origin, text, false, error);
}

static int take_ranges(struct capture_options *options, const char *origin, const char *text,
		       char **error)
{
	return take_regex(options, origin, text, true, error);
}

static int take_launches(struct capture_options *options, const char *origin, const char *text,
			 char **error)
{
	if (metric_options_launches(&options->metrics, text) == 0)
		return 0;
	return fail(error, origin, text, "not a number from 1 to 1000000");
}

static int take_window(struct capture_options *options, const char *origin, const char *text,
		       char **error)
{
	if (window_options_parse(text, &options->window) == 0)
		return 0;
	return fail(error, origin, text, "not understood");
}

static int take_time(uint64_t *ns, const char *origin, const char *text, char **error)
{
	if (duration_parse(text, ns, NULL) == 0)
		return 0;
	return fail(error, origin, text, "not a time such as 30s, 500ms or 2m");
}

static int take_delay(struct capture_options *options, const char *origin, const char *text,
		      char **error)
{
	return take_time(&options->delay_ns, origin, text, error);
}

static int take_duration(struct capture_options *options, const char *origin, const char *text,
			 char **error)
{
	int result = take_time(&options->duration_ns, origin, text, error);

	return result == 0 && options->duration_ns == 0 ? fail(error, origin, text, "nothing")
							: result;
}

static int take_duty(struct capture_options *options, const char *origin, const char *text,
		     char **error)
{
	struct window_options *window = &options->window;
	const char *period;

	if (duration_parse(text, &window->on_ns, &period) < 0 || *period != '/' ||
	    duration_parse(period + 1, &window->period_ns, NULL) < 0 || window->on_ns == 0 ||
	    window->on_ns > window->period_ns)
		return fail(error, origin, text, "not two times such as 1s/30s");
	return samples_short_windows(options) ? fail(error, origin, text, SHORT_WINDOWS) : 0;
}

static int take_range(struct capture_options *options, const char *origin, const char *text,
		      char **error)
{
	struct window_options range;
	char item[WINDOW_OPTIONS_SIZE];
	int size = snprintf(item, sizeof(item), "range=%s", text);

	if (size < 0 || (size_t)size >= sizeof(item) || window_options_parse(item, &range) < 0)
		return fail(error, origin, text, "not profiler, control or nvtx:NAME");
	if (options->window.every && range.range == WINDOW_RANGE_CONTROL)
		return fail(error, origin, text, NO_STEPS);
	options->window.range = range.range;
	memcpy(options->window.range_name, range.range_name, sizeof(range.range_name));
	return 0;
}

static int take_step_range(struct capture_options *options, const char *origin, const char *text,
			   char **error)
{
	size_t size = strlen(text);

	if (size == 0 || size > WINDOW_OPTIONS_NAME_MAX)
		return fail(error, origin, text, "not the name of a range");
	options->window.range = WINDOW_RANGE_NVTX;
	memcpy(options->window.range_name, text, size + 1);
	return 0;
}

/* If no option says where a step begins, it lasts from cudaProfilerStart to cudaProfilerStop. */
static int take_every_steps(struct capture_options *options, const char *origin, const char *text,
			    char **error)
{
	char *end;
	unsigned long long every;

	errno = 0;
	every = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text < '0' || *text > '9' || every == 0 ||
	    every > WINDOW_OPTIONS_EVERY_MAX)
		return fail(error, origin, text, "not a whole number from 1 to 1000000000");
	if (options->window.range == WINDOW_RANGE_CONTROL)
		return fail(error, origin, text, NO_STEPS);
	options->window.every = (uint32_t)every;
	if (options->window.range == WINDOW_RANGE_NONE)
		options->window.range = WINDOW_RANGE_PROFILER;
	return 0;
}

/* Options with a variable take their first value from the environment. */
static const struct {
	const char *name, *variable;
	int (*take)(struct capture_options *options, const char *origin, const char *text,
		    char **error);
} table[] = {
	{"stacks", STACK_OPTIONS_ENV, take_stacks},
	{"graphs", GRAPH_MODE_ENV, take_graphs},
	{"record", RECORD_OPTIONS_ENV, take_record},
	{"nvtx-digits", NVTX_DIGITS_ENV, take_nvtx_digits},
	{"api", API_OPTIONS_ENV, take_api},
	{"collectives", COLLECTIVES_OPTION_ENV, take_collectives},
	{"meter", METER_OPTION_ENV, take_meter},
	{"max-cost", COST_OPTION_ENV, take_max_cost},
	{"sample-gpu", SAMPLE_OPTION_ENV, take_sample_gpu},
	{"metrics ", METRIC_OPTIONS_ENV, take_all_metrics},
	{"metrics", NULL, take_metrics},
	{"kernels", NULL, take_kernels},
	{"ranges", NULL, take_ranges},
	{"launches", NULL, take_launches},
	{"window", WINDOW_OPTIONS_ENV, take_window},
	{"delay", NULL, take_delay},
	{"duration", NULL, take_duration},
	{"duty", NULL, take_duty},
	{"capture-range", NULL, take_range},
	{"step-range", NULL, take_step_range},
	{"every-steps", NULL, take_every_steps},
};

#define NR_OPTIONS (sizeof(table) / sizeof(table[0]))

int capture_options_init(struct capture_options *options, char **error)
{
	*error = NULL;
	*options = (struct capture_options){0};
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		int result = 0;

		if (table[i].variable)
			result = table[i].take(options, table[i].variable,
					       getenv(table[i].variable), error);

		if (result < 0)
			return result;
	}
	return 0;
}

int capture_options_take(struct capture_options *options, const char *name, const char *value,
			 char **error)
{
	char origin[32];

	*error = NULL;
	snprintf(origin, sizeof(origin), "--%s", name);
	for (size_t i = 0; i < NR_OPTIONS; i++)
		if (strcmp(table[i].name, name) == 0)
			return table[i].take(options, origin, value, error);
	return -ENOENT;
}

const char *capture_options_of_counters(const struct capture_options *options)
{
	return options->metrics.nr_names                ? "--metrics"
	       : options->sample_rate                   ? "--sample-gpu"
	       : options->record & RECORD_OPTION_STALLS ? "--record stalls"
							: NULL;
}

/* Returns whether less than the whole run may be captured. */
static bool has_windows(const struct capture_options *options)
{
	char text[WINDOW_OPTIONS_SIZE];

	window_options_format(&options->window, text);
	return text[0] || options->delay_ns || options->duration_ns;
}

int capture_options_check(const struct capture_options *options, char **error)
{
	const bool stalls = options->record & RECORD_OPTION_STALLS;

	*error = NULL;
	if (options->metrics.nr_names && (options->sample_rate || stalls))
		return error_text_set(error, -EINVAL,
				      "--metrics and %s need the same counters: choose one",
				      options->sample_rate ? "--sample-gpu" : "--record stalls");
	if (options->sample_rate && stalls)
		return error_text_set(error, -EINVAL,
				      "--sample-gpu and --record stalls are two ways of sampling, "
				      "and a process has one: choose one");
	if ((options->sample_rate || stalls) && options->graphs == GRAPH_MODE_LAUNCH)
		return error_text_set(error, -EINVAL,
				      "%s needs records of a graph's kernels, which --graphs "
				      "launch leaves out: choose one",
				      options->sample_rate ? "--sample-gpu" : "--record stalls");
	if (options->metrics.nr_names && has_windows(options))
		return error_text_set(error, -EINVAL,
				      "--metrics measures nothing in a run with capture windows "
				      "(--delay, --duration, --duty, --capture-range, --dormant): "
				      "choose one");
	return 0;
}

bool capture_options_is_in_environment(const char *name)
{
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const char *value = table[i].variable ? getenv(table[i].variable) : NULL;

		if (strcmp(table[i].name, name) == 0)
			return value && *value;
	}
	return false;
}

static int export_window(const struct capture_options *options, uint64_t now_ns,
			 struct job_environment *environment)
{
	struct window_options window = options->window;
	char text[WINDOW_OPTIONS_SIZE];

	if (!has_windows(options))
		return 0;
	if (options->delay_ns)
		window.from_ns = now_ns + options->delay_ns;
	if (options->duration_ns)
		window.until_ns = (window.from_ns ? window.from_ns : now_ns) + options->duration_ns;
	window_options_format(&window, text);
	return job_environment_set(environment, WINDOW_OPTIONS_ENV, text);
}

int capture_options_export(const struct capture_options *options, uint64_t now_ns,
			   struct job_environment *environment)
{
	char stacks[STACK_OPTIONS_SIZE], record[RECORD_OPTIONS_SIZE], max_cost[16], rate[16];
	char metrics[METRIC_OPTIONS_TEXT];
	int result;

	stack_options_format(&options->stacks, stacks);
	record_options_format(options->record, record);
	result = job_environment_set(environment, STACK_OPTIONS_ENV, stacks);
	if (result == 0)
		result = job_environment_set(environment, GRAPH_MODE_ENV,
					     graph_mode_name(options->graphs));
	/* An unchanged default is not exported, so that the job's environment stays as it is. */
	if (result == 0 && (options->record || getenv(RECORD_OPTIONS_ENV)))
		result = job_environment_set(environment, RECORD_OPTIONS_ENV, record);
	if (result == 0 && (options->nvtx_digits != NVTX_DIGITS_AUTO || getenv(NVTX_DIGITS_ENV)))
		result = job_environment_set(environment, NVTX_DIGITS_ENV,
					     nvtx_digits_name(options->nvtx_digits));
	if (result == 0 && (!options->collectives || getenv(COLLECTIVES_OPTION_ENV)))
		result = job_environment_set(environment, COLLECTIVES_OPTION_ENV,
					     options->collectives ? "on" : "off");
	if (result == 0 && (options->meter_full || getenv(METER_OPTION_ENV)))
		result = job_environment_set(environment, METER_OPTION_ENV,
					     options->meter_full ? "full" : "sampled");
	if (result == 0 && options->max_cost) {
		snprintf(max_cost, sizeof(max_cost), "%u.%03u%%", options->max_cost / 1000,
			 options->max_cost % 1000);
		result = job_environment_set(environment, COST_OPTION_ENV, max_cost);
	}
	if (result == 0 && options->sample_rate) {
		snprintf(rate, sizeof(rate), "%" PRIu32 "/s", options->sample_rate);
		result = job_environment_set(environment, SAMPLE_OPTION_ENV, rate);
	}
	if (result == 0 && options->metrics.nr_names) {
		metric_options_format(&options->metrics, metrics);
		result = job_environment_set(environment, METRIC_OPTIONS_ENV, metrics);
	}
	if (result == 0 && options->api)
		result = job_environment_set(environment, API_OPTIONS_ENV, options->api);
	return result ? result : export_window(options, now_ns, environment);
}
