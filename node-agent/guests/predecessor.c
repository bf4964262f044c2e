#include "predecessor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/base/fair_shares.h"
#include "proto/trust/key_set.h"

#define TEXTS 3

struct predecessor {
	uint8_t epoch[WIRE_EPOCH_SIZE];
	struct publisher *publisher; /* owns; NULL: the answer is known */
	uid_t uid;                   /* the user that asked first */
	uint64_t used;               /* number of the call that asked last */
	int result;
	uint64_t durable_seq;
};

struct predecessor_table {
	struct publisher_options options;
	struct key_set keys;
	char *endpoint, *texts[TEXTS]; /* own */
	struct predecessor entries[PREDECESSORS_MAX];
	uint32_t count;
	uint64_t nr_calls;
};

static void text_copy(struct message_text *text, char **copy)
{
	*copy = text->size ? strndup(text->data, text->size) : strdup("");
	text->data = *copy;
}

struct predecessor_table *predecessor_table_create(const struct publisher_options *own)
{
	struct predecessor_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->options = *own;
	table->options.hello.asks = true;
	table->options.clock_ms = 0;
	if (own->keys) {
		table->keys = *own->keys;
		table->options.keys = &table->keys;
	}
	table->options.endpoint = table->endpoint = strdup(own->endpoint);
	text_copy(&table->options.hello.software, &table->texts[0]);
	text_copy(&table->options.hello.node, &table->texts[1]);
	text_copy(&table->options.hello.boot_id, &table->texts[2]);
	if (table->endpoint && table->texts[0] && table->texts[1] && table->texts[2])
		return table;
	predecessor_table_destroy(table);
	return NULL;
}

void predecessor_table_destroy(struct predecessor_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->count; i++)
		publisher_destroy(table->entries[i].publisher);
	for (int i = 0; i < TEXTS; i++)
		free(table->texts[i]);
	free(table->endpoint);
	memset(&table->keys, 0, sizeof(table->keys));
	free(table);
}

static struct predecessor *find(struct predecessor_table *table,
				const uint8_t epoch[static WIRE_EPOCH_SIZE])
{
	for (uint32_t i = 0; i < table->count; i++)
		if (memcmp(table->entries[i].epoch, epoch, WIRE_EPOCH_SIZE) == 0)
			return &table->entries[i];
	return NULL;
}

/* Finds a place for an epoch that this user asks about. It prefers a place that was never used, as long as the user may
 * have another one. Otherwise it replaces the answer unused for longest, the user's own first. NULL: all of these
 * places wait for answers. */
static struct predecessor *find_place(struct predecessor_table *table, uid_t uid)
{
	struct predecessor *place = NULL;
	uint32_t held = 0;

	for (uint32_t i = 0; i < table->count; i++)
		held += table->entries[i].uid == uid;

	if (fair_shares_admit(uid, held, PREDECESSORS_MAX - table->count))
		return &table->entries[table->count++];
	for (uint32_t i = 0; i < table->count; i++) {
		struct predecessor *entry = &table->entries[i];

		if (!entry->publisher && (held == 0 || entry->uid == uid) &&
		    (!place || entry->used < place->used))
			place = entry;
	}
	return place;
}

static struct predecessor *ask(struct predecessor_table *table,
			       const uint8_t epoch[static WIRE_EPOCH_SIZE], uid_t uid)
{
	struct predecessor *entry = find_place(table, uid);

	if (!entry)
		return NULL;
	*entry = (struct predecessor){.uid = uid};
	memcpy(entry->epoch, epoch, WIRE_EPOCH_SIZE);
	memcpy(table->options.hello.epoch, epoch, WIRE_EPOCH_SIZE);
	entry->result = publisher_create(&table->options, &entry->publisher, NULL);
	return entry;
}

/* The publisher is destroyed when the answer has come. */
static void step(struct predecessor *entry, uint64_t now_ns)
{
	if (!entry->publisher)
		return;
	entry->result = publisher_step(entry->publisher, now_ns);
	if (entry->result == 0 && !publisher_connected(entry->publisher))
		return;
	entry->durable_seq = publisher_acked_seq(entry->publisher);
	publisher_destroy(entry->publisher);
	entry->publisher = NULL;
}

/* Steps the other questions, too: the process that asked may have ended, and the publisher must be closed. */
static void step_others(struct predecessor_table *table, const struct predecessor *asked,
			uint64_t now_ns)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (&table->entries[i] != asked)
			step(&table->entries[i], now_ns);
}

int predecessor_table_ask(struct predecessor_table *table,
			  const uint8_t epoch[static WIRE_EPOCH_SIZE], uid_t uid, uint64_t now_ns,
			  uint64_t *durable_seq)
{
	struct predecessor *entry = find(table, epoch);

	*durable_seq = 0;
	step_others(table, entry, now_ns);
	if (!entry)
		entry = ask(table, epoch, uid);
	if (!entry)
		return -EAGAIN;
	entry->used = ++table->nr_calls;
	step(entry, now_ns);
	if (entry->publisher)
		return -EAGAIN;
	*durable_seq = entry->durable_seq;
	return entry->result;
}
