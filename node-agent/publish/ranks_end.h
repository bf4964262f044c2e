/* When the last of this node's ranks has ended, and whether the aggregator of this connection knows it. Pure. */
#ifndef RANKS_END_H
#define RANKS_END_H

#include <stdbool.h>
#include <stdint.h>

#define RANKS_END_NS_PER_MS 1000000u

struct ranks_end {
	uint64_t ended_ns; /* 0: ranks run, or it is not known */
	bool untold;
};

static inline void ranks_end_set(struct ranks_end *end, uint64_t ended_ns)
{
	end->untold |= end->ended_ns != ended_ns;
	end->ended_ns = ended_ns;
}

/* Another connection begins, maybe to another aggregator. */
static inline void ranks_end_forget_told(struct ranks_end *end)
{
	end->untold = end->ended_ns != 0;
}

/* As in message_ping. */
static inline uint64_t ranks_end_age_ms(const struct ranks_end *end, uint64_t now_ns)
{
	if (!end->ended_ns)
		return 0;
	return end->ended_ns < now_ns ? (now_ns - end->ended_ns) / RANKS_END_NS_PER_MS + 1 : 1;
}

#endif
