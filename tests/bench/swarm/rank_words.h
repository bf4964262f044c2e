/* What a rank tells beside its events: itself, its ledger, its collectives and host samples. Single-threaded. */
#ifndef RANK_WORDS_H
#define RANK_WORDS_H

#include "rank.h"

/* Each function fills a message. What the message points to is borrowed until the function's next call, for any rank. */

/* The process in that state (enum process_state), with its GPUs. */
void rank_words_process(const struct rank *rank, uint32_t state, struct message *message);

/* The communicator of all ranks, of which the collectives are. */
void rank_words_communicator(const struct rank *rank, struct message *message);

/* The ledger so far. */
void rank_words_ledger(const struct rank *rank, struct message *message);

/* The collectives whose launches were made and which were not told yet, or some of them; false: there is none. */
bool rank_words_collectives(struct rank *rank, struct message *message);

/* The host samples up to until_ns that were not told yet, or some of them; false: there is none. */
bool rank_words_samples(struct rank *rank, uint64_t until_ns, struct message *message);

#endif
