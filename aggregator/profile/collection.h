/* All data that the aggregator has and the store keeps. It owns its parts; their headers say which code changes them.
 * Single-threaded. */
#ifndef COLLECTION_H
#define COLLECTION_H

#include <stdint.h>

#include "base/hash_index.h"
#include "proto/batch/message.h"

struct agent_session;
struct catalog;
struct clock_log;
struct collective_log;
struct event_packer;
struct fold_table;
struct idle_log;
struct kept_log;
struct message_log;
struct placement_log;
struct raw_log;
struct roster;
struct timeline_table;

struct collection {
	struct catalog *catalog;
	struct roster *roster;
	struct fold_table *totals; /* added since the last commit */
	/* host threads' sums, added since the last commit; kind is an enum host_sample_kind */
	struct fold_table *samples;
	struct timeline_table *timelines;
	struct idle_log *idle;
	struct kept_log *kept;
	struct collective_log *collectives;
	struct clock_log *clocks;
	struct placement_log *placements;
	struct raw_log *raw;
	struct message_log *messages;    /* that were applied since the last commit */
	struct event_packer *events;     /* borrowed; gets launches and GPU records; NULL: none */
	struct agent_session **sessions; /* owns; sessions[id - 1] */
	uint32_t nr_sessions, room_sessions;
	uint32_t nr_writers;      /* ROSTER_WRITER alone; a merged profile has more */
	struct hash_index epochs; /* session ids */
};

/* NULL: out of memory. collection_destroy() accepts NULL. */
struct collection *collection_create(void);
void collection_destroy(struct collection *collection);

/* The session of an epoch; NULL: there is none. Borrowed until destroy. */
struct agent_session *collection_find_session(const struct collection *collection,
					      const uint8_t epoch[WIRE_EPOCH_SIZE]);

/* The session of an epoch, made if it is new. NULL: out of memory. */
struct agent_session *collection_session(struct collection *collection,
					 const uint8_t epoch[WIRE_EPOCH_SIZE]);

/* Returns the number of agents that have sent something since since_ns (CLOCK_MONOTONIC; 0: all) and have not said
 * goodbye. *open: all agents that have not said goodbye. */
uint64_t collection_heard(const struct collection *collection, uint64_t since_ns, uint64_t *open);

/* Marks everything as saved, after the store has taken it. collection_logged(): the store has taken the messages alone,
 * so that agents can be answered, and everything else is still to be saved. */
void collection_saved(struct collection *collection);
void collection_logged(struct collection *collection);

#endif
