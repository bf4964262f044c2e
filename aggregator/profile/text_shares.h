/* Divides the room for one agent's new texts among users, by the rule of the agent's own shares
 * (node-agent/base/fair_shares.h). A user may take a text if the user's texts then take no more room than is left. So a
 * user alone gets half of the room, and the next user half of the rest. Texts without an owner may take all the room
 * that is left. Room is never given back, because the texts stay in the store. Single-threaded. */
#ifndef TEXT_SHARES_H
#define TEXT_SHARES_H

#include <stdbool.h>
#include <stdint.h>

/* The room of all users together, in bytes; and the bytes that each text takes beside its own, which bound the number
 * of short texts. */
#define TEXT_SHARES_MAX  (192u << 20)
#define TEXT_SHARES_COST 64u

struct text_share;

/* Embedded; zeroed memory: nothing is taken. */
struct text_shares {
	struct text_share *shares; /* owns; one for each user with texts */
	uint32_t nr_shares, max_shares;
	uint64_t bytes; /* taken by all users */
};

void text_shares_fini(struct text_shares *shares);

/* Takes room for a new text of size bytes; *has_room: there was room. owner: as in message_strings.owners. 0 or
 * -ENOMEM. */
int text_shares_take(struct text_shares *shares, uint32_t owner, uint32_t size, bool *has_room);

#endif
