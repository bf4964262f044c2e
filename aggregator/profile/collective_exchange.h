/* Finds which kernels of a communicator exchange data with which by sends and receives: the n-th send of a rank to
 * another one belongs to the n-th receive there. Kernels that are connected so are one exchange. Pure; one thread. */
#ifndef COLLECTIVE_EXCHANGE_H
#define COLLECTIVE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "collective_match.h"

struct collective_log_call;

#define COLLECTIVE_EXCHANGE_NONE UINT32_MAX
/* With fewer ranks an exchange of all does not differ from one of two stages. */
#define COLLECTIVE_EXCHANGE_ALL 3u

struct collective_exchange_kernel {
	uint32_t call;                       /* one of its calls: index into the log's calls */
	uint32_t member;                     /* index into the match's members */
	uint32_t exchange;                   /* number; those of one exchange follow one another */
	uint64_t sent_bytes, received_bytes; /* to and from other ranks */
	bool whole;                          /* each kernel of the exchange meets each other one */
	bool all; /* it is whole, and all ranks are in it: it holds them up as an all_to_all does */
	/* A call of the kernel that was the last to begin of those that this one meets. COLLECTIVE_EXCHANGE_NONE: they
	 * do not all have clocks that compare. */
	uint32_t last_call;
};

struct collective_exchanges {
	bool *held; /* owns; for each of the match's entries: it waits for the rest of its exchange */
	bool *all; /* owns; likewise: it is of an exchange of all ranks */
	struct collective_exchange_kernel
		*kernels; /* owns; of exchanges that are known as a whole */
	uint32_t nr_kernels;
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
void collective_exchange_fini(struct collective_exchanges *exchanges);

#endif
