#include "store_raw.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "statement_set.h"
#include "store_table.h"

#include "aggregator/profile/roster.h"

enum command { PUT_SAMPLE, PUT_CLOCK, COMMANDS };

const char *const store_raw_commands[] = {
	[PUT_SAMPLE] = "INSERT INTO raw_samples VALUES (NULL,?,?,?,?,?,?,?,?,?)",
	/* An agent that starts again may read its clocks anew. All times of a host must use one offset, so the first
	 * one stays. */
	[PUT_CLOCK] = "INSERT OR IGNORE INTO host_clocks VALUES (?,?)",
	[COMMANDS] = NULL,
};

int store_raw_write(struct statement_set *set, const struct raw_log *log)
{
	uint32_t nr_samples, nr_clocks;
	const struct raw_sample *samples = raw_log_samples(log, &nr_samples);
	const struct raw_clock *clocks = raw_log_clocks(log, &nr_clocks);
	int error = 0;

	for (uint32_t i = 0; i < nr_samples && !error; i++) {
		const struct host_sample *sample = &samples[i].sample;

		error = RUN(set, PUT_SAMPLE, NUMBER(samples[i].process_id), NUMBER(sample->time_ns),
			    NUMBER(sample->duration_ns), NUMBER(sample->kind),
			    NUMBER(sample->stack_id), NUMBER(sample->name_id), NUMBER(sample->tid),
			    NUMBER(sample->cpu), NUMBER(sample->command_id));
	}
	for (uint32_t i = 0; i < nr_clocks && !error; i++)
		if (clocks[i].realtime_offset_ns && !clocks[i].saved)
			error = RUN(set, PUT_CLOCK, NUMBER(i + 1),
				    database_signed(clocks[i].realtime_offset_ns));
	return error;
}

static int take_clock(struct collection *collection, struct statement *row)
{
	uint32_t host = statement_number32(row, 0);

	if (!roster_host(collection->roster, host))
		return -EPROTO;
	return raw_log_load_clock(collection->raw, host, statement_signed(row, 1));
}

int store_raw_load(struct database *database, struct collection *collection)
{
	static const struct store_table table = {"SELECT * FROM host_clocks", take_clock};

	return store_table_load(database, collection, &table, 1);
}

int store_raw_newest(struct database *database, uint64_t *newest)
{
	int64_t number = 0;
	int error = database_query_number(database, "SELECT coalesce(max(id), 0) FROM raw_samples",
					  &number);

	*newest = number > 0 ? (uint64_t)number : 0;
	return error;
}

/* false: the value does not fit 32 bits. */
static bool read32(struct statement *row, uint32_t column, uint32_t *number)
{
	*number = statement_number32(row, column);
	return statement_number(row, column) <= UINT32_MAX;
}

struct each {
	store_raw_take *take;
	void *context;
};

static int take_row(struct statement *row, void *context)
{
	const struct each *each = context;
	struct raw_sample raw = {.sample = {.time_ns = statement_number(row, 1),
					    .duration_ns = statement_number(row, 2)}};
	struct host_sample *sample = &raw.sample;
	uint32_t kind;

	if (!read32(row, 0, &raw.process_id) || !read32(row, 3, &kind) ||
	    !read32(row, 4, &sample->stack_id) || !read32(row, 5, &sample->name_id) ||
	    !read32(row, 6, &sample->tid) || !read32(row, 7, &sample->cpu) ||
	    !read32(row, 8, &sample->command_id) || kind > HOST_SAMPLE_CALL)
		return -EPROTO;
	sample->kind = (uint8_t)kind;
	return each->take(each->context, &raw, statement_signed(row, 9));
}

int store_raw_each(struct database *database, uint64_t newest, store_raw_take *take, void *context)
{
	char text[400];
	struct each each = {take, context};

	snprintf(text, sizeof(text),
		 "SELECT s.process, s.time_ns, s.duration_ns, s.kind, s.node, s.name, s.tid, s.cpu,"
		 " s.command, coalesce(c.realtime_offset_ns, 0) AS offset FROM raw_samples s"
		 " LEFT JOIN processes p ON p.id = s.process LEFT JOIN host_clocks c"
		 " ON c.host = p.host WHERE s.id <= %" PRIu64 " ORDER BY s.time_ns + offset, s.id",
		 newest);
	return database_rows(database, text, take_row, &each);
}
