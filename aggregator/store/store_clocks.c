#include "store_clocks.h"

#include <errno.h>

#include "statement_set.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/message.h"

enum command { PUT_OFFSET, THIN_OUT, COMMANDS };

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define MOST            4096

_Static_assert(MOST == STORE_CLOCKS_MAX, "as the statement says");

/* The newest one has number 1, and stays. */
const char *const store_clocks_commands[] = {
	[PUT_OFFSET] = "REPLACE INTO clock_offsets VALUES (?,?,?,?,?,?,?,?)",
	[THIN_OUT] = "DELETE FROM clock_offsets WHERE host = ?1"
		     " AND (SELECT count(*) FROM clock_offsets WHERE host = ?1) > " TEXT(
			     MOST) " AND (reference, time_ns) IN (SELECT reference, time_ns FROM"
				   " (SELECT reference, time_ns, row_number() OVER (ORDER BY "
				   "time_ns DESC) AS n"
				   " FROM clock_offsets WHERE host = ?1) WHERE n % 2 = 0)",
	[COMMANDS] = NULL,
};

/* Offsets of a host mostly come one by one. */
static bool is_last_of_host(const struct clock_offset *offsets, uint32_t count, uint32_t index)
{
	return index + 1 == count || offsets[index + 1].host != offsets[index].host;
}

int store_clocks_write(struct statement_set *set, const struct clock_log *log)
{
	uint32_t count;
	const struct clock_offset *offsets = clock_log_offsets(log, &count);
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		const struct clock_offset *offset = &offsets[i];

		error = RUN(set, PUT_OFFSET, NUMBER(offset->host), NUMBER(offset->reference),
			    NUMBER(offset->time_ns), database_signed(offset->offset_ns),
			    NUMBER(offset->bound_ns), NUMBER(offset->round_trip_ns),
			    database_signed(offset->realtime_offset_ns),
			    database_signed(offset->reference_realtime_offset_ns));
		if (!error && is_last_of_host(offsets, count, i))
			error = RUN(set, THIN_OUT, NUMBER(offset->host));
	}
	return error;
}

static int take(struct statement *row, void *context)
{
	struct collection *collection = context;
	const struct clock_offset offset = {
		.host = statement_number32(row, 0),
		.reference = statement_number32(row, 1),
		.time_ns = statement_number(row, 2),
		.offset_ns = statement_signed(row, 3),
		.bound_ns = statement_number(row, 4),
		.round_trip_ns = statement_number(row, 5),
		.realtime_offset_ns = statement_signed(row, 6),
		.reference_realtime_offset_ns = statement_signed(row, 7),
	};
	const int64_t most = INT64_MAX / 4;

	if (statement_number(row, 0) > UINT32_MAX ||
	    !roster_host(collection->roster, offset.host) ||
	    statement_number(row, 1) > catalog_size(collection->catalog).strings ||
	    offset.time_ns > (uint64_t)most || offset.bound_ns > (uint64_t)CLOCK_BOUND_MAX_NS ||
	    offset.round_trip_ns > 2 * (uint64_t)CLOCK_BOUND_MAX_NS || offset.offset_ns > most ||
	    offset.offset_ns < -most || offset.realtime_offset_ns > most ||
	    offset.realtime_offset_ns < -most || offset.reference_realtime_offset_ns > most ||
	    offset.reference_realtime_offset_ns < -most)
		return -EPROTO;
	return clock_log_add(collection->clocks, &offset);
}

int store_clocks_read(struct database *database, struct collection *collection)
{
	return database_rows(database,
			     "SELECT * FROM clock_offsets ORDER BY host, reference, time_ns", take,
			     collection);
}
