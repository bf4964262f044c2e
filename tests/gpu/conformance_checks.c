#include "conformance_checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance_cuda.h"

#define THREADS_MAX 256u
#define DEPTH_MAX   16u
#define SLACK_NS    1000000u /* of the conversion from the device's clock */

static unsigned int nr_checks;
static int status;

void check(bool holds, const char *format, ...)
{
	va_list arguments;

	printf("%s %u - ", holds ? "ok" : "not ok", ++nr_checks);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	if (!holds)
		status = 1;
}

void fact(const char *format, ...)
{
	va_list arguments;

	printf("# fact: ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

int checks_status(void)
{
	return status;
}

static bool is_launch(const struct call_entry *call)
{
	return call->domain == DOMAIN_DRIVER && call->cbid == CBID_LAUNCH_KERNEL;
}

void checks_callbacks(const struct conformance_log *log)
{
	static struct {
		uint32_t depth, last_launch;
		struct call_entry open[DEPTH_MAX];
	} threads[THREADS_MAX];
	uint32_t unpaired = 0, lone = 0, falling = 0, deepest = 0;

	memset(threads, 0, sizeof(threads));
	for (uint32_t i = 0; i < log->nr_calls; i++) {
		const struct call_entry *call = &log->calls[i];
		uint32_t t = call->thread % THREADS_MAX;

		if (call->site == SITE_ENTER) {
			if (threads[t].depth == DEPTH_MAX) {
				unpaired++;
				continue;
			}
			threads[t].open[threads[t].depth++] = *call;
			if (threads[t].depth > deepest)
				deepest = threads[t].depth;
			if (is_launch(call)) {
				falling += call->correlation_id <= threads[t].last_launch;
				threads[t].last_launch = call->correlation_id;
			}
			continue;
		}
		if (threads[t].depth == 0) {
			/* Enabled in between: cuInit may only return to us. */
			lone += !is_launch(call);
			unpaired += is_launch(call);
			continue;
		}
		const struct call_entry *enter = &threads[t].open[--threads[t].depth];
		unpaired +=
			enter->cbid != call->cbid || enter->correlation_id != call->correlation_id;
	}
	for (uint32_t t = 0; t < THREADS_MAX; t++)
		unpaired += threads[t].depth;
	check(unpaired == 0,
	      "every ENTER has its EXIT in the same thread with the same id (%u do not)", unpaired);
	check(falling == 0, "launch ids rise strictly within each thread (%u do not)", falling);
	fact("driver callbacks nest %u deep at most; %u EXITs of other calls than launches came "
	     "without ENTER",
	     deepest, lone);
}

static const struct record_entry *find_record(struct record_entry *const *sorted, uint32_t count,
					      uint32_t id)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sorted[middle]->correlation_id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && sorted[low]->correlation_id == id ? sorted[low] : NULL;
}

static int by_id(const void *left, const void *right)
{
	const struct record_entry *a = *(struct record_entry *const *)left,
				  *b = *(struct record_entry *const *)right;

	return a->correlation_id < b->correlation_id ? -1 : a->correlation_id > b->correlation_id;
}

static int by_stream_and_start(const void *left, const void *right)
{
	const struct record_entry *a = *(struct record_entry *const *)left,
				  *b = *(struct record_entry *const *)right;

	if (a->context_id != b->context_id)
		return a->context_id < b->context_id ? -1 : 1;
	if (a->stream_id != b->stream_id)
		return a->stream_id < b->stream_id ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Pointers to the records of one kind (0: all), sorted; the caller frees. */
static struct record_entry **sorted_records(const struct conformance_log *log, uint32_t kind,
					    uint32_t *count,
					    int (*order)(const void *, const void *))
{
	struct record_entry **sorted =
		malloc((log->nr_records + 1) * sizeof(struct record_entry *));

	*count = 0;
	if (!sorted)
		abort();
	for (uint32_t i = 0; i < log->nr_records; i++) {
		if (kind == 0 || log->records[i].kind == kind)
			sorted[(*count)++] = (struct record_entry *)(uintptr_t)&log->records[i];
	}
	qsort(sorted, *count, sizeof(struct record_entry *), order);
	return sorted;
}

void checks_correlation(const struct conformance_log *log, uint32_t expected_failures)
{
	uint32_t nr_kernels, launched = 0, failed = 0, orphans = 0, misnamed = 0, phantom = 0,
			     twice = 0;
	struct record_entry **kernels = sorted_records(log, KIND_KERNEL, &nr_kernels, by_id);

	for (uint32_t i = 0; i < log->nr_calls; i++) {
		const struct call_entry *call = &log->calls[i];

		if (!is_launch(call) || call->site != SITE_EXIT)
			continue;
		const struct record_entry *record =
			find_record(kernels, nr_kernels, call->correlation_id);
		if (call->result != 0) {
			failed++;
			phantom += record != NULL;
			continue;
		}
		launched++;
		orphans += record == NULL;
		misnamed += record && strcmp(record->name, call->symbol) != 0;
	}
	for (uint32_t i = 1; i < nr_kernels; i++)
		twice += kernels[i]->correlation_id == kernels[i - 1]->correlation_id;
	free(kernels);
	check(orphans == 0, "every successful launch has a kernel record (%u of %u do not)",
	      orphans, launched);
	check(nr_kernels == launched,
	      "there are as many kernel records as successful launches (%u, %u)", nr_kernels,
	      launched);
	check(twice == 0, "no two kernel records share an id (%u do)", twice);
	check(misnamed == 0, "symbolName of the launch is the record's name (%u are not)",
	      misnamed);
	check(failed == expected_failures,
	      "a refused launch has ENTER and EXIT with an error (%u, expected %u)", failed,
	      expected_failures);
	check(phantom == 0, "a refused launch has no record (%u have)", phantom);
}

void checks_transfers(const struct conformance_log *log)
{
	uint32_t without = 0, count = 0;

	for (uint32_t i = 0; i < log->nr_records; i++) {
		const struct record_entry *record = &log->records[i];
		bool found = false;

		if (record->kind == KIND_KERNEL)
			continue;
		count++;
		for (uint32_t c = 0; c < log->nr_calls && !found; c++)
			found = log->calls[c].correlation_id == record->correlation_id;
		without += !found;
	}
	check(count > 0 && without == 0,
	      "copies and memsets have a callback with their id (%u of %u do not)", without, count);
}

void checks_times(const struct conformance_log *log, uint64_t before_ns, uint64_t after_ns)
{
	uint32_t count, untimed = 0, backward = 0, outside = 0, overlapping = 0;
	uint64_t earliest_ns = UINT64_MAX, latest_ns = 0, worst_overlap_ns = 0;
	struct record_entry **sorted = sorted_records(log, 0, &count, by_stream_and_start);

	for (uint32_t i = 0; i < count; i++) {
		const struct record_entry *record = sorted[i], *previous = i ? sorted[i - 1] : NULL;

		untimed += record->start_ns == 0 || record->end_ns == 0;
		backward += record->end_ns < record->start_ns;
		outside += record->start_ns + SLACK_NS < before_ns ||
			   record->end_ns > after_ns + SLACK_NS;
		earliest_ns = record->start_ns < earliest_ns ? record->start_ns : earliest_ns;
		latest_ns = record->end_ns > latest_ns ? record->end_ns : latest_ns;
		if (previous && previous->context_id == record->context_id &&
		    previous->stream_id == record->stream_id &&
		    record->start_ns < previous->end_ns) {
			uint64_t overlap_ns = previous->end_ns - record->start_ns;

			overlapping++;
			worst_overlap_ns =
				overlap_ns > worst_overlap_ns ? overlap_ns : worst_overlap_ns;
		}
	}
	free(sorted);
	check(untimed == 0, "every record has a start and an end (%u do not)", untimed);
	check(backward == 0, "no record ends before it starts (%u do)", backward);
	check(outside == 0,
	      "records lie between cuptiGetTimestamp before and after, +-1 ms (%u do not)",
	      outside);
	check(overlapping == 0, "records of one stream do not overlap (%u do, worst %llu ns)",
	      overlapping, (unsigned long long)worst_overlap_ns);
	fact("first record starts %lld ns after the timestamp before, last ends %lld ns before the "
	     "one after",
	     (long long)(earliest_ns - before_ns), (long long)(after_ns - latest_ns));
}
