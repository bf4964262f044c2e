#include "peer_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/agent_session.h"
#include "base/array.h"
#include "base/hash_index.h"

/* A peer may become so many users' before its serial could be another's. */
#define PEER_USERS_MAX (1ull << 24)

struct peer_table {
	struct peer *peers;
	uint32_t nr_peers, room;
	struct hash_index index; /* of routing ids; position + 1 */
	uint64_t tick, serial;
};

struct peer_table *peer_table_create(void)
{
	return calloc(1, sizeof(struct peer_table));
}

void peer_table_destroy(struct peer_table *table)
{
	if (!table)
		return;
	hash_index_fini(&table->index);
	free(table->peers);
	free(table);
}

struct key {
	const void *id;
	size_t size;
};

static bool has_id(const void *context, uint32_t position, const void *key)
{
	const struct peer *peer = &((const struct peer_table *)context)->peers[position - 1];
	const struct key *wanted = key;

	return peer->id_size == wanted->size && memcmp(peer->id, wanted->id, wanted->size) == 0;
}

static uint32_t most_silent(const struct peer_table *table)
{
	uint32_t index = 0;

	for (uint32_t i = 1; i < table->nr_peers; i++) {
		const struct peer *peer = &table->peers[i], *best = &table->peers[index];
		bool is_unproven = peer_is_unproven(peer);

		if (is_unproven == peer_is_unproven(best) ? peer->heard < best->heard : is_unproven)
			index = i;
	}
	return index;
}

static struct peer *add(struct peer_table *table, const void *id, size_t id_size, uint32_t hash)
{
	bool is_full = table->nr_peers == PEER_TABLE_MAX;

	if (!is_full && (array_reserve(&table->peers, &table->room, table->nr_peers + 1,
				       sizeof(*table->peers)) ||
			 hash_index_reserve(&table->index, table->nr_peers + 1)))
		return NULL;
	uint32_t position = is_full ? most_silent(table) : table->nr_peers++;
	struct peer *peer = &table->peers[position];
	if (is_full)
		hash_index_replace(&table->index, hash_index_hash(peer->id, peer->id_size),
				   position + 1, 0);
	hash_index_insert(&table->index, hash, position + 1); /* has room */
	table->serial += PEER_USERS_MAX;
	*peer = (struct peer){.id_size = (uint8_t)id_size, .serial = table->serial};
	memcpy(peer->id, id, id_size);
	return peer;
}

struct peer *peer_table_find(struct peer_table *table, const void *id, size_t id_size)
{
	const struct key key = {id, id_size};
	uint32_t position =
		hash_index_find(&table->index, hash_index_hash(id, id_size), has_id, table, &key);

	return position ? &table->peers[position - 1] : NULL;
}

struct peer *peer_table_get(struct peer_table *table, const void *id, size_t id_size)
{
	const struct key key = {id, id_size};
	uint32_t hash = hash_index_hash(id, id_size);
	uint32_t position = hash_index_find(&table->index, hash, has_id, table, &key);

	assert(id_size > 0 && id_size <= PEER_ID_MAX);
	struct peer *peer = position ? &table->peers[position - 1] : add(table, id, id_size, hash);
	if (peer)
		peer->heard = ++table->tick;
	return peer;
}

uint64_t peer_table_index(const struct peer_table *table, const struct peer *peer)
{
	return (uint64_t)(peer - table->peers);
}

struct peer *peer_table_of(struct peer_table *table, uint64_t index, uint64_t serial)
{
	assert(index < table->nr_peers);
	return table->peers[index].serial == serial ? &table->peers[index] : NULL;
}

void peer_set_user(struct peer *peer, const char *user)
{
	struct peer other = {
		.id_size = peer->id_size, .heard = peer->heard, .serial = peer->serial + 1};

	memcpy(other.id, peer->id, peer->id_size);
	strncpy(other.user, user, PEER_USER_MAX);
	*peer = other;
}

void peer_set_key(struct peer *peer, const char *key)
{
	peer_set_user(peer, "");
	strncpy(peer->key, key, KEY_SET_TEXT - 1);
}

struct peer *peer_table_peers(struct peer_table *table, uint32_t *nr_peers)
{
	*nr_peers = table->nr_peers;
	return table->peers;
}

void peer_table_detach(struct peer_table *table, const struct agent_session *session)
{
	for (uint32_t i = 0; i < table->nr_peers; i++)
		if (table->peers[i].session == session)
			table->peers[i].session = NULL;
}

void peer_table_attach(struct peer_table *table, struct peer *peer, struct agent_session *session)
{
	peer_table_detach(table, session);
	peer->session = session;
	peer->acked_seq = session->durable_seq;
	peer->gap_reported = peer->ack_due = false;
}
