/* Where the ranks of a communicator, threads and processes of one host, wait for one another and learn what each
 * brings. Any thread. */
#ifndef MEETING_H
#define MEETING_H

#include <stdint.h>

#define MEETING_RANKS_MAX 64u

struct meeting_word {
	int32_t color, key; /* of a split */
};

/* Waits until nr_ranks (MEETING_RANKS_MAX at most) have come to the meeting of this name, each with its own rank below
 * that. words[] are then those of all, by rank. A name is good for one meeting at a time. 0 or -errno. */
int meeting_hold(uint64_t name, uint32_t rank, uint32_t nr_ranks, const struct meeting_word *mine,
		 struct meeting_word words[]);

#endif
