#include "collection.h"

#include <stdlib.h>
#include <string.h>

#include "agent_session.h"
#include "catalog.h"
#include "clock_log.h"
#include "collective_log.h"
#include "idle_log.h"
#include "kept_log.h"
#include "message_log.h"
#include "placement_log.h"
#include "raw_log.h"
#include "roster.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/core/timeline_table.h"
#include "base/array.h"

struct collection *collection_create(void)
{
	struct collection *collection = calloc(1, sizeof(*collection));
	if (!collection)
		return NULL;

	collection->catalog = catalog_create();
	collection->roster = roster_create();
	collection->totals = fold_table_create();
	collection->samples = fold_table_create();
	collection->timelines = timeline_table_create();
	collection->idle = idle_log_create();
	collection->kept = kept_log_create();
	collection->raw = raw_log_create();
	collection->messages = message_log_create();
	collection->collectives = collective_log_create();
	collection->clocks = clock_log_create();
	collection->placements = placement_log_create();
	if (!collection->catalog || !collection->roster || !collection->totals ||
	    !collection->samples || !collection->timelines || !collection->idle ||
	    !collection->kept || !collection->raw || !collection->collectives || !collection->clocks ||
	    !collection->placements || !collection->messages) {
		collection_destroy(collection);
		return NULL;
	}
	return collection;
}

void collection_destroy(struct collection *collection)
{
	if (!collection)
		return;
	for (uint32_t i = 0; i < collection->nr_sessions; i++)
		agent_session_destroy(collection->sessions[i]);
	free(collection->sessions);
	hash_index_fini(&collection->epochs);
	roster_destroy(collection->roster);
	catalog_destroy(collection->catalog);
	fold_table_destroy(collection->totals);
	fold_table_destroy(collection->samples);
	timeline_table_destroy(collection->timelines);
	idle_log_destroy(collection->idle);
	kept_log_destroy(collection->kept);
	collective_log_destroy(collection->collectives);
	clock_log_destroy(collection->clocks);
	placement_log_destroy(collection->placements);
	raw_log_destroy(collection->raw);
	message_log_destroy(collection->messages);
	free(collection);
}

static bool has_epoch(const void *context, uint32_t id, const void *epoch)
{
	const struct collection *collection = context;

	return memcmp(collection->sessions[id - 1]->epoch, epoch, WIRE_EPOCH_SIZE) == 0;
}

struct agent_session *collection_find_session(const struct collection *collection,
					      const uint8_t epoch[WIRE_EPOCH_SIZE])
{
	uint32_t hash = hash_index_hash(epoch, WIRE_EPOCH_SIZE);
	uint32_t id = hash_index_find(&collection->epochs, hash, has_epoch, collection, epoch);

	return id ? collection->sessions[id - 1] : NULL;
}

struct agent_session *collection_session(struct collection *collection,
					 const uint8_t epoch[WIRE_EPOCH_SIZE])
{
	struct agent_session *session = collection_find_session(collection, epoch);

	if (session)
		return session;
	if (array_reserve(&collection->sessions, &collection->room_sessions,
			  collection->nr_sessions + 1, sizeof(*collection->sessions)) ||
	    hash_index_reserve(&collection->epochs, collection->nr_sessions + 1))
		return NULL;
	session = agent_session_create(epoch, collection->nr_sessions + 1);
	if (!session)
		return NULL;
	collection->sessions[collection->nr_sessions++] = session;
	hash_index_insert(&collection->epochs, hash_index_hash(epoch, WIRE_EPOCH_SIZE),
			  session->id); /* has room */
	return session;
}

uint64_t collection_heard(const struct collection *collection, uint64_t since_ns, uint64_t *open)
{
	uint64_t heard = 0;

	*open = 0;
	for (uint32_t i = 0; i < collection->nr_sessions; i++) {
		const struct agent_session *session = collection->sessions[i];

		*open += !session->ended;
		heard += !session->ended && session->heard_ns >= since_ns;
	}
	return heard;
}

void collection_saved(struct collection *collection)
{
	catalog_saved(collection->catalog);
	roster_saved(collection->roster);
	fold_table_clear(collection->totals);
	fold_table_clear(collection->samples);
	timeline_table_saved(collection->timelines);
	idle_log_saved(collection->idle);
	kept_log_saved(collection->kept);
	collective_log_saved(collection->collectives);
	clock_log_saved(collection->clocks);
	placement_log_saved(collection->placements);
	raw_log_saved(collection->raw);
	message_log_clear(collection->messages);
	for (uint32_t i = 0; i < collection->nr_sessions; i++)
		agent_session_saved(collection->sessions[i]);
}

void collection_logged(struct collection *collection)
{
	message_log_clear(collection->messages);
	for (uint32_t i = 0; i < collection->nr_sessions; i++)
		collection->sessions[i]->durable_seq = collection->sessions[i]->received_seq;
}
