#include "waiting_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 64u

void waiting_records_fini(struct waiting_records *waiting)
{
	free(waiting->records);
	free(waiting->buckets);
	*waiting = (struct waiting_records){0};
}

static uint32_t *bucket_of(const struct waiting_records *waiting, uint32_t window,
			   uint32_t correlation_id)
{
	uint64_t mixed = ((uint64_t)window << 32 | correlation_id) * 0x9e3779b97f4a7c15u;

	return &waiting->buckets[(uint32_t)(mixed >> 32) & (waiting->room - 1)];
}

static void link_bucket(struct waiting_records *waiting, uint32_t id)
{
	struct waiting_record *entry = &waiting->records[id - 1];
	uint32_t *bucket = bucket_of(waiting, entry->record.window, entry->record.correlation_id);

	entry->next_in_bucket = *bucket;
	entry->previous_in_bucket = 0;
	if (*bucket)
		waiting->records[*bucket - 1].previous_in_bucket = id;
	*bucket = id;
}

/* Only when no record is unused: all of [0, room) are linked again, oldest first. */
static int grow(struct waiting_records *waiting)
{
	uint32_t old_room = waiting->room, room = old_room ? 2 * old_room : ROOM_MIN;
	uint32_t *buckets = calloc(room, sizeof(*buckets));
	struct waiting_record *records = realloc(waiting->records, room * sizeof(*records));

	if (records)
		waiting->records = records;
	if (!buckets || !records) {
		free(buckets);
		return -ENOMEM;
	}
	free(waiting->buckets);
	waiting->buckets = buckets;
	waiting->room = room;
	for (uint32_t id = waiting->oldest; id; id = records[id - 1].newer)
		link_bucket(waiting, id);
	for (uint32_t i = room; i > old_room; i--) {
		records[i - 1].newer = waiting->unused;
		waiting->unused = i;
	}
	return 0;
}

int waiting_records_add(struct waiting_records *waiting, const struct gpu_record *record,
			uint64_t order)
{
	if (!waiting->unused && grow(waiting))
		return -ENOMEM;

	uint32_t id = waiting->unused;
	struct waiting_record *entry = &waiting->records[id - 1];
	waiting->unused = entry->newer;
	*entry = (struct waiting_record){
		.record = *record, .order = order, .older = waiting->newest};
	if (waiting->newest)
		waiting->records[waiting->newest - 1].newer = id;
	else
		waiting->oldest = id;
	waiting->newest = id;
	link_bucket(waiting, id);
	waiting->count++;
	return 0;
}

static void unlink_bucket(struct waiting_records *waiting, const struct waiting_record *entry)
{
	if (entry->previous_in_bucket)
		waiting->records[entry->previous_in_bucket - 1].next_in_bucket =
			entry->next_in_bucket;
	else
		*bucket_of(waiting, entry->record.window, entry->record.correlation_id) =
			entry->next_in_bucket;
	if (entry->next_in_bucket)
		waiting->records[entry->next_in_bucket - 1].previous_in_bucket =
			entry->previous_in_bucket;
}

static void take(struct waiting_records *waiting, uint32_t id, struct gpu_record *record,
		 uint64_t *order)
{
	struct waiting_record *entry = &waiting->records[id - 1];

	*record = entry->record;
	*order = entry->order;
	unlink_bucket(waiting, entry);
	if (entry->older)
		waiting->records[entry->older - 1].newer = entry->newer;
	else
		waiting->oldest = entry->newer;
	if (entry->newer)
		waiting->records[entry->newer - 1].older = entry->older;
	else
		waiting->newest = entry->older;
	entry->newer = waiting->unused;
	waiting->unused = id;
	waiting->count--;
}

bool waiting_records_take(struct waiting_records *waiting, uint32_t window, uint32_t correlation_id,
			  struct gpu_record *record, uint64_t *order)
{
	if (waiting->count == 0)
		return false;

	for (uint32_t id = *bucket_of(waiting, window, correlation_id); id;
	     id = waiting->records[id - 1].next_in_bucket) {
		const struct gpu_record *candidate = &waiting->records[id - 1].record;

		if (candidate->window == window && candidate->correlation_id == correlation_id) {
			take(waiting, id, record, order);
			return true;
		}
	}
	return false;
}

bool waiting_records_take_oldest(struct waiting_records *waiting, struct gpu_record *record,
				 uint64_t *order)
{
	if (!waiting->oldest)
		return false;
	take(waiting, waiting->oldest, record, order);
	return true;
}
