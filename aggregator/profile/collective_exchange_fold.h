/* Folds what is known of exchanges (collective_exchange.h), and has what it shares with the rest of
 * collective_folds_take(), of which it is a part. Not for others; one thread. */
#ifndef COLLECTIVE_EXCHANGE_FOLD_H
#define COLLECTIVE_EXCHANGE_FOLD_H

#include "collective_exchange.h"
#include "collective_folds.h"

struct collective_folding {
	struct collective_folds *folds;
	const struct collective_log_call *calls;
	uint32_t nr_calls;
	bool all;
	/* own; for the members of the widest communicator so far */
	uint64_t *times;
	uint32_t *order, *at; /* at: of each member of the match, its index in the fold */
	uint32_t room_times, room_order, room_at;
	struct collective_split_end *ends; /* owns; likewise */
	uint32_t room_ends;
};

/* Returns the sum of a call, which is borrowed until the next one. NULL: out of memory. */
struct collective_sum *collective_folding_sum(const struct collective_folding *folding,
					      uint32_t index, bool is_across);

/* Counts a compared call in its sum. 0 or -ENOMEM. */
int collective_folding_count(struct collective_sum *sum, uint64_t waited_ns, bool is_last,
			     const struct collective_fold_waits *waits);

/* Makes a call the last one of a member's collectives. */
void collective_folding_extend(struct collective_fold_member *member,
			       const struct collective_log_call *call);

/* Splits the kernels of the exchanges (collective_split.h). 0 or -ENOMEM. */
int collective_exchange_split(struct collective_folding *folding,
			      const struct collective_fold *fold,
			      const struct collective_exchanges *exchanges);

/* Compares the exchanges of all ranks as all_to_alls. Call it when the kernels are split. 0 or -ENOMEM. */
int collective_exchange_compare(struct collective_folding *folding, struct collective_fold *fold,
				const struct collective_exchanges *exchanges);

#endif
