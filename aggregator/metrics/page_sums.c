#include "page_sums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/pages/page_store.h"
#include "aggregator/store/database.h"
#include "base/array.h"
#include "base/clock.h"
#include "proto/batch/gpu_uuid.h"
#include "proto/ledger.h"

struct page_name {
	uint32_t id; /* of the node's strings */
	bool is_part;
	char text[DEVICE_TOTALS_TEXT_MAX];
};

struct page_writer {
	uint64_t round;
	struct metrics_sums sums; /* of that round */
	struct page_name *names;  /* owns; of hosts and devices, which stay */
	uint32_t nr_names, room_names;
};

struct page_sums {
	const struct page_set *set;
	struct page_writer *writers; /* owns; by the set's index */
	uint32_t nr_writers, room_writers;
	uint64_t rests_until_ns;
};

struct page_sums *page_sums_create(const struct page_set *set)
{
	struct page_sums *pages = calloc(1, sizeof(*pages));

	if (pages)
		pages->set = set;
	return pages;
}

void page_sums_destroy(struct page_sums *pages)
{
	if (!pages)
		return;
	for (uint32_t i = 0; i < pages->nr_writers; i++) {
		metrics_sums_fini(&pages->writers[i].sums);
		free(pages->writers[i].names);
	}
	free(pages->writers);
	free(pages);
}

static int add_page(void *store, const struct profile_page *page)
{
	return page_store_add(store, page);
}

/* Opens the pages of some tables as a database, which the caller owns. */
static int open_part(const struct page_set *set, uint32_t writer, enum page_store_part part,
		     struct database **database)
{
	struct page_store *store;
	int error = page_store_create(part, &store);

	*database = NULL;
	if (error)
		return error;
	error = page_set_read(set, writer, add_page, store);
	if (error) {
		page_store_destroy(store);
		return error;
	}
	*database = page_store_finish(store);
	return *database ? 0 : -EIO;
}

/* ---- names */

static const struct page_name *find_name(const struct page_writer *writer, uint32_t id)
{
	for (uint32_t i = 0; i < writer->nr_names; i++)
		if (writer->names[i].id == id)
			return &writer->names[i];
	return NULL;
}

/* -ENOENT: the name is not known. */
static int look_for_name(struct statement *row, void *context)
{
	return find_name(context, statement_number32(row, 0)) ? 0 : -ENOENT;
}

static int take_name(struct statement *row, void *context)
{
	struct page_writer *writer = context;
	uint32_t size;
	const char *text = statement_bytes(row, 1, &size);

	if (find_name(writer, statement_number32(row, 0)))
		return 0;
	int error = array_reserve(&writer->names, &writer->room_names, writer->nr_names + 1,
				  sizeof(*writer->names));
	if (error)
		return error;
	struct page_name *name = &writer->names[writer->nr_names++];
	*name = (struct page_name){.id = statement_number32(row, 0),
				   .is_part = gpu_uuid_is_part(text, size)};
	if (size >= sizeof(name->text))
		size = sizeof(name->text) - 1;
	if (size)
		memcpy(name->text, text, size);
	return 0;
}

/* Strings are most of a profile, so they are read for a new host or device alone. */
static int read_names(const struct page_set *set, uint32_t index, struct page_writer *writer,
		      struct database *database)
{
	static const char wanted[] = "SELECT node FROM hosts UNION SELECT name FROM devices";
	struct database *strings;
	char list[4096], *sql = NULL;
	int error = database_rows(database, wanted, look_for_name, writer);

	if (error != -ENOENT)
		return error;
	error = open_part(set, index, PAGE_STORE_STRINGS, &strings);
	if (error)
		return error;
	error = database_query_text(
		database,
		"SELECT group_concat(id) FROM (SELECT node AS id FROM hosts UNION"
		" SELECT name FROM devices LIMIT 200)",
		list, sizeof(list));
	if (!error && asprintf(&sql, "SELECT id, data FROM strings WHERE id IN (%s)", list) < 0) {
		sql = NULL;
		error = -ENOMEM;
	}
	if (!error)
		error = database_rows(strings, sql, take_name, writer);
	free(sql);
	database_close(strings);
	return error;
}

/* ---- sums */

/* The columns of an entry: UUID, index, names of device and host, level, records, sum, busy, observed, late, and
 * whether its process has an entry for all kernels. */
#define DEVICE "SELECT d.uuid, d.device_index, d.name, h.node, "
#define AMOUNTS                                                                                    \
	"t.level, max(t.records, 0), max(t.sum_ns, 0), max(t.busy_ns, 0),"                         \
	" max(t.last_ns - t.first_ns, 0), max(t.late_ns, 0), "
static const char of_devices[] =
	DEVICE AMOUNTS "0 FROM timelines t JOIN devices d ON d.id = t.device_id"
		       " JOIN hosts h ON h.id = d.host WHERE t.level = 1";
static const char of_unknown_devices[] =
	"SELECT NULL, NULL, 0, h.node, " AMOUNTS "0 FROM timelines t"
	" JOIN processes p ON p.id = t.process JOIN hosts h ON h.id = p.host WHERE t.level = 2"
	" AND t.records > 0";
static const char of_kernels[] =
	DEVICE AMOUNTS "EXISTS (SELECT 1 FROM timelines a WHERE a.level = 6"
		       " AND a.process = t.process AND a.device_id = t.device_id)"
		       " FROM timelines t JOIN process_devices pd"
		       " ON pd.process = t.process AND pd.device_id = t.device_id"
		       " JOIN devices d ON d.id = pd.device JOIN hosts h ON h.id = d.host"
		       " WHERE t.level IN (4, 5, 6)";
static const char *const entries[] = {of_devices, of_unknown_devices, of_kernels};
_Static_assert(TIMELINE_DEVICE == 1 && TIMELINE_ORDINAL == 2 && TIMELINE_COMPUTATION == 4 &&
		       TIMELINE_COMMUNICATION == 5 && TIMELINE_KERNELS == 6,
	       "levels in SQL");

static void take_amounts(struct statement *row, struct device_sums *sums)
{
	const uint64_t busy_ns = statement_number(row, 7);
	const bool has_all = statement_number(row, 10) != 0;

	switch (statement_number32(row, 4)) {
	case TIMELINE_COMPUTATION:
		sums->computation_ns = busy_ns;
		sums->kernels_ns = has_all ? 0 : busy_ns;
		break;
	case TIMELINE_COMMUNICATION:
		sums->communication_ns = busy_ns;
		break;
	case TIMELINE_KERNELS:
		sums->kernels_ns = busy_ns;
		break;
	default:
		sums->activities = statement_number(row, 5);
		sums->work_ns = statement_number(row, 6);
		sums->busy_ns = busy_ns;
		sums->observed_ns = statement_number(row, 8);
		sums->late_ns = statement_number(row, 9);
	}
}

struct taking {
	const struct page_writer *writer;
	struct metrics_sums *sums;
};

static int take_entry(struct statement *row, void *context)
{
	struct taking *taking = context;
	struct device_identity identity = {.index = MESSAGE_INDEX_NONE};
	struct device_sums sums = {0};
	uint32_t size;
	const void *uuid = statement_bytes(row, 0, &size);
	const struct page_name *device = find_name(taking->writer, statement_number32(row, 2));
	const struct page_name *host = find_name(taking->writer, statement_number32(row, 3));

	if (size == sizeof(identity.uuid))
		memcpy(identity.uuid, uuid, size);
	if (!statement_null(row, 1))
		identity.index = (int32_t)statement_signed(row, 1);
	identity.is_part = device && device->is_part;
	if (host)
		memcpy(identity.host, host->text, sizeof(identity.host));
	take_amounts(row, &sums);
	return device_totals_add(&taking->sums->devices, &identity, &sums);
}

static int take_launches(struct statement *row, void *context)
{
	struct taking *taking = context;

	taking->sums->launches =
		ledger_add_saturating(taking->sums->launches, statement_number(row, 0));
	return 0;
}

static int take_lost(struct statement *row, void *context)
{
	struct taking *taking = context;

	metrics_sums_lose(taking->sums, statement_number32(row, 0), statement_number(row, 1));
	return 0;
}

/* As metrics_sums_take() counts them. */
static int take_counts(struct database *database, struct taking *taking)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT reason, max(count, 0) FROM ledger UNION ALL SELECT %d, max(invalid, 0)"
		 " FROM processes UNION ALL SELECT %d, max(expired, 0) FROM processes p WHERE"
		 " EXISTS (SELECT 1 FROM ledger l WHERE l.process = p.id AND l.reason = %d)",
		 LEDGER_INVALID_TIME, LEDGER_LAUNCH_UNDELIVERED, LEDGER_CUT_OFF);
	int error = database_rows(database, "SELECT max(launches, 0) FROM processes", take_launches,
				  taking);

	return error ? error : database_rows(database, sql, take_lost, taking);
}

/* Takes the sums of the writer's newest round in place of those that it has. */
static int look(struct page_sums *pages, uint32_t index)
{
	struct page_writer *writer = &pages->writers[index];
	struct metrics_sums sums = {0};
	struct taking taking = {writer, &sums};
	struct database *database;
	int error = open_part(pages->set, index, PAGE_STORE_SUMS, &database);

	if (error)
		return error;
	error = read_names(pages->set, index, writer, database);
	for (uint32_t i = 0; i < sizeof(entries) / sizeof(*entries) && !error; i++)
		error = database_rows(database, entries[i], take_entry, &taking);
	if (!error)
		error = take_counts(database, &taking);
	database_close(database);
	metrics_sums_fini(error ? &sums : &writer->sums);
	if (!error)
		writer->sums = sums;
	return error;
}

/* ---- all nodes */

/* *is_behind: a node has a newer round than was looked at. */
static void look_at_new(struct page_sums *pages, bool looks, bool *is_behind)
{
	for (uint32_t i = 0; i < pages->nr_writers; i++) {
		const uint64_t round = page_set_round(pages->set, i);

		if (round == pages->writers[i].round)
			continue;
		*is_behind |= !looks;
		if (!looks)
			continue;
		/* A round that cannot be read is not tried again: the next one may be sound. */
		look(pages, i);
		pages->writers[i].round = round;
	}
}

int page_sums_add(struct page_sums *pages, uint64_t now_ns, bool looks, struct metrics_sums *sums,
		  bool *is_behind)
{
	const uint32_t nr_writers = page_set_writers(pages->set);
	const bool looks_now = looks || now_ns >= pages->rests_until_ns;
	const uint64_t began_ns = clock_now_ns();
	int error = array_reserve_zeroed(&pages->writers, &pages->room_writers, nr_writers,
					 sizeof(*pages->writers));

	*is_behind = false;
	if (error)
		return error;
	pages->nr_writers = nr_writers;
	look_at_new(pages, looks_now, is_behind);
	if (looks_now)
		pages->rests_until_ns = now_ns + PAGE_SUMS_REST_TIMES * (clock_now_ns() - began_ns);
	for (uint32_t i = 0; i < nr_writers && !error; i++)
		error = metrics_sums_add(sums, &pages->writers[i].sums);
	return error;
}
