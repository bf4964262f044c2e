/* Lets users list and read their jobs' profiles (proto/wire.md, FETCH). Before that, peer_rights.h has checked whose
 * jobs the peer may ask for. Only an aggregator that knows users' keys answers: where all users share the agents' keys,
 * each of them could read all profiles. Used by the aggregator's thread. */
#ifndef FETCH_SERVICE_H
#define FETCH_SERVICE_H

#include <stdbool.h>

#include "peer_table.h"
#include "receiver.h"

#include "proto/batch/message.h"

struct job_fetch;

struct fetch_service { /* zeroed memory refuses everything */
	struct receiver *receiver;
	bool has_jobs;
	struct job_fetch *fetch; /* owns; NULL: nobody may read */
};

/* directory: of the jobs, copied; NULL: there are none. knows_users: as receiver_protect(). wake_fd: as
 * job_fetch_start(). receiver is borrowed until stop. 0 or -errno. */
int fetch_service_start(struct fetch_service *service, struct receiver *receiver,
			const char *directory, bool knows_users, int wake_fd);
void fetch_service_stop(struct fetch_service *service); /* zeroed memory is fine */

/* Connections that one user's keys may fetch by at a time. Each may hold blocks in this process that it does not
 * read. */
#define FETCH_SERVICE_OF_USER   32u
#define FETCH_SERVICE_ASKING_NS 30000000000u /* so long after a question a connection counts */

/* Returns whether the peer may ask at now_ns (CLOCK_MONOTONIC), and notes that it does. */
bool fetch_service_may_ask(struct peer_table *peers, struct peer *peer, uint64_t now_ns);

/* Takes a question, drops it if the user has too many connections, or refuses it. Answers, which only an aggregator
 * sends, count as bad. */
void fetch_service_handle(struct fetch_service *service, struct peer *peer,
			  const struct message_fetch *fetch);

/* Sends the answers that are ready. One that cannot be sent is dropped, and its question comes again. */
void fetch_service_step(struct fetch_service *service);

#endif
