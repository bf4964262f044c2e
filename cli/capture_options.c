#include "capture_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_environment.h"
#include "proto/record_options.h"

static int fail(char **error, const char *origin, const char *text, const char *why)
{
	if (asprintf(error, "%s: %s: %s", origin, text, why) < 0)
		*error = NULL;
	return -EINVAL;
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
		    "not all, nor a list of sync, overhead, um, modules, memory, nvtx");
}

static int take_nvtx_digits(struct capture_options *options, const char *origin, const char *text,
			    char **error)
{
	if (nvtx_digits_parse(text, &options->nvtx_digits) == 0)
		return 0;
	return fail(error, origin, text, "not auto, keep or mask");
}

static const struct {
	const char *name, *variable;
	int (*take)(struct capture_options *options, const char *origin, const char *text,
		    char **error);
} table[] = {
	{"stacks", STACK_OPTIONS_ENV, take_stacks},
	{"graphs", GRAPH_MODE_ENV, take_graphs},
	{"record", RECORD_OPTIONS_ENV, take_record},
	{"nvtx-digits", NVTX_DIGITS_ENV, take_nvtx_digits},
};

#define NR_OPTIONS (sizeof(table) / sizeof(table[0]))

int capture_options_init(struct capture_options *options, char **error)
{
	*error = NULL;
	*options = (struct capture_options){0};
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		int result =
			table[i].take(options, table[i].variable, getenv(table[i].variable), error);

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

int capture_options_export(const struct capture_options *options,
			   struct job_environment *environment)
{
	char stacks[STACK_OPTIONS_SIZE], record[RECORD_OPTIONS_SIZE];
	int result;

	stack_options_format(&options->stacks, stacks);
	record_options_format(options->record, record);
	result = job_environment_set(environment, STACK_OPTIONS_ENV, stacks);
	if (result == 0)
		result = job_environment_set(environment, GRAPH_MODE_ENV,
					     graph_mode_name(options->graphs));
	/* What is the default and was not said is left out: the job's environment stays as it is. */
	if (result == 0 && (options->record || getenv(RECORD_OPTIONS_ENV)))
		result = job_environment_set(environment, RECORD_OPTIONS_ENV, record);
	if (result == 0 && (options->nvtx_digits != NVTX_DIGITS_AUTO || getenv(NVTX_DIGITS_ENV)))
		result = job_environment_set(environment, NVTX_DIGITS_ENV,
					     nvtx_digits_name(options->nvtx_digits));
	return result;
}
