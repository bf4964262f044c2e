/* Finds which kernels of a communicator exchange data with which by sends and receives: the n-th send of a rank to
 * another one belongs to the n-th receive there. Kernels that are connected so are one exchange. It folds exchanges,
 * too, for collective_folding.h. One thread. */
#ifndef COLLECTIVE_EXCHANGE_H
#define COLLECTIVE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collective_folds.h"
#include "collective_match.h"

#define COLLECTIVE_EXCHANGE_NONE UINT32_MAX
/* With fewer ranks an exchange of all does not differ from one of two stages. */
#define COLLECTIVE_EXCHANGE_ALL 3u

struct collective_exchange_kernel {
	uint32_t call;     /* one of its calls: index into the log's calls */
	uint32_t member;   /* index into the match's members */
	uint32_t exchange; /* index into the exchanges; those of one exchange follow one another */
	uint64_t sent_bytes, received_bytes; /* to and from other ranks */
	/* A call of the kernel that was the last to begin of those that this one meets. COLLECTIVE_EXCHANGE_NONE: they
	 * do not all have clocks that compare. */
	uint32_t last_call;
};

struct collective_exchange {
	/* that of the first member's first call, as rows have it; UINT64_MAX: the first member is not in it */
	uint64_t sequence;
	bool old;   /* it waits for nothing any longer */
	bool whole; /* all of its kernels are known, and each meets each other one */
	bool all; /* it is whole, and all ranks are in it: it holds them up as an all_to_all does */
	bool maybe_all; /* it may become one of all ranks */
	/* its calls are not folded: more of them may come, or collectives before them are not folded */
	bool held;
};

struct collective_exchanges {
	/* own; of each of the match's entries, the index of its exchange, or COLLECTIVE_EXCHANGE_NONE */
	uint32_t *exchange_of;
	struct collective_exchange *exchanges; /* owns; some are of no entry */
	struct collective_exchange_kernel
		*kernels; /* owns; of known exchanges, by their sequences */
	uint32_t nr_exchanges, nr_kernels;
	uint32_t nr_compared; /* of the kernels */
};

/* What the calls are of, beside the match. */
struct collective_exchange_calls {
	const struct collective_log_call *calls;
	uint32_t nr_calls;
	const uint32_t *hosts; /* by process */
	uint32_t nr_ranks;     /* of an exchange of all */
	/* how many later calls of its rank, and calls of all ranks, a call is held for */
	uint32_t waiting, waiting_calls;
};

/* Returns when the call's kernel began, by its host's CLOCK_MONOTONIC. The clock must be known. */
int64_t collective_exchange_begin(const struct collective_log_call *call);

/* Finds the exchanges among calls that are not folded. An exchange is held until all of its calls and kernels have
 * come, or one of its calls is too old; with all, none is. Also on error call collective_exchange_fini(). 0 or
 * -ENOMEM. */
int collective_exchange_find(const struct collective_match *match,
			     const struct collective_exchange_calls *calls, bool all,
			     struct collective_exchanges *found);

/* Returns the exchange of one of the match's entries. NULL: it is neither a send nor a receive. */
static inline const struct collective_exchange *
collective_exchange_of(const struct collective_exchanges *exchanges, uint32_t entry)
{
	const uint32_t exchange = exchanges->exchange_of[entry];

	return exchange == COLLECTIVE_EXCHANGE_NONE ? NULL : &exchanges->exchanges[exchange];
}

void collective_exchange_fini(struct collective_exchanges *exchanges);

/* What is folded, and room for it. */
struct collective_folding {
	struct collective_folds *folds;
	const struct collective_log_call *calls;
	uint32_t nr_calls;
	bool all;
	/* own; for the members of the widest communicator so far */
	uint64_t *times;
	uint32_t *order, *at; /* at: of each member of the match, its index in the fold */
	uint32_t room_times, room_order, room_at;
	struct collective_split_end *ends; /* owns; for the same members */
	uint32_t room_ends;
};

/* Returns the sum of a call, which is borrowed until the next one. NULL: out of memory. */
struct collective_sum *collective_folding_sum(const struct collective_folding *folding,
					      uint32_t index, bool is_across);

/* Counts a compared call in its sum. 0 or -ENOMEM. */
int collective_folding_count(struct collective_sum *sum, uint64_t waited_ns, bool is_last,
			     const struct collective_fold_waits *waits);

/* Makes the times of a member's collectives reach to those of a call. */
void collective_folding_extend(struct collective_fold_member *member,
			       const struct collective_log_call *call);

/* Returns the sequence of the first exchange that may be one of all ranks and is held. UINT64_MAX: there is none. */
uint64_t collective_exchange_held_from(const struct collective_exchanges *exchanges);

/* Splits the kernels of the exchanges that are not of all ranks (collective_split.h). Call it before any collective is
 * folded. 0 or -ENOMEM. */
int collective_exchange_split(struct collective_folding *folding,
			      const struct collective_fold *fold,
			      const struct collective_exchanges *exchanges);

/* Splits the kernels of the exchanges of all ranks before a sequence, and compares these as all_to_alls. Call it with
 * sequences that grow, between the collectives: buckets follow one another in time. The last call has UINT64_MAX.
 * 0 or -ENOMEM. */
int collective_exchange_compare(struct collective_folding *folding, struct collective_fold *fold,
				struct collective_exchanges *exchanges, uint64_t sequence);

/* Holds the exchanges of all ranks that are not compared yet, unless they are old. */
void collective_exchange_hold(struct collective_exchanges *exchanges);

#endif
