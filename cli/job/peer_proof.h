/* Asks a peer for the proof that it has the secret of an aggregator's public key, by a handshake of CURVE. Any program
 * could take connections where an aggregator was, and greet as one. Any thread. */
#ifndef PEER_PROOF_H
#define PEER_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/trust/key_set.h"

/* Waits within_ms for the proof. endpoint: ZeroMQ's; keys: an agent's. false: there was none in that time. */
bool peer_proof_comes(const char *endpoint, const struct key_set *keys, uint32_t within_ms);

#endif
