#include "peer_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/agent_session.h"
#include "base/array.h"

struct peer_table {
	struct peer *peers;
	uint32_t nr_peers, room;
	uint32_t last; /* index of the peer found last, since frames come in runs */
	uint64_t tick;
};

struct peer_table *peer_table_create(void)
{
	return calloc(1, sizeof(struct peer_table));
}

void peer_table_destroy(struct peer_table *table)
{
	if (!table)
		return;
	free(table->peers);
	free(table);
}

static bool matches(const struct peer *peer, const void *id, size_t id_size)
{
	return peer->id_size == id_size && memcmp(peer->id, id, id_size) == 0;
}

static uint32_t most_silent(const struct peer_table *table)
{
	uint32_t index = 0;

	for (uint32_t i = 1; i < table->nr_peers; i++)
		if (table->peers[i].heard < table->peers[index].heard)
			index = i;
	return index;
}

static struct peer *add(struct peer_table *table, const void *id, size_t id_size)
{
	if (table->nr_peers < PEER_TABLE_MAX &&
	    array_reserve(&table->peers, &table->room, table->nr_peers + 1, sizeof(*table->peers)))
		return NULL;
	table->last = table->nr_peers < PEER_TABLE_MAX ? table->nr_peers++ : most_silent(table);
	struct peer *peer = &table->peers[table->last];
	*peer = (struct peer){.id_size = (uint8_t)id_size};
	memcpy(peer->id, id, id_size);
	return peer;
}

struct peer *peer_table_get(struct peer_table *table, const void *id, size_t id_size)
{
	struct peer *peer = NULL;

	assert(id_size > 0 && id_size <= PEER_ID_MAX);
	if (table->last < table->nr_peers && matches(&table->peers[table->last], id, id_size))
		peer = &table->peers[table->last];
	for (uint32_t i = 0; i < table->nr_peers && !peer; i++) {
		if (matches(&table->peers[i], id, id_size)) {
			peer = &table->peers[i];
			table->last = i;
		}
	}
	if (!peer)
		peer = add(table, id, id_size);
	if (peer)
		peer->heard = ++table->tick;
	return peer;
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
