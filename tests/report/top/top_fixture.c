#include "top_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "proto/record.h"
#include "tests/report/model/report_fixture.h"

#define PROCESSES_MAX 600u

struct profile_sums top_from;

int top_fixture_set_up(void **state)
{
	int error = report_fixture_set_up(state);

	top_from = (struct profile_sums){.profile = &report_fixture.profile, .writer = {7}};
	top_from.heard_ns = calloc(PROCESSES_MAX, sizeof(*top_from.heard_ns));
	return error || !top_from.heard_ns ? -1 : 0;
}

int top_fixture_tear_down(void **state)
{
	free(top_from.times);
	free(top_from.heard_ns);
	return report_fixture_tear_down(state);
}

uint32_t top_fixture_process(const char *node, uint32_t pid, int32_t rank, int32_t gpu)
{
	const uint32_t id = report_fixture_process(node, pid, rank, gpu);
	struct roster_process *process = roster_process(report_fixture.collection->roster, id);

	assert_true(id < PROCESSES_MAX);
	process->state = PROCESS_RUNNING;
	return id;
}

static struct profile_sums_time *time_of(uint32_t level, uint32_t process, uint32_t stream_id)
{
	const struct profile_sums_time added = {.level = level,
						.process = process,
						.context_id = stream_id ? 1 : 0,
						.stream_id = stream_id};

	for (uint32_t i = 0; i < top_from.nr_times; i++)
		if (top_from.times[i].level == level && top_from.times[i].process == process &&
		    top_from.times[i].stream_id == stream_id)
			return &top_from.times[i];
	assert_int_equal(array_append(&top_from.times, &top_from.nr_times, &added, sizeof(added)),
			 0);
	return &top_from.times[top_from.nr_times - 1];
}

void top_fixture_busy(uint32_t process, uint64_t busy_ns, uint64_t last_ns, uint64_t heard_ns)
{
	struct profile_sums_time *time = time_of(TIMELINE_WORK, process, 0);

	time->records = 1;
	time->busy_ns = busy_ns;
	time->first_ns = S;
	time->last_ns = last_ns;
	top_from.heard_ns[process - 1] = heard_ns;
}

void top_fixture_uncaptured(uint32_t process, uint64_t uncaptured_ns)
{
	time_of(TIMELINE_WORK, process, 0)->uncaptured_ns = uncaptured_ns;
}

void top_fixture_stream_busy(uint32_t process, uint32_t stream_id, uint64_t busy_ns)
{
	struct profile_sums_time *time = time_of(TIMELINE_STREAM, process, stream_id);

	time->records = 1;
	time->busy_ns = busy_ns;
}

void top_fixture_work(uint32_t process, uint32_t stream_id, uint8_t kind, const char *name,
		      uint64_t count, uint64_t ns)
{
	struct fold_key key = report_fixture_key(0, name);

	key.process_id = process;
	key.context_id = 1;
	key.stream_id = stream_id;
	key.kind = kind;
	report_fixture_add_row(key, count, ns, 0);
}

struct top_sums *top_fixture_read(void)
{
	const struct top_wants all = {.wants = NULL};
	struct top_sums *sums;

	assert_int_equal(top_sums_create(&top_from, &all, &sums), 0);
	return sums;
}

const struct top_node *top_fixture_child(const struct top_sums *sums, const struct top_node *parent,
					 const char *label)
{
	char found[TOP_VIEW_LINE];

	for (uint32_t i = parent->first; i != TOP_SUMS_NONE; i = sums->nodes[i].next)
		if (strcmp(top_sums_label(&sums->nodes[i], found, sizeof(found)), label) == 0)
			return &sums->nodes[i];
	return NULL;
}
