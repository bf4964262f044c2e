#include "timeline_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store_timeline.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/log/event_reader.h"

/* What the ids of a store stand for. */
struct names {
	struct known {
		uint64_t *list; /* owns; [id - 1] */
		uint32_t count;
	} strings, processes, nodes;
	uint8_t id[STORE_TIMELINE_ID];
	bool has_id;
	struct timeline_digest digest;
};

static int take_row(struct statement *row, void *context)
{
	struct known *known = context;
	uint32_t size;
	const void *bytes = statement_bytes(row, 0, &size);
	const uint64_t value = hash_index_digest(7, bytes, size);

	return array_append(&known->list, &known->count, &value, sizeof(value));
}

static void load(struct names *names, const char *store_path, bool makes_id)
{
	struct database *database;

	*names = (struct names){.has_id = false};
	assert_int_equal(database_open(store_path, !makes_id, &database, NULL), 0);
	names->has_id = makes_id;
	if (makes_id)
		assert_int_equal(store_timeline_make(database, names->id), 0);
	else
		assert_int_equal(store_timeline_read(database, names->id, &names->has_id), 0);
	assert_int_equal(database_rows(database, "SELECT data FROM strings ORDER BY id", take_row,
				       &names->strings),
			 0);
	assert_int_equal(database_rows(database,
				       "SELECT CAST(pid || hex(instance) AS BLOB) FROM processes"
				       " ORDER BY id",
				       take_row, &names->processes),
			 0);
	assert_int_equal(database_rows(database, "SELECT CAST(id AS BLOB) FROM nodes ORDER BY id",
				       take_row, &names->nodes),
			 0);
	database_close(database);
}

static void fini(struct names *names)
{
	free(names->strings.list);
	free(names->processes.list);
	free(names->nodes.list);
}

void timeline_fixture_write(const char *store_path, uint32_t count, uint64_t seed)
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;
	struct names names;

	load(&names, store_path, true);
	assert_true(names.processes.count && names.strings.count && names.nodes.count);
	memcpy(options.profile, names.id, sizeof(names.id));
	assert_int_equal(event_log_open(store_path, &options, &log), 0);
	struct event_packer *packer = event_log_packer(log);
	for (uint32_t process = 1; process <= names.processes.count; process++) {
		event_packer_begin(packer, process, -77, true);
		for (uint32_t i = 0; i < count; i++) {
			const uint64_t at = (seed << 20) + i * 1000ull;

			event_packer_launch(packer, &(struct launch_record){
							    .time_ns = at,
							    .correlation_id = i + 1,
							    .stack_id = 1 + i % names.nodes.count,
							    .tid = process,
							    .window = 1});
			event_packer_record(
				packer, &(struct gpu_record){.start_ns = at + 100,
							     .end_ns = at + 200 + i,
							     .correlation_id = i + 1,
							     .name_id = 1 + i % names.strings.count,
							     .window = 1});
		}
		event_log_write(log, 1);
	}
	event_log_close(log);
	fini(&names);
}

static uint64_t known_of(const struct known *known, uint32_t id)
{
	assert_in_range(id, 1, known->count);
	return known->list[id - 1];
}

static int take(void *context, const struct message_events *events)
{
	struct names *names = context;
	const uint64_t process = known_of(&names->processes, events->process_id);

	assert_int_equal(events->clock_offset_ns, -77);
	for (uint32_t i = 0; i < events->nr_launches; i++) {
		known_of(&names->nodes, events->launches[i].stack_id);
		names->digest.launch_sum += process * (events->launches[i].time_ns + 1);
	}
	for (uint32_t i = 0; i < events->nr_gpu; i++) {
		const struct gpu_record *record = &events->gpu[i];

		names->digest.record_sum += (process ^ record->start_ns) *
					    (known_of(&names->strings, record->name_id) | 1) *
					    (record->end_ns - record->start_ns);
	}
	return 0;
}

struct timeline_digest timeline_fixture_read(const char *store_path)
{
	struct event_sums sums = {0};
	struct names names;

	load(&names, store_path, false);
	const struct event_asks asks = {
		.take = take, .context = &names, .profile = names.has_id ? names.id : NULL};
	int error = event_reader_read(store_path, &asks, &sums);
	assert_true(error == 0 || error == -ENOENT);
	assert_int_equal(sums.damaged, 0);
	assert_int_equal(sums.foreign, 0);
	names.digest.launches = sums.launches;
	names.digest.records = sums.records;
	names.digest.lost = sums.lost_events;
	fini(&names);
	return names.digest;
}

void timeline_fixture_add(struct timeline_digest *sum, struct timeline_digest added)
{
	sum->launches += added.launches;
	sum->records += added.records;
	sum->lost += added.lost;
	sum->launch_sum += added.launch_sum;
	sum->record_sum += added.record_sum;
}

void timeline_fixture_same(struct timeline_digest found, struct timeline_digest expected)
{
	assert_int_equal(found.launches, expected.launches);
	assert_int_equal(found.records, expected.records);
	assert_int_equal(found.lost, expected.lost);
	assert_int_equal(found.launch_sum, expected.launch_sum);
	assert_int_equal(found.record_sum, expected.record_sum);
}
