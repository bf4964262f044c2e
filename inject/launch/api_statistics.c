#include "api_statistics.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "api_select.h"
#include "api_thread.h"
#include "launch_thread.h"

#include "inject/base/definition_writer.h"
#include "inject/base/launch_word.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"
#include "proto/options/api_options.h"
#include "proto/ring/record_ring.h"

#define FAILURES_MAX    1024u      /* pairs of function and error in one process */
#define TRY_INTERVAL_NS 100000000u /* between two attempts of a thread to get a table */
/* CUDA_ERROR_NOT_READY, cudaErrorNotReady: CUDA itself calls it an answer and no error */
#define NOT_READY 600

struct sum {
	struct api_snapshot ended; /* sums of ended threads */
	struct api_snapshot all;
	uint64_t said; /* the count that was defined last */
};

struct failure {
	uint32_t row, error;
	uint64_t ended, all, said;
};

LAUNCH_WORD bool api_statistics_on;

static struct {
	struct record_ring *ring;
	struct api_select select;
	struct sum sums[API_SELECT_ROWS]; /* only the helper thread uses this and the rest */
	struct failure failures[FAILURES_MAX];
	uint32_t nr_failures;
} self;

static void lose(uint64_t count)
{
	record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_STATISTIC_LOST, count, 0);
}

static void refuse(struct definition_writer *definitions, const char *list, const char *why)
{
	definition_writer_notice(definitions, NOTICE_STACKS_OPTION, 0,
				 "--api %.200s: %s: no API calls are counted", list, why);
}

void api_statistics_init(struct record_ring *ring, const struct cupti_library *library,
			 const char *list, uint32_t record, struct definition_writer *definitions)
{
	api_statistics_on = false;
	memset(&self, 0, sizeof(self));
	self.ring = ring;
	if (!list || *list == '\0')
		return;
	if (api_options_check(list) < 0)
		refuse(definitions, list, "not understood");
	else if (!library->get_callback_name)
		refuse(definitions, list, "this CUPTI does not say what functions are called");
	else if (api_select_init(&self.select, library, list, record) == 0)
		refuse(definitions, list, "CUPTI knows no such function");
	else
		api_statistics_on = true;
}

void api_statistics_enable(const struct cupti_library *library, void *subscriber, uint32_t enable)
{
	if (api_statistics_on)
		api_select_enable(&self.select, library, subscriber, enable);
}

/* Returns the calling thread's table, which its first call makes. NULL: the thread is ignored (*lost is false), or
 * there is no room (*lost is true). */
static struct api_thread *own_table(uint64_t now_ns, bool *lost)
{
	struct launch_thread *thread = launch_thread_here(self.ring);

	*lost = false;
	if (__builtin_expect(thread && thread->api, 1))
		return thread->api;
	if (thread && now_ns >= thread->next_api_ns) {
		thread->api = api_thread_take();
		thread->next_api_ns = now_ns + TRY_INTERVAL_NS;
	}
	*lost = thread ? !thread->api : !launch_thread_is_ignored();
	return thread ? thread->api : NULL;
}

void api_statistics_enter(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *call)
{
	uint32_t row = api_select_row(&self.select, domain, cbid);
	uint64_t now_ns;
	bool lost;

	if (row == API_SELECT_NONE)
		return;
	now_ns = monotonic_ns();
	struct api_thread *thread = own_table(now_ns, &lost);
	if (thread)
		api_thread_enter(thread, row, call->correlation_id, now_ns);
}

void api_statistics_exit(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *call)
{
	uint32_t row = api_select_row(&self.select, domain, cbid);
	int result = call->return_value ? *call->return_value : 0;
	uint64_t now_ns, start_ns;
	bool lost;

	if (row == API_SELECT_NONE)
		return;
	now_ns = monotonic_ns();
	struct api_thread *thread = own_table(now_ns, &lost);
	if (lost)
		lose(1);
	/* A call that began before its function was selected has no time, and does not count. */
	if (!thread || !api_thread_leave(thread, row, call->correlation_id, &start_ns))
		return;
	if (!api_thread_count(thread, row, now_ns - start_ns,
			      result == NOT_READY ? 0 : (uint32_t)result))
		lose(1);
}

bool api_statistics_is_launch(uint32_t cbid)
{
	return api_select_is_launch(&self.select, cbid);
}

static void add(struct api_snapshot *to, const struct api_snapshot *from)
{
	if (from->count == 0)
		return;
	if (to->count == 0 || from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->count += from->count;
	to->total_ns += from->total_ns;
	to->errors += from->errors;
}

static struct failure *find_failure(uint32_t row, uint32_t error)
{
	for (uint32_t i = 0; i < self.nr_failures; i++)
		if (self.failures[i].row == row && self.failures[i].error == error)
			return &self.failures[i];
	if (self.nr_failures == FAILURES_MAX)
		return NULL;
	self.failures[self.nr_failures] = (struct failure){.row = row, .error = error};
	return &self.failures[self.nr_failures++];
}

static void add_failures(const struct api_thread *thread, bool ended)
{
	for (uint32_t i = 0; i < API_THREAD_FAILURES; i++) {
		uint64_t key = atomic_load_explicit(&thread->failures[i].key, memory_order_acquire);
		uint64_t count =
			atomic_load_explicit(&thread->failures[i].count, memory_order_relaxed);

		if (key == 0)
			continue;
		struct failure *failure = find_failure((uint32_t)(key >> 32) - 1, (uint32_t)key);
		if (!failure && ended)
			lose(count);
		if (!failure)
			continue;
		failure->all += count;
		if (ended)
			failure->ended += count;
	}
}

static void add_thread(const struct api_thread *thread, bool ended)
{
	uint32_t nr_used = atomic_load_explicit(&thread->nr_used, memory_order_acquire);

	for (uint32_t i = 0; i < nr_used; i++) {
		struct sum *sum = &self.sums[thread->used[i]];
		struct api_snapshot snapshot;

		api_thread_read(thread, thread->used[i], &snapshot);
		add(&sum->all, &snapshot);
		if (ended)
			add(&sum->ended, &snapshot);
	}
	add_failures(thread, ended);
}

static void sum_up(void)
{
	for (uint32_t i = 0; i < self.select.nr_functions; i++)
		self.sums[i].all = self.sums[i].ended;
	for (uint32_t i = 0; i < self.nr_failures; i++)
		self.failures[i].all = self.failures[i].ended;
	for (struct api_thread *thread = api_thread_first(); thread; thread = thread->next) {
		uint32_t state = atomic_load_explicit(&thread->state, memory_order_acquire);

		if (state == API_THREAD_FREE)
			continue;
		add_thread(thread, state == API_THREAD_ENDED);
		if (state == API_THREAD_ENDED)
			api_thread_free(thread);
	}
}

static bool define(struct definition_writer *definitions, uint32_t row, uint32_t error,
		   const struct api_snapshot *sum)
{
	const struct api_function *function = &self.select.functions[row];
	const struct definition_api_statistic head = {
		.domain = function->domain,
		.cbid = function->cbid,
		.error = error,
		.count = sum->count,
		.total_ns = sum->total_ns,
		.min_ns = sum->min_ns,
		.max_ns = sum->max_ns,
		.errors = sum->errors,
	};

	return definition_writer_put(definitions, DEFINITION_API_STATISTIC, &head, sizeof(head),
				     function->name, function->name_size);
}

void api_statistics_publish(struct definition_writer *definitions, bool last)
{
	if (!api_statistics_on)
		return;
	sum_up();
	for (uint32_t i = 0; i < self.select.nr_functions; i++) {
		struct sum *sum = &self.sums[i];

		if (sum->all.count == sum->said)
			continue;
		if (define(definitions, i, 0, &sum->all))
			sum->said = sum->all.count;
		else if (last)
			lose(sum->all.count - sum->said);
	}
	for (uint32_t i = 0; i < self.nr_failures; i++) {
		struct failure *failure = &self.failures[i];

		if (failure->all == failure->said)
			continue;
		if (define(definitions, failure->row, failure->error,
			   &(struct api_snapshot){.count = failure->all}))
			failure->said = failure->all;
		else if (last)
			lose(failure->all - failure->said);
	}
}
