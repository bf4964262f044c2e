/* How users share the room for new texts of one agent, by the rule of the agent's own shares
 * (node-agent/base/fair_shares.h): no owner takes what is left, a user one text more while that user then holds no
 * more than is left. So one user alone gets half of all, the next one half of the rest. Room is not given back: the
 * texts are in the store for good. Single-threaded. */
#ifndef TEXT_SHARES_H
#define TEXT_SHARES_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes: of all users; and what a text takes besides its own, so that short ones are bounded in number. */
#define TEXT_SHARES_MAX  (192u << 20)
#define TEXT_SHARES_COST 64u

struct text_share;

/* Embedded; zeroed memory: nothing is taken. */
struct text_shares {
	struct text_share *shares; /* owns; of each user who has one */
	uint32_t nr_shares, max_shares;
	uint64_t bytes; /* taken, by all */
};

void text_shares_fini(struct text_shares *shares);

/* Takes a new text of size bytes where it has room: *has_room. owner: as in struct message_text. 0 or -ENOMEM. */
int text_shares_take(struct text_shares *shares, uint32_t owner, uint32_t size, bool *has_room);

#endif
