#include "window_absence.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "proto/absence.h"

#define NS_PER_MS 1000000u
#define NAMES_MAX 6u /* NVTX ranges that a notice names if the wanted one never came */

static bool was_seen(const struct window_options *options, const struct window_absence_facts *facts)
{
	for (uint32_t i = 0; i < facts->nr_names; i++)
		if (strcmp(facts->names[i], options->range_name) == 0)
			return true;
	return false;
}

static void add(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s", more);
}

static void add_seen(const struct window_absence_facts *facts, char *text, size_t size)
{
	if (facts->nr_names == 0) {
		add(text, size, " (it opened no NVTX range at all)");
		return;
	}
	add(text, size, " (it opened: ");
	for (uint32_t i = 0; i < facts->nr_names; i++) {
		add(text, size, i ? ", " : "");
		add(text, size, facts->names[i]);
	}
	add(text, size, ")");
}

static void tell_range(const struct window_options *options,
		       const struct window_absence_facts *facts, char *text, size_t size)
{
	bool is_profiler = options->range == WINDOW_RANGE_PROFILER;

	if (options->every > 1 && (is_profiler ? facts->nr_starts > 0 : was_seen(options, facts))) {
		snprintf(text, size,
			 ABSENCE_CHOSEN "the process ended before its step %u (--every-steps%s)",
			 options->every,
			 is_profiler
				 ? " counts calls of cudaProfilerStart; with --step-range NAME, "
				   "ranges"
				 : "");
		return;
	}
	if (is_profiler)
		snprintf(text, size, ABSENCE_CHOSEN "cudaProfilerStart was never called (%s)",
			 options->every > 1 ? "--every-steps counts its calls"
					    : "--capture-range profiler");
	if (options->range == WINDOW_RANGE_CONTROL)
		snprintf(text, size,
			 ABSENCE_CHOSEN "flamegrid control start was not given before the process "
					"ended");
	if (options->range != WINDOW_RANGE_NVTX)
		return;
	snprintf(text, size, ABSENCE_CHOSEN "the NVTX range '%s' was never entered",
		 options->range_name);
	add_seen(facts, text, size);
}

const char *window_absence_text(const struct window_options *options,
				const struct window_absence_facts *facts, char *text, size_t size)
{
	*text = '\0';
	if (options->from_ns > facts->now_ns)
		snprintf(text, size,
			 ABSENCE_CHOSEN
			 "the process ended %llu ms before its capture was to begin: "
			 "a shorter --delay catches it",
			 (unsigned long long)((options->from_ns - facts->now_ns) / NS_PER_MS));
	else if (options->range != WINDOW_RANGE_NONE)
		tell_range(options, facts, text, size);
	else if (options->until_ns)
		snprintf(text, size,
			 ABSENCE_CHOSEN
			 "the time to capture (--duration) was over when the process "
			 "began");
	else if (options->period_ns)
		snprintf(text, size,
			 ABSENCE_CHOSEN
			 "the process began and ended between two windows of --duty: "
			 "a shorter period catches it");
	return *text ? text : NULL;
}

void window_absence_say(const struct window_options *options, uint64_t nr_starts,
			struct definition_writer *definitions)
{
	const char *names[NAMES_MAX];
	struct window_absence_facts facts = {
		.now_ns = realtime_ns(), .names = names, .nr_starts = nr_starts};
	char texts[NAMES_MAX][NVTX_TEXT_MAX + 1], line[WINDOW_ABSENCE_SIZE];

	for (; facts.nr_names < NAMES_MAX; facts.nr_names++) {
		names[facts.nr_names] = texts[facts.nr_names];
		if (!nvtx_ranges_name(facts.nr_names + 1, texts[facts.nr_names]))
			break;
	}
	if (window_absence_text(options, &facts, line, sizeof(line)))
		definition_writer_notice(definitions, NOTICE_NOT_CAPTURED, 0, "%s", line);
}
