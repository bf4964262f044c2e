/* The connections of the receiver, by ZeroMQ's routing id. A routing id is an address for answers; it identifies
 * nobody. The table is bounded: when it is full, it forgets the peer that was silent for longest, an unproven one
 * first. One table is used by one thread. */
#ifndef PEER_TABLE_H
#define PEER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/trust/key_set.h"

#define PEER_ID_MAX    255u
#define PEER_TABLE_MAX 16384u
#define PEER_USER_MAX  255u

struct agent_session;
struct open_profile;

struct peer {
	uint8_t id[PEER_ID_MAX];
	uint8_t id_size;
	bool refused;      /* the peer sent too many bad frames; all its messages are ignored */
	bool gap_reported; /* a gap was reported, and no message in sequence has come since */
	bool ack_due;      /* the peer may have missed an acknowledgement */
	bool watched;      /* its connection is known to be an agent's */
	uint32_t bad_frames;
	uint64_t heard;          /* tick of its last frame */
	uint64_t heard_ns;       /* CLOCK_MONOTONIC, of its last good message */
	uint64_t ranks_ended_ns; /* as in agent_session.h, if has_said_ranks */
	bool has_said_ranks;
	uint64_t clock_ns; /* time of its last clock result that was kept; 0: none */
	uint64_t asked_ns; /* CLOCK_MONOTONIC, of its last question for files; 0: none */
	/* CLOCK_MONOTONIC, when it was told to send its events, and has not come to do so; 0: it was not, or has */
	uint64_t awaited_ns;
	uint64_t acked_seq; /* last acknowledged over this connection */
	uint32_t round_ms;  /* last told over it (message_ack) */
	uint64_t serial;    /* of this peer; another one gets the next */
	struct agent_session *
		session; /* borrowed; NULL: no HELLO yet. While a worker has the profile, no field is read */
	struct open_profile *profile; /* where its HELLO went; borrowed; NULL: there was none */
	char user[PEER_USER_MAX + 1]; /* may send for this user alone; "": for every user */
	char key[KEY_SET_TEXT]; /* its connection's, if munge has to say whose that is; else "" */
	bool proven;            /* with a key: munge said so, and `user` is the user */
	bool proves;            /* munge is asked */
};

/* Returns whether it is not known whose the peer is. It may prove that, and nothing else. */
static inline bool peer_is_unproven(const struct peer *peer)
{
	return *peer->key && !peer->proven;
}

struct peer_table;

/* NULL: out of memory. peer_table_destroy() accepts NULL. */
struct peer_table *peer_table_create(void);
void peer_table_destroy(struct peer_table *table);

/* The peer with this id (1 to PEER_ID_MAX bytes, asserted), made if it is new. NULL: out of memory.
 * Borrowed until the next call. */
struct peer *peer_table_get(struct peer_table *table, const void *id, size_t id_size);

/* The peer with this id; NULL: there is none. Borrowed until the next get. */
struct peer *peer_table_find(struct peer_table *table, const void *id, size_t id_size);

/* Names a peer for as long as it is the same: the index of its place, and its serial. */
uint64_t peer_table_index(const struct peer_table *table, const struct peer *peer);

/* The peer of that name; NULL: it is forgotten, or another's. Borrowed until the next get. */
struct peer *peer_table_of(struct peer_table *table, uint64_t index, uint64_t serial);

/* Makes the peer another user's: all but its id is forgotten. A name above PEER_USER_MAX is cut. */
void peer_set_user(struct peer *peer, const char *user);

/* Makes the peer one with this key, which is not proven: all but its id is forgotten. */
void peer_set_key(struct peer *peer, const char *key);

/* Borrowed until the next get. */
struct peer *peer_table_peers(struct peer_table *table, uint32_t *nr_peers);

/* Detaches a session from all peers. */
void peer_table_detach(struct peer_table *table, const struct agent_session *session);

/* Attaches a session to this peer of the table, and detaches it from older peers. Messages in an older peer's queue
 * come again by this one. */
void peer_table_attach(struct peer_table *table, struct peer *peer, struct agent_session *session);

#endif
