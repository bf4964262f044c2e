#include "fold_limit.h"

#include "proto/ledger.h"
#include "proto/record.h"

void fold_limit_fini(struct fold_limit *limit)
{
	hash_index_fini(&limit->rows);
}

/* The index keeps only hashes, so equal hashes count as equal keys. */
static bool is_known(const void *context, uint32_t id, const void *key)
{
	(void)context;
	(void)id;
	(void)key;
	return true;
}

void fold_limit_prefetch(const struct fold_limit *limit, const uint32_t *hashes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		hash_index_prefetch(&limit->rows, hashes[i]);
}

bool fold_limit_is_reached(const struct fold_limit *limit)
{
	return limit->rows.count == FOLD_LIMIT_ROWS_MAX;
}

int fold_limit_take(struct fold_limit *limit, uint32_t hash, bool *has_room)
{
	*has_room = true;
	if (hash_index_find(&limit->rows, hash, is_known, NULL, NULL))
		return 0;
	*has_room = !fold_limit_is_reached(limit);
	return *has_room ? hash_index_insert(&limit->rows, hash, 1) : 0;
}

struct fold_key fold_limit_merged(const struct fold_key *key)
{
	return (struct fold_key){
		.process_id = key->process_id,
		.device_id =
			key->device_id < RECORD_DEVICES_MAX ? key->device_id : LEDGER_DEVICE_NONE,
		.kind = key->kind,
		.matched = key->matched,
	};
}
