#include "timeline_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/collective_log.h"
#include "base/array.h"

#define EARLY_NS                                                                                   \
	1000000u /* by so much a kernel may seem to begin before its call: two clocks are compared */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_thread(const void *a, const void *b)
{
	const struct timeline_call *left = a, *right = b;
	int order = COMPARE(left->process_id, right->process_id);

	order = order ? order : COMPARE(left->tid, right->tid);
	order = order ? order : COMPARE(left->begin_ns, right->begin_ns);
	return order ? order : COMPARE(right->end_ns, left->end_ns); /* a group before its calls */
}

static int by_collective(const void *a, const void *b)
{
	const struct timeline_call *left = *(struct timeline_call *const *)a;
	const struct timeline_call *right = *(struct timeline_call *const *)b;
	int order = COMPARE(left->key, right->key);

	order = order ? order : COMPARE(left->sequence, right->sequence);
	return order ? order : COMPARE(left->process_id, right->process_id);
}

/* Numbers of sends and receives are each rank's own. */
static bool is_numbered(const struct collective *call)
{
	return call->sequence && call->function != COLLECTIVE_SEND &&
	       call->function != COLLECTIVE_RECV && call->function != COLLECTIVE_GROUP;
}

static int add_call(struct timeline_calls *calls, struct timeline_source *source,
		    const struct timeline_request *request, const struct collective_folds *folds,
		    const struct collective_log_call *from, const struct timeline_events *events)
{
	const struct collective *call = &from->call;
	struct timeline_call made = {
		.begin_ns = call->start_ns,
		.bytes = call->bytes,
		.process_id = from->process,
		.tid = call->tid,
		.correlation_id = call->correlation_id,
		.function = call->function,
	};

	if (!timeline_source_place(source, request, from->process, &made.begin_ns))
		return 0;
	made.end_ns = made.begin_ns + call->duration_ns;
	if (made.end_ns < events->from_ns || made.begin_ns >= events->to_ns)
		return 0;
	const struct communicator *end =
		is_numbered(call)
			? collective_folds_end(folds, from->process, call->communicator_id)
			: NULL;
	if (end && end->key) {
		made.key = end->key;
		made.sequence = call->sequence;
	}
	if (array_reserve(&calls->calls, &calls->room_calls, calls->nr_calls + 1ull, sizeof(made)))
		return -ENOMEM;
	calls->calls[calls->nr_calls++] = made;
	return 0;
}

/* ---- flows */

static int by_launch(const void *a, const void *b, void *work)
{
	const struct timeline_work *left =
		(const struct timeline_work *)work + *(const uint32_t *)a;
	const struct timeline_work *right =
		(const struct timeline_work *)work + *(const uint32_t *)b;
	int order = COMPARE(left->process_id, right->process_id);

	order = order ? order : COMPARE(left->correlation_id, right->correlation_id);
	return order ? order : COMPARE(left->start_ns, right->start_ns);
}

static bool is_before(const struct timeline_work *work, const struct timeline_call *call)
{
	if (work->process_id != call->process_id)
		return work->process_id < call->process_id;
	if (work->correlation_id != call->correlation_id)
		return work->correlation_id < call->correlation_id;
	return work->start_ns + EARLY_NS < call->begin_ns;
}

/* Marks the first kernel of the call's launch that begins behind the call. */
static void mark_kernel(struct timeline_events *events, const uint32_t *order,
			const struct timeline_call *call)
{
	uint32_t low = 0, high = events->nr_work;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (is_before(&events->work[order[middle]], call))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < events->nr_work; low++) {
		struct timeline_work *work = &events->work[order[low]];

		if (work->process_id != call->process_id ||
		    work->correlation_id != call->correlation_id)
			return;
		if (work->kind != RECORD_GPU_KERNEL)
			continue;
		if (!work->flow) /* of calls that share a kernel, the first one */
			work->flow = call->flow;
		return;
	}
}

/* Gives each collective of which two calls or more are here a flow. */
static void number_flows(struct timeline_call **list, uint32_t nr, struct timeline_events *events)
{
	for (uint32_t i = 0, end; i < nr; i = end) {
		for (end = i; end < nr && list[end]->key == list[i]->key &&
			      list[end]->sequence == list[i]->sequence;
		     end++)
			;
		if (end - i < 2 || !list[i]->key)
			continue;
		events->nr_flows++;
		for (uint32_t k = i; k < end; k++)
			list[k]->flow = events->nr_flows;
	}
}

static int add_flows(struct timeline_calls *calls, struct timeline_events *events)
{
	struct timeline_call **list = malloc((calls->nr_calls + 1ull) * sizeof(*list));
	uint32_t *order = malloc((events->nr_work + 1ull) * sizeof(*order));
	const int error = list && order ? 0 : -ENOMEM;

	if (!error) {
		for (uint32_t i = 0; i < calls->nr_calls; i++)
			list[i] = &calls->calls[i];
		qsort(list, calls->nr_calls, sizeof(*list), by_collective);
		number_flows(list, calls->nr_calls, events);
		for (uint32_t i = 0; i < events->nr_work; i++)
			order[i] = i;
		qsort_r(order, events->nr_work, sizeof(*order), by_launch, events->work);
		for (uint32_t i = 0; i < calls->nr_calls; i++)
			if (calls->calls[i].flow && calls->calls[i].correlation_id)
				mark_kernel(events, order, &calls->calls[i]);
	}
	free(list);
	free(order);
	return error;
}

int timeline_calls_init(struct timeline_calls *calls, struct timeline_source *source,
			const struct timeline_request *request,
			const struct collective_folds *folds, struct timeline_events *events)
{
	uint32_t count;
	const struct collective_log_call *from = collective_log_calls(folds->log, &count);
	int error = 0;

	*calls = (struct timeline_calls){0};
	for (uint32_t i = 0; i < count && !error; i++)
		error = add_call(calls, source, request, folds, &from[i], events);
	if (!error && calls->nr_calls) {
		qsort(calls->calls, calls->nr_calls, sizeof(*calls->calls), by_thread);
		error = add_flows(calls, events);
	}
	return error;
}

void timeline_calls_fini(struct timeline_calls *calls)
{
	free(calls->calls);
	*calls = (struct timeline_calls){0};
}
