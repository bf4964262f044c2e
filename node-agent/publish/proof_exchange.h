/* Proves to an aggregator whose a connection's key is, by munge: each connection brings a fresh credential
 * (proto/wire.md, PROOF). Until the aggregator has answered, nothing else is sent. No function blocks. Single-threaded:
 * its socket calls it. */
#ifndef PROOF_EXCHANGE_H
#define PROOF_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time until another proof follows one without an answer. It doubles each time, up to the second value. */
#define PROOF_EXCHANGE_AGAIN_MS     500u
#define PROOF_EXCHANGE_AGAIN_MAX_MS 8000u

struct proof_exchange;

/* epoll_fd gets the descriptors that say when there is work; borrowed until destroy. 0 or -errno; on error *exchange is
 * NULL. */
int proof_exchange_create(int epoll_fd, struct proof_exchange **exchange);
void proof_exchange_destroy(struct proof_exchange *exchange); /* accepts NULL */

/* Begins for a new connection, or for one that was lost and comes again. The keys are copied; "": those of the last
 * time. */
void proof_exchange_begin(struct proof_exchange *exchange, const char *server_public,
			  const char *client_public);

/* Returns whether the aggregator knows whose the connection is. */
bool proof_exchange_is_done(const struct proof_exchange *exchange);

/* Call it whenever there may be work. can_send: a frame could be sent now. Returns the frame that is to be sent,
 * borrowed until the next call; NULL: none. */
const uint8_t *proof_exchange_step(struct proof_exchange *exchange, bool can_send, size_t *size);

/* Notes that the frame is on its way. */
void proof_exchange_sent(struct proof_exchange *exchange);

/* Returns whether proof_exchange_step() would do anything if a frame could be sent. */
bool proof_exchange_wants(const struct proof_exchange *exchange);

/* Takes a frame of the aggregator's. false: it is nothing about proofs. */
bool proof_exchange_take(struct proof_exchange *exchange, const uint8_t *frame, size_t size);

/* Returns why the connection is not proven, in one line; "": nothing stands in the way. Borrowed until the next
 * call. */
const char *proof_exchange_problem(const struct proof_exchange *exchange);

#endif
