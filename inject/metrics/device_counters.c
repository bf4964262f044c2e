#include "device_counters.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/cupti_refusal.h"
#include "proto/counter_sampling.h"

#define IDLE_NS       500000000u   /* after so long without work to measure, a look; */
#define LATE_NS       1000000000u  /* or so long after the first: a program may be killed; */
#define REST_NS       5000000000u  /* and the session's end, so that another context has its turn */
#define PASS_NS       100000000u   /* so long a measurement waits for the launch of its next pass */
#define RANGE_PASS_NS 60000000000u /* or for its next range: steps of a training may be long */
#define RETRY_NS      1000000000u
#define TRIES         5u /* of a context */

static struct {
	const struct cupti_library *library;
	struct definition_writer *definitions;
	const struct metric_options *options;
	atomic_bool have_begun;
} self;

static_assert(MEASUREMENTS_PARTS >= METRICS_SESSION_PASSES, "each pass is a part");

struct device_counters device_counters[RECORD_DEVICES_MAX];

void device_counters_init(const struct cupti_library *library,
			  struct definition_writer *definitions,
			  const struct metric_options *options)
{
	self.library = library;
	self.definitions = definitions;
	self.options = options;
	atomic_store(&self.have_begun, false);
	memset(device_counters, 0, sizeof(device_counters));
}

/* ---- ends and looks -------------------------------------------------------------------------- */

static void lose_all(struct device_counters *counters)
{
	for (uint32_t i = 0; i < counters->nr_ranges; i++)
		measurements_lose(counters->ranges[i]);
	counters->nr_ranges = 0;
	counters->key = 0;
}

void device_counters_end(struct device_counters *counters, bool is_gone)
{
	metrics_session_end(&counters->session, &self.library->metrics, is_gone);
	lose_all(counters);
	counters->context = NULL;
	counters->is_left_open = false;
}

static void refuse(struct device_counters *counters, int result)
{
	counters->tries++;
	counters->refusal = result;
	counters->retry_ns = monotonic_ns() + RETRY_NS;
	counters->is_refused = counters->tries == TRIES ||
			       cupti_refusal(result) == COUNTER_NO_RIGHT ||
			       !self.library->metrics.is_whole;
}

static int pop(struct device_counters *counters)
{
	int result = metrics_session_pop(&counters->session, &self.library->metrics);

	counters->used_ns = monotonic_ns();
	return result;
}

/* Keeps what was closed, with CUPTI's result. Returns whether it has all of its passes. */
static bool keep(struct device_counters *counters, int closed, enum device_counters_fate fate)
{
	struct metrics_session *session = &counters->session;
	const uint32_t number = device_counters_measurement(counters);
	const bool is_there = fate == DEVICE_COUNTERS_DONE || fate == DEVICE_COUNTERS_SHARED;

	if (fate == DEVICE_COUNTERS_SHARED)
		measurements_shared(number);
	else if (fate == DEVICE_COUNTERS_FAILED)
		measurements_failed(number);
	else if (fate == DEVICE_COUNTERS_CUT)
		measurements_give_up(number);
	if (!is_there)
		counters->ranges[counters->nr_ranges - 1] = MEASUREMENTS_NONE;
	if (closed != CUPTI_ABI_SUCCESS) {
		device_counters_end(counters, false);
		refuse(counters, closed);
		return false;
	}
	const bool is_full = metrics_session_is_full(session);
	const bool is_whole = is_there && (session->config.nr_passes == 1 || is_full);
	if (is_full || (!is_there && session->config.nr_passes > 1))
		device_counters_look(counters);
	return is_whole;
}

static void close_left_open(struct device_counters *counters)
{
	if (!counters->is_left_open)
		return;
	counters->is_left_open = false;
	keep(counters, pop(counters), DEVICE_COUNTERS_CUT);
}

void device_counters_look(struct device_counters *counters)
{
	const struct metrics_session *session = &counters->session;

	close_left_open(counters);
	if (!counters->context)
		return;
	const bool is_part = session->config.nr_passes > 1 && !metrics_session_is_full(session);
	double values[METRIC_OPTIONS_MAX];
	uint32_t nr_ranges;
	int result = metrics_session_look(&counters->session, &self.library->metrics, &nr_ranges);

	for (uint32_t i = 0; i < nr_ranges && i < counters->nr_ranges; i++) {
		if (metrics_config_evaluate(&session->config, &self.library->metrics,
					    session->counters, session->counters_size, i,
					    values) == CUPTI_ABI_SUCCESS)
			measurements_values(counters->ranges[i], counters->numbers, values,
					    session->config.nr_names);
	}
	/* Those that got no values; for the others it is nothing. */
	for (uint32_t i = nr_ranges; i < counters->nr_ranges; i++) {
		if (is_part && result == CUPTI_ABI_SUCCESS)
			measurements_give_up(counters->ranges[i]);
		else
			measurements_lose(counters->ranges[i]);
	}
	counters->nr_ranges = 0;
	counters->key = 0;
	if (result != CUPTI_ABI_SUCCESS) {
		device_counters_end(counters, false);
		counters->refusal = result;
		counters->is_refused = true;
	}
}

/* ---- work to be measured --------------------------------------------------------------------- */

/* Returns whether the context is being measured from now on. */
static bool begin(struct device_counters *counters, uint32_t device_id, void *context)
{
	struct metrics_session *session = &counters->session;

	if (counters->is_refused || (counters->tries && monotonic_ns() < counters->retry_ns))
		return false;
	int result = metrics_session_begin(session, &self.library->metrics, context, device_id,
					   self.options);
	if (result != CUPTI_ABI_SUCCESS) {
		refuse(counters, result);
		return false;
	}
	counters->context = context;
	atomic_store(&self.have_begun, true);
	counters->tries = 0;
	for (uint32_t i = 0, k = 0; i < self.options->nr_names; i++)
		if (!(session->config.unknown >> i & 1))
			counters->numbers[k++] = i;
	return true;
}

bool device_counters_have_begun(void)
{
	return atomic_load(&self.have_begun);
}

bool device_counters_claim(struct device_counters *counters, void *context)
{
	if (!context)
		return false;
	if (counters->context == context ||
	    (!counters->context && begin(counters, device_counters_number(counters), context)))
		return true;
	counters->other_context |= counters->context != NULL;
	return false;
}

static uint64_t pass_ns(void)
{
	return self.options->are_ranges ? RANGE_PASS_NS : PASS_NS;
}

bool device_counters_take_pass(struct device_counters *counters, uint64_t key, bool is_first)
{
	if (counters->session.config.nr_passes == 1 || counters->key == key)
		return true;
	if (counters->key && monotonic_ns() - counters->used_ns >= pass_ns())
		device_counters_look(counters);
	return !is_first && counters->context && !counters->key;
}

bool device_counters_open(struct device_counters *counters, const struct metric_subject *subject,
			  uint64_t key, uint32_t correlation_id)
{
	struct metrics_session *session = &counters->session;

	close_left_open(counters);
	if (!counters->context)
		return false;
	/* With several passes the key tells configurations apart, which the table does not. */
	if (counters->nr_ranges == 0 || session->config.nr_passes == 1) {
		struct metric_subject whole = *subject;

		whole.device_id = device_counters_number(counters);
		whole.nr_passes = session->config.nr_passes;
		const uint32_t number = measurements_begin(&whole);
		if (number == MEASUREMENTS_NONE)
			return false;
		if (counters->nr_ranges == 0)
			counters->first_ns = monotonic_ns();
		counters->ranges[counters->nr_ranges++] = number;
		counters->key = key;
	}
	measurements_launch(device_counters_measurement(counters), correlation_id, monotonic_ns());
	int result = metrics_session_push(session, &self.library->metrics);
	if (result == CUPTI_ABI_SUCCESS)
		return true;
	measurements_failed(device_counters_measurement(counters));
	counters->ranges[counters->nr_ranges - 1] = MEASUREMENTS_NONE;
	device_counters_end(counters, false);
	refuse(counters, result);
	return false;
}

bool device_counters_close(struct device_counters *counters,
			   const struct device_launches_mark *beside, uint64_t nr_own,
			   enum device_counters_fate fate)
{
	const int closed = pop(counters);

	measurements_end(device_counters_measurement(counters), realtime_ns());
	/* What was launched until then is counted with it. */
	if (fate == DEVICE_COUNTERS_DONE && device_launches_were_shared(beside, nr_own))
		fate = DEVICE_COUNTERS_SHARED;
	return keep(counters, closed, fate);
}

void device_counters_leave_open(struct device_counters *counters)
{
	measurements_give_up(device_counters_measurement(counters));
	counters->ranges[counters->nr_ranges - 1] = MEASUREMENTS_NONE;
	counters->key = 0;
	counters->is_left_open = true;
}

void device_counters_rest(struct device_counters *counters, uint64_t now_ns, bool last)
{
	const uint64_t idle_ns = now_ns > counters->used_ns ? now_ns - counters->used_ns : 0;
	const bool is_part = counters->session.config.nr_passes > 1;
	const uint64_t rest_ns = is_part && self.options->are_ranges ? RANGE_PASS_NS : REST_NS;

	if (!counters->context)
		return;
	const bool is_late =
		counters->nr_ranges && !is_part && now_ns > counters->first_ns + LATE_NS;
	if (last || is_late || idle_ns >= (is_part ? rest_ns : IDLE_NS))
		device_counters_look(counters);
	if (counters->context && (last || idle_ns >= rest_ns))
		device_counters_end(counters, false);
}

/* ---- notices --------------------------------------------------------------------------------- */

static const char *what(void)
{
	return self.options->are_ranges ? "ranges" : "kernels";
}

static void say_unknown(struct device_counters *counters)
{
	const uint64_t unknown = counters->session.config.unknown;

	if (!unknown || counters->is_unknown_said)
		return;
	counters->is_unknown_said = true;
	for (uint32_t i = 0; i < self.options->nr_names; i++)
		if (unknown >> i & 1)
			definition_writer_notice(
				self.definitions, NOTICE_NO_KERNEL_METRICS, 0,
				"%s of CUDA device %u are not measured by %s: CUPTI knows no "
				"such metric for it (flamegrid metrics lists them)",
				what(), device_counters_number(counters), self.options->names[i]);
}

static const char *why(const struct device_counters *counters, int result)
{
	const uint32_t refusal = cupti_refusal(result);

	if (refusal == COUNTER_NO_RIGHT || refusal == COUNTER_VIRTUAL)
		return cupti_refusal_text(result);
	if (refusal == COUNTER_NOT_SUPPORTED || !self.library->metrics.is_whole)
		return "this CUPTI or this GPU does not support it, or the metrics take too many "
		       "passes";
	return counters->session.config.unknown ? "CUPTI knows none of the metrics for it"
						: cupti_refusal_text(result);
}

static void say_refusal(struct device_counters *counters, bool last)
{
	const int result = counters->refusal;

	if (!(counters->is_refused || (last && counters->tries)) || result == CUPTI_ABI_SUCCESS)
		return;
	counters->refusal = CUPTI_ABI_SUCCESS;
	definition_writer_notice(self.definitions, NOTICE_NO_KERNEL_METRICS, result,
				 "%s of CUDA device %u are not measured (CUPTI's error %d): "
				 "%s",
				 what(), device_counters_number(counters), result,
				 why(counters, result));
}

void device_counters_say(struct device_counters *counters, bool last)
{
	say_unknown(counters);
	say_refusal(counters, last);
	if (counters->other_context && !counters->other_said) {
		counters->other_said = true;
		definition_writer_notice(
			self.definitions, NOTICE_NO_KERNEL_METRICS, 0,
			"%s of a further context of CUDA device %u are not measured while the "
			"first one's are: CUPTI measures one context of a GPU at a time",
			what(), device_counters_number(counters));
	}
}
