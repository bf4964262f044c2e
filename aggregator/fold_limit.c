#include "fold_limit.h"

#include <errno.h>
#include <stdlib.h>

#include "hash_index.h"
#include "proto/ledger.h"
#include "proto/record.h"

#define SLOTS_MIN 256u /* a power of two */

void fold_limit_fini(struct fold_limit *limit)
{
	free(limit->marks);
	*limit = (struct fold_limit){0};
}

static uint32_t *slot_of(uint32_t *marks, uint32_t mask, uint32_t mark)
{
	uint32_t i = mark & mask;

	while (marks[i] && marks[i] != mark)
		i = (i + 1) & mask;
	return &marks[i];
}

/* At most half of the slots are used. */
static int grow(struct fold_limit *limit)
{
	uint32_t nr_slots = limit->marks ? 2 * (limit->mask + 1) : SLOTS_MIN;
	uint32_t *marks = calloc(nr_slots, sizeof(*marks));

	if (!marks)
		return -ENOMEM;
	for (uint32_t i = 0; limit->marks && i <= limit->mask; i++)
		if (limit->marks[i])
			*slot_of(marks, nr_slots - 1, limit->marks[i]) = limit->marks[i];
	free(limit->marks);
	limit->marks = marks;
	limit->mask = nr_slots - 1;
	return 0;
}

int fold_limit_take(struct fold_limit *limit, const struct fold_key *key, bool *has_room)
{
	uint32_t mark = hash_index_hash(key, sizeof(*key));

	mark = mark ? mark : 1;
	*has_room = true;
	if (limit->marks && *slot_of(limit->marks, limit->mask, mark))
		return 0;
	*has_room = limit->count < FOLD_LIMIT_ROWS_MAX;
	if (!*has_room)
		return 0;
	if ((!limit->marks || 2 * (limit->count + 1) > limit->mask + 1) && grow(limit))
		return -ENOMEM;
	*slot_of(limit->marks, limit->mask, mark) = mark;
	limit->count++;
	return 0;
}

struct fold_key fold_limit_merged(const struct fold_key *key)
{
	return (struct fold_key){
		.process_id = key->process_id,
		.device_id = key->device_id < RECORD_DEVICES_MAX ? key->device_id
								 : LEDGER_DEVICE_NONE,
		.kind = key->kind,
		.matched = key->matched,
	};
}
