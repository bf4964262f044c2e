#include "guest_options.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/base/definition_writer.h"
#include "proto/attach.h"
#include "proto/options/api_options.h"
#include "proto/options/collectives_option.h"
#include "proto/options/cost_option.h"
#include "proto/options/meter_option.h"
#include "proto/options/record_options.h"
#include "proto/options/sample_option.h"

static struct {
	bool from_file;
	char text[ATTACH_OPTIONS_MAX + 2]; /* each line ends with a NUL, and one more */
} self;

void guest_options_use_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t size = fd < 0 ? 0 : read(fd, self.text, sizeof(self.text) - 1);

	if (fd >= 0)
		close(fd);
	self.from_file = true;
	if (size < 0 || size > (ssize_t)ATTACH_OPTIONS_MAX)
		size = 0;
	memset(self.text + size, 0, sizeof(self.text) - (size_t)size);
	for (ssize_t i = 0; i < size; i++)
		if (self.text[i] == '\n')
			self.text[i] = '\0';
}

static const char *text_of(const char *name)
{
	size_t size = strlen(name);

	if (!self.from_file)
		return getenv(name);
	for (const char *line = self.text; *line; line += strlen(line) + 1)
		if (strncmp(line, name, size) == 0 && line[size] == '=')
			return line + size + 1;
	return NULL;
}

static void misunderstood(struct definition_writer *notices, const char *name, const char *what)
{
	definition_writer_notice(notices, NOTICE_STACKS_OPTION, 0, "%s=%s: not understood; %s",
				 name, text_of(name), what);
}

void guest_options_read(struct guest_options *options, struct definition_writer *notices)
{
	static const char by_default[] = "the default is used";

	if (stack_options_parse(text_of(STACK_OPTIONS_ENV), &options->stacks) < 0)
		misunderstood(notices, STACK_OPTIONS_ENV, by_default);
	if (graph_mode_parse(text_of(GRAPH_MODE_ENV), &options->graphs) < 0)
		misunderstood(notices, GRAPH_MODE_ENV, by_default);
	if (record_options_parse(text_of(RECORD_OPTIONS_ENV), &options->record) < 0)
		misunderstood(notices, RECORD_OPTIONS_ENV, "nothing more is recorded");
	if (nvtx_digits_parse(text_of(NVTX_DIGITS_ENV), &options->digits) < 0)
		misunderstood(notices, NVTX_DIGITS_ENV, by_default);
	if (window_options_parse(text_of(WINDOW_OPTIONS_ENV), &options->window) < 0)
		misunderstood(notices, WINDOW_OPTIONS_ENV, "the whole run is captured");
	if (collectives_option_parse(text_of(COLLECTIVES_OPTION_ENV), &options->collectives) < 0)
		misunderstood(notices, COLLECTIVES_OPTION_ENV, by_default);
	if (meter_option_parse(text_of(METER_OPTION_ENV), &options->meter_full) < 0)
		misunderstood(notices, METER_OPTION_ENV, by_default);
	if (cost_option_parse(text_of(COST_OPTION_ENV), &options->max_cost) < 0)
		misunderstood(notices, COST_OPTION_ENV, "there is no limit");
	if (sample_option_parse(text_of(SAMPLE_OPTION_ENV), &options->sample_rate) < 0)
		misunderstood(notices, SAMPLE_OPTION_ENV, "there are no exact windows");
	if (options->sample_rate)
		options->record |= RECORD_OPTION_STALLS;
	if (metric_options_parse(text_of(METRIC_OPTIONS_ENV), &options->metrics) < 0)
		misunderstood(notices, METRIC_OPTIONS_ENV, "no launch is measured");
	if (options->metrics.nr_names)
		options->record |= RECORD_OPTION_METRICS;
	if (options->metrics.are_ranges)
		options->record |= RECORD_OPTION_NVTX;
	options->api = text_of(API_OPTIONS_ENV);
	/* A user who attaches begins the capture by a command, when all is ready. */
	if (self.from_file)
		options->window.dormant = true;
}

bool guest_options_may_want_collectives(void)
{
	bool on;

	collectives_option_parse(getenv(COLLECTIVES_OPTION_ENV), &on);
	return on;
}

bool guest_options_want_dormant(void)
{
	struct window_options window;

	return window_options_parse(getenv(WINDOW_OPTIONS_ENV), &window) == 0 && window.dormant;
}
