#include "conformance_ranges.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "conformance_call.h"
#include "conformance_checks.h"
#include "conformance_cuda.h"
#include "conformance_log.h"

#include "inject/cupti/metrics_library.h"
#include "inject/metrics/metrics_session.h"

#define METRIC             "sm__inst_executed.sum"
#define TURNS              1000u
#define GRAPH_TURNS        100u
#define OWN_MOST           4000 /* instructions of CUPTI's own kernel */
#define MODE_GLOBAL        0
#define MODE_RELAXED       2
#define EVENT_WITHOUT_TIME 2u
#define NOT_READY          600

/* In this order. */
enum range {
	RANGE_FIRST,
	RANGE_SECOND,
	RANGE_THIRD,
	RANGE_GRAPH,
	RANGE_ALL,       /* a copy, all three, with a wait in between, on two streams */
	RANGE_WITH_IT,   /* the first and the graph */
	RANGE_EMPTY,     /* a copy */
	RANGE_THREADS,   /* the first two, by two threads */
	RANGE_ELSEWHERE, /* the first, closed by another thread */
	RANGE_CAPTURED,  /* the first, with a capture of the second while the range is open */
	RANGES,
};

struct state {
	const struct ranges_subject *subject;
	struct metrics_library library;
	struct metrics_session session;
	void *streams[2];
	void *exec;
};

static void launch(const struct state *state, uint32_t kernel, uint32_t turns, void *stream)
{
	device_address out = state->subject->memory;
	void *params[] = {&out, &turns};

	CALL(cuLaunchKernel, state->subject->functions[kernel], 4, 1, 1, 64, 1, 1, 0, stream,
	     params, NULL);
}

static void copy(const struct state *state)
{
	CALL(cuMemcpyDtoDAsync_v2, state->subject->memory + state->subject->bytes,
	     state->subject->memory, state->subject->bytes, state->streams[0]);
}

static void push(struct state *state)
{
	CALL(metrics_session_push, &state->session, &state->library);
}

static void pop(struct state *state)
{
	CALL(metrics_session_pop, &state->session, &state->library);
}

static void build_graph(struct state *state)
{
	void *graph = NULL;

	CALL(cuStreamBeginCapture_v2, state->streams[0], MODE_RELAXED);
	launch(state, 1, GRAPH_TURNS, state->streams[0]);
	launch(state, 2, GRAPH_TURNS, state->streams[0]);
	CALL(cuStreamEndCapture, state->streams[0], &graph);
	CALL(cuGraphInstantiateWithFlags, &state->exec, graph, 0);
	CALL(cuGraphDestroy, graph);
}

static void *launch_second(void *of)
{
	const struct state *state = of;

	CALL(cuCtxSetCurrent, state->subject->context);
	launch(state, 1, TURNS, state->streams[1]);
	return NULL;
}

static void *pop_here(void *of)
{
	pop(of);
	return NULL;
}

static void run_on_thread(void *(*function)(void *of), void *of)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, of) == 0)
		pthread_join(thread, NULL);
}

/* An event behind a context's work, which drivers have from 555 on. */
struct context_event {
	int (*record)(void *context, void *event);
	void *context, *event;
	int result;
};

static void *record_here(void *of)
{
	struct context_event *event = of;

	event->result = event->record(event->context, event->event);
	return NULL;
}

/* Records it on a thread that has no context of its own: such a thread may have to give up a range. */
static bool record_elsewhere(struct context_event *event)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	void *symbol = driver ? dlsym(driver, "cuCtxRecordEvent") : NULL;

	if (!symbol) {
		fact("no event can be recorded behind a context's work");
		return false;
	}
	memcpy(&event->record, &symbol, sizeof(event->record));
	CALL(cuEventCreate, &event->event, EVENT_WITHOUT_TIME);
	run_on_thread(record_here, event);
	check(event->result == 0,
	      "a thread without a context records an event behind a context's work (%d)",
	      event->result);
	return event->result == 0;
}

/* It ends without a wait. */
static void await(const struct context_event *event)
{
	int result;

	while ((result = cuEventQuery(event->event)) == NOT_READY)
		;
	check(result == 0, "an event behind the context's work ends (%d)", result);
}

/* As where a range is given up, because a thread begins a capture while the range's work runs. */
static void run_captured(struct state *state)
{
	struct context_event event = {.context = state->subject->context};
	void *graph = NULL, *exec = NULL;

	push(state);
	launch(state, 0, TURNS, state->streams[0]);
	const bool is_recorded = record_elsewhere(&event);
	CALL(cuStreamBeginCapture_v2, state->streams[1], MODE_GLOBAL);
	launch(state, 1, TURNS, state->streams[1]);
	CALL(cuStreamEndCapture, state->streams[1], &graph);
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	CALL(cuGraphDestroy, graph);
	if (is_recorded)
		await(&event);
	else
		CALL(cuCtxSynchronize);
	pop(state);
	if (event.event)
		CALL(cuEventDestroy_v2, event.event);
	CALL(cuGraphExecDestroy, exec);
}

static void run_ranges(struct state *state)
{
	for (uint32_t kernel = 0; kernel < RANGES_KERNELS; kernel++) {
		push(state);
		launch(state, kernel, TURNS, state->streams[0]);
		pop(state);
	}
	push(state);
	CALL(cuGraphLaunch, state->exec, state->streams[0]);
	pop(state);
	push(state);
	copy(state);
	launch(state, 0, TURNS, state->streams[0]);
	CALL(cuCtxSynchronize);
	launch(state, 1, TURNS, state->streams[1]);
	launch(state, 2, TURNS, state->streams[0]);
	pop(state);
	launch(state, 2, TURNS, state->streams[0]); /* between ranges nothing counts */
	push(state);
	launch(state, 0, TURNS, state->streams[0]);
	CALL(cuGraphLaunch, state->exec, state->streams[0]);
	pop(state);
	push(state);
	copy(state);
	pop(state);
	push(state);
	launch(state, 0, TURNS, state->streams[0]);
	run_on_thread(launch_second, state);
	pop(state);
	push(state);
	launch(state, 0, TURNS, state->streams[0]);
	run_on_thread(pop_here, state);
	run_captured(state);
}

/* CUPTI's own kernel of a range may count in it: that was so on an H200 where the host waited, or copied. */
static void check_sum(const double values[RANGES], enum range range, double sum, const char *what)
{
	const double own = values[RANGE_EMPTY];

	check(values[range] == sum || values[range] == sum + own, "%s: %.0f instructions, of %.0f",
	      what, values[range], sum);
}

static void check_values(struct state *state)
{
	struct metrics_session *session = &state->session;
	double values[RANGES] = {0}, one[METRIC_OPTIONS_MAX];
	uint32_t nr = 0;

	CALL(metrics_session_look, session, &state->library, &nr);
	check(nr == RANGES, "each user range has counters (%u of %u)", nr, RANGES);
	for (uint32_t i = 0; i < nr && i < RANGES; i++) {
		CALL(metrics_config_evaluate, &session->config, &state->library, session->counters,
		     session->counters_size, i, one);
		values[i] = one[0];
	}
	check(values[RANGE_FIRST] > 0 && values[RANGE_GRAPH] > 0,
	      "a kernel and a graph have counters (%.0f, %.0f)", values[RANGE_FIRST],
	      values[RANGE_GRAPH]);
	const double first = values[RANGE_FIRST], second = values[RANGE_SECOND];
	check_sum(values, RANGE_ALL, first + second + values[RANGE_THIRD],
		  "a range of three kernels, with a wait, is their sum");
	check_sum(values, RANGE_WITH_IT, first + values[RANGE_GRAPH],
		  "a range of a kernel and a graph is their sum");
	check(values[RANGE_EMPTY] <= OWN_MOST,
	      "a range of a copy has no kernel's but CUPTI's: %.0f instructions",
	      values[RANGE_EMPTY]);
	check_sum(values, RANGE_THREADS, first + second,
		  "a range has what another thread launches");
	check_sum(values, RANGE_ELSEWHERE, first, "another thread may close a range");
	check_sum(values, RANGE_CAPTURED, first, "a stream may be captured in an open range");
}

/* There are 12 launches, one of which is between ranges; the graph's two ran twice. CUPTI's own kernels have other names. */
static void check_records(void)
{
	const struct conformance_log log = conformance_log_read();
	uint32_t nr = 0, nr_others = 0;

	for (uint32_t i = 0; i < log.nr_records; i++) {
		if (log.records[i].kind != KIND_KERNEL)
			continue;
		if (strncmp(log.records[i].name, "conformance_", 12) == 0)
			nr++;
		else
			nr_others++;
	}
	check(nr == 16, "kernels in ranges have their records (%u of 16)", nr);
	fact("CUPTI ran %u kernels of its own for %u ranges", nr_others, RANGES);
}

void conformance_ranges_run(const struct ranges_subject *subject)
{
	struct metric_options options = {.are_ranges = true};
	struct state state = {.subject = subject};

	metrics_library_resolve(subject->cupti, &state.library);
	metric_options_add(&options, METRIC);
	CALL(cuCtxSetCurrent, subject->context);
	CALL(cuCtxSynchronize);
	int result = metrics_session_begin(&state.session, &state.library, subject->context,
					   subject->device_id, &options);
	if (result != 0) {
		fact("the GPU's counters cannot be used here (%d)", result);
		return;
	}
	for (int i = 0; i < 2; i++)
		CALL(cuStreamCreate, &state.streams[i], 0);
	build_graph(&state);
	CALL(conformance_log_flush);
	conformance_log_clear();
	run_ranges(&state);
	check_values(&state);
	metrics_session_end(&state.session, &state.library, false);
	CALL(cuCtxSynchronize);
	CALL(conformance_log_flush);
	check_records();
	CALL(cuGraphExecDestroy, state.exec);
}
