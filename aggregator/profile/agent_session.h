/* One agent's epoch: the store's ids for the agent's ids, and the newest message that was applied and stored
 * (session_apply.h). It is no connection: it outlives reconnects of the agent and restarts of the aggregator.
 * Single-threaded. */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "text_shares.h"

#include "proto/batch/message.h"
#include "proto/ledger.h"

struct catalog;
struct roster;

/* The store's ids of one kind of the agent's ids, which count from 1 without gaps. */
struct session_ids {
	uint32_t *ids; /* owns; ids[agent's id - 1] */
	uint32_t count;
	uint32_t saved; /* the first ids; the store has them */
};

enum session_id_kind {
	SESSION_STRINGS = 0, /* the numbers are part of the store's schema */
	SESSION_MODULES = 1,
	SESSION_FRAMES = 2,
	SESSION_NODES = 3,
	SESSION_PROCESSES = 4,
	SESSION_CODES = 5,
	SESSION_ID_KINDS,
};

struct agent_session {
	struct text_shares texts; /* new texts since the session was made or loaded */
	uint8_t epoch[WIRE_EPOCH_SIZE];
	uint32_t id;       /* the store's */
	uint32_t host;     /* roster id; 0: no HELLO yet */
	uint32_t software; /* string id */
	uint32_t writer;   /* of the store (roster.h) */
	struct session_ids ids[SESSION_ID_KINDS];
	struct ledger_entry *ledger; /* of the agent itself; owns */
	uint32_t nr_ledger;
	uint64_t received_seq; /* applied to the collection */
	uint64_t durable_seq;  /* in the store */
	bool ended;            /* BYE was applied */
	bool superseded;       /* a successor has asked: no further message is applied */
	bool folds; /* it is a link's, which sends pages alone, and is in no collection (node_profiles.h) */
	uint64_t spoke_ns; /* CLOCK_REALTIME of the last message that was applied; 0: not known */
	uint64_t
		heard_ns; /* CLOCK_MONOTONIC of the last message; 0: none since the session was loaded */
	uint64_t
		ranks_ended_ns; /* CLOCK_MONOTONIC, as the last PING said; 0: ranks run, or it is not known */
	struct session_control { /* the agent's last command (control_service.h) */
		uint64_t token;
		uint32_t state, nr_processes;
		uint64_t bound_ns;
	} control;
	bool changed, ledger_changed; /* since the last commit */
};

struct agent_session *agent_session_create(const uint8_t epoch[WIRE_EPOCH_SIZE], uint32_t id);
void agent_session_destroy(struct agent_session *session); /* accepts NULL */

/* Takes the agent's host and software from its HELLO. 0 or -ENOMEM. */
int agent_session_hello(struct agent_session *session, struct catalog *catalog,
			struct roster *roster, const struct message_hello *hello);

/* The successor of this session's agent has asked (hello->asks): ends the epoch, unless the agent has said goodbye.
 * Only an agent of the same host can be the successor, because a ring stays on its host. A question from another host
 * comes from a user who has read the epoch in a ring, and is ignored. Returns whether the epoch is over. */
bool agent_session_supersede(struct agent_session *session, const struct catalog *catalog,
			     const struct roster *roster, const struct message_hello *hello);

/* Adds an id while a session is loaded. 0 or -ENOMEM. */
int agent_session_add_id(struct agent_session *session, enum session_id_kind kind, uint32_t id);

/* Checks that new ids follow the old ones. 0; else an enum refuse_code, and *reason (static storage) says why. */
int agent_session_check_base(const struct agent_session *session, enum session_id_kind kind,
			     uint32_t base, uint32_t count, const char **reason);

/* Returns whether the agent has defined this id; 0 is always defined. */
static inline bool agent_session_defined(const struct agent_session *session,
					 enum session_id_kind kind, uint32_t id)
{
	return id <= session->ids[kind].count;
}

/* The store's id for a defined id of the agent; 0 stays 0. */
static inline uint32_t agent_session_translate(const struct agent_session *session,
					       enum session_id_kind kind, uint32_t id)
{
	return id ? session->ids[kind].ids[id - 1] : 0;
}

void agent_session_saved(struct agent_session *session);

#endif
