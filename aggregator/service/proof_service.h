/* Lets users prove by munge whose their connections are (proto/wire.md, PROOF). munged is asked in a thread of its own,
 * so a munged that is stopped delays new connections alone. Used by the aggregator's thread. */
#ifndef PROOF_SERVICE_H
#define PROOF_SERVICE_H

#include "peer_table.h"
#include "receiver.h"

#include "proto/batch/message.h"
#include "proto/trust/key_set.h"

struct munge_worker;

struct proof_service { /* zeroed memory answers nobody */
	struct receiver *receiver;
	struct munge_worker *worker; /* owns */
	char server_public[KEY_SET_TEXT];
	uint64_t refused;    /* proofs that were not believed */
	uint64_t failed_ns;  /* time of the last line on munged; 0: none */
	bool was_unbelieved; /* a line on a refused proof was written */
};

/* server_public: the aggregator's, copied. wake_fd: as munge_worker_start(). receiver is borrowed until stop. A munged
 * that does not answer gets a line. 0 or -errno: -ENOPKG: there is no libmunge. On error *error is one line, which the
 * caller owns (free()). */
int proof_service_start(struct proof_service *service, struct receiver *receiver,
			const char *server_public, int wake_fd, char **error);
void proof_service_stop(struct proof_service *service); /* zeroed memory is fine */

/* Takes a peer's proof. It is dropped if there is no room for it, or if munged is asked about an earlier one of this
 * peer; another one comes. A peer that is known already gets its answer again. */
void proof_service_handle(struct proof_service *service, struct peer *peer,
			  const struct message_proof *proof);

/* Takes what munged has said since the last call, and answers. */
void proof_service_step(struct proof_service *service, uint64_t now_ns);

#endif
