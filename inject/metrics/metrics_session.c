#include "metrics_session.h"

#include <stdio.h>
#include <sys/mman.h>

#include "inject/cupti/cupti_abi.h"
#include "inject/cupti/cupti_host_part.h"
#include "inject/cupti/metrics_library.h"

#define OUT_OF_MEMORY 8 /* CUptiResult */

static void *map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static uint32_t ranges_of(const struct metrics_session *session)
{
	return session->config.nr_passes > 1 ? 1 : METRICS_SESSION_RANGES;
}

/* Without the image CUPTI assumes that the context's counters are all there. */
static int configure(struct metrics_session *session, const struct metrics_library *library,
		     void *context, const char *chip, const struct metric_options *options)
{
	struct metrics_availability ask = {.size = sizeof(ask), .context = context};
	int result = library->call[METRICS_AVAILABILITY](&ask);

	if (result != CUPTI_ABI_SUCCESS)
		return result;
	const size_t room = ask.image_size;
	ask.image = room ? map(room) : NULL;
	if (!ask.image)
		return OUT_OF_MEMORY;
	result = library->call[METRICS_AVAILABILITY](&ask);
	if (result == CUPTI_ABI_SUCCESS)
		result = metrics_config_make(&session->config, library, chip, ask.image, options);
	munmap(ask.image, room);
	if (result == CUPTI_ABI_SUCCESS && session->config.nr_passes > METRICS_SESSION_PASSES)
		result = CUPTI_ABI_NOT_SUPPORTED;
	return result;
}

static int enable(struct metrics_session *session, const struct metrics_library *library,
		  void *context)
{
	struct metrics_enable call = {.size = sizeof(call), .context = context};
	int result = library->call[METRICS_ENABLE](&call);

	if (result != CUPTI_ABI_SUCCESS)
		return result;
	session->profiler = call.object;
	struct metrics_counters_size ask = {
		.size = METRICS_ABI_SIZE(struct metrics_counters_size, counters_size),
		.object = session->profiler,
		.names = session->config.names,
		.count = session->config.nr_names,
		.ranges = ranges_of(session),
		.nodes = ranges_of(session),
	};
	result = library->call[METRICS_COUNTERS_SIZE](&ask);
	if (result != CUPTI_ABI_SUCCESS)
		return result;
	session->counters = map(ask.counters_size);
	session->counters_size = ask.counters_size;
	return session->counters ? CUPTI_ABI_SUCCESS : OUT_OF_MEMORY;
}

int metrics_session_begin(struct metrics_session *session, const struct metrics_library *library,
			  void *context, uint32_t device_id, const struct metric_options *options)
{
	struct metrics_initialize initialize = {.size = sizeof(initialize)};
	struct metrics_chip chip = {.size = sizeof(chip), .device = device_id};
	int result;

	*session = (struct metrics_session){0};
	if (!library->is_whole)
		return CUPTI_ABI_NOT_SUPPORTED;
	cupti_host_part_map(library->call[METRICS_INITIALIZE]);
	result = library->call[METRICS_INITIALIZE](&initialize);
	if (result == CUPTI_ABI_SUCCESS)
		result = library->call[METRICS_CHIP](&chip);
	if (result == CUPTI_ABI_SUCCESS)
		result = configure(session, library, context, chip.name, options);
	if (result == CUPTI_ABI_SUCCESS)
		result = enable(session, library, context);
	if (result != CUPTI_ABI_SUCCESS)
		metrics_session_end(session, library, false);
	return result;
}

static int clear(struct metrics_session *session, const struct metrics_library *library)
{
	struct metrics_counters call = {.size = sizeof(call),
					.object = session->profiler,
					.counters_size = session->counters_size,
					.counters = session->counters};

	return library->call[METRICS_COUNTERS](&call);
}

static int call_plain(struct metrics_session *session, const struct metrics_library *library,
		      enum metrics_function function)
{
	struct metrics_call call = {.size = sizeof(call), .object = session->profiler};

	return library->call[function](&call);
}

static int start(struct metrics_session *session, const struct metrics_library *library)
{
	struct metrics_set set = {
		.size = METRICS_ABI_SIZE(struct metrics_set, target_level),
		.object = session->profiler,
		.config_size = session->config.image_size,
		.config = session->config.image,
		.counters_size = session->counters_size,
		.counters = session->counters,
		.range = METRICS_ABI_USER_RANGE,
		.replay = METRICS_ABI_USER_REPLAY,
		.ranges = ranges_of(session),
		.levels = 1,
		.lowest_level = 1,
		.pass = session->pass,
		.target_level = 1,
	};
	int result = session->pass == 0 ? clear(session, library) : CUPTI_ABI_SUCCESS;

	if (result == CUPTI_ABI_SUCCESS)
		result = library->call[METRICS_SET](&set);
	if (result == CUPTI_ABI_SUCCESS)
		result = call_plain(session, library, METRICS_START);
	if (result != CUPTI_ABI_SUCCESS)
		return result;
	session->is_started = true;
	if (session->pass == 0)
		session->nr_ranges = 0;
	return result;
}

static int stop(struct metrics_session *session, const struct metrics_library *library)
{
	struct metrics_stop call = {.size = METRICS_ABI_SIZE(struct metrics_stop, is_whole),
				    .object = session->profiler};

	session->is_started = false;
	return library->call[METRICS_STOP](&call);
}

int metrics_session_push(struct metrics_session *session, const struct metrics_library *library)
{
	char name[16];
	int result = session->is_started ? CUPTI_ABI_SUCCESS : start(session, library);

	if (result != CUPTI_ABI_SUCCESS)
		return result;
	/* The passes of a range have one name. */
	snprintf(name, sizeof(name), "%u", session->config.nr_passes > 1 ? 0 : session->nr_ranges);
	struct metrics_push call = {
		.size = sizeof(call), .object = session->profiler, .name = name};
	result = library->call[METRICS_PUSH](&call);
	session->is_open = result == CUPTI_ABI_SUCCESS;
	return result;
}

int metrics_session_pop(struct metrics_session *session, const struct metrics_library *library)
{
	int result = call_plain(session, library, METRICS_POP);

	session->is_open = false;
	if (session->pass == 0)
		session->nr_ranges++;
	if (session->config.nr_passes == 1 || result != CUPTI_ABI_SUCCESS)
		return result;
	session->pass++;
	return stop(session, library);
}

bool metrics_session_is_full(const struct metrics_session *session)
{
	return session->config.nr_passes > 1 ? session->pass == session->config.nr_passes
					     : session->nr_ranges == METRICS_SESSION_RANGES;
}

int metrics_session_look(struct metrics_session *session, const struct metrics_library *library,
			 uint32_t *nr_ranges)
{
	struct metrics_decode decode = {.size = sizeof(decode), .object = session->profiler};
	struct metrics_counted counted = {.size = sizeof(counted),
					  .counters = session->counters,
					  .counters_size = session->counters_size};
	const bool is_part = session->config.nr_passes > 1 && !metrics_session_is_full(session);
	int result = CUPTI_ABI_SUCCESS;

	*nr_ranges = 0;
	if (session->is_started)
		result = stop(session, library);
	session->pass = 0;
	if (result != CUPTI_ABI_SUCCESS || session->nr_ranges == 0)
		return result;
	result = library->call[METRICS_DECODE](&decode);
	if (result == CUPTI_ABI_SUCCESS && !is_part)
		result = library->call[METRICS_COUNTED](&counted);
	if (counted.ranges > session->nr_ranges)
		counted.ranges = session->nr_ranges;
	*nr_ranges = result == CUPTI_ABI_SUCCESS ? (uint32_t)counted.ranges : 0;
	session->nr_ranges = 0;
	return result;
}

void metrics_session_end(struct metrics_session *session, const struct metrics_library *library,
			 bool is_gone)
{
	if (session->profiler && !is_gone) {
		if (session->is_open)
			call_plain(session, library, METRICS_POP);
		if (session->is_started)
			stop(session, library);
		call_plain(session, library, METRICS_DISABLE);
	}
	if (session->counters)
		munmap(session->counters, session->counters_size);
	metrics_config_fini(&session->config, library);
	*session = (struct metrics_session){.config.unknown = session->config.unknown};
}
