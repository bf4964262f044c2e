/* The profiles that nodes fold themselves: the sessions of the nodes' links, the pages that these send, and the file of
 * all pages. Sessions are in no collection and in no file: a link whose epoch is not known begins anew, and has all
 * pages. Used by the aggregator's thread. */
#ifndef NODE_PROFILES_H
#define NODE_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define NODE_PROFILES_LINKS_MAX 65536u

/* From the first page on, the file is written after this time, twice this time, four times and so on. */
#define NODE_PROFILES_SAVE_NS 1000000000ull
/* It is also written so long after a node has come, so that nobody forgets the node if both die. Then it rests for so
 * many times what it took. Goodbyes do not wait for that, and neither do readers (PAGE_SET_WANTED). */
#define NODE_PROFILES_NEW_NS     1000000000ull
#define NODE_PROFILES_REST_TIMES 9u
/* While it is written, from one look at that to the next. */
#define NODE_PROFILES_END_NS 10000000ull
/* From one look for a reader's wish to the next. */
#define NODE_PROFILES_LOOK_NS 500000000ull
/* A reader's wish makes the links send more often for so long. The first such reader waits for their rounds. */
#define NODE_PROFILES_WATCHED_NS 30000000000ull
#define NODE_PROFILES_FRESH_NS   1000000000ull
/* Then a round comes after a second, or later: all pages are to take so many bytes a second at most. */
#define NODE_PROFILES_ROUND_MS     1000u
#define NODE_PROFILES_ROUND_MS_MAX 10000u
#define NODE_PROFILES_ROUND_BYTES  50000000u

/* A link's round is to have no more bytes than its share of those of ten seconds, but may have so many. */
#define NODE_PROFILES_LINK_MIN (256u << 10)

struct agent_session;
struct node_profiles;
struct page_set;

/* Loads the file, if there is one. The path is copied. 0; -EPROTO, -EACCES, -EIO, -ENOMEM of page_set_load(). On error
 * *profiles is NULL. */
int node_profiles_open(const char *path, struct node_profiles **profiles);

/* Waits until the file is written, if that has begun. What is not saved is dropped. Accepts NULL. */
void node_profiles_close(struct node_profiles *profiles);

/* The session of a link's epoch, made if it is new. Borrowed until close. NULL: out of memory, or *is_full: there are
 * NODE_PROFILES_LINKS_MAX. */
struct agent_session *node_profiles_session(struct node_profiles *profiles,
					    const uint8_t epoch[WIRE_EPOCH_SIZE], bool *is_full);

/* Returns another link of the session's host that has sent nothing, so that this one has come in its place: an
 * aggregator that does not know an epoch welcomes it first, and then the link begins anew. NULL: there is none. */
struct agent_session *node_profiles_unused(const struct node_profiles *profiles,
					   const struct agent_session *session);

/* Applies the link's message with the next sequence number (asserted), or refuses it, and no page changes. Pages are
 * durable at once, because the node has the data, too. A goodbye is durable when the file has it, because the node then
 * removes its own. 0; an enum refuse_code, and *reason (static storage) says why; -ENOMEM. *superseded: an earlier link
 * of the same profile, whose epoch is over with the first message that names the profile; NULL: none. */
int node_profiles_apply(struct node_profiles *profiles, struct agent_session *session,
			const struct message *message, uint64_t now_ns, const char **reason,
			const struct agent_session **superseded);

/* Saves in a thread of its own if that is due. Call it often. Failures are logged, and tried again. */
void node_profiles_step(struct node_profiles *profiles, uint64_t now_ns);

/* The time of the next save, or until_ns if that is earlier. */
uint64_t node_profiles_until(const struct node_profiles *profiles, uint64_t until_ns);

/* Returns the time from one round to the next that links are to keep now (message_ack), as the last step found. 0: as
 * they like. */
uint32_t node_profiles_round_ms(const struct node_profiles *profiles);

/* Returns how many bytes a round of one of so many links may have. Then it merges its lightest totals
 * (node-agent/link/page_sender.h), but for the last one. */
uint64_t node_profiles_round_bytes(uint64_t nr_links);

/* Saves what is not saved, and waits for it. 0 or -errno, which was logged. */
int node_profiles_save(struct node_profiles *profiles);

/* Counts the links. Links of an earlier aggregator count, even if they have not come again. Links that a later one has
 * replaced do not. A link that has named no profile yet may be one that has not come again: such a pair counts once.
 * The second is as collection_heard(), for links. One whose goodbye waits for the file was heard last with its goodbye:
 * it gives up two seconds later, whatever it says until then. */
uint64_t node_profiles_links(const struct node_profiles *profiles);
uint64_t node_profiles_heard(const struct node_profiles *profiles, uint64_t since_ns,
			     uint64_t *open);

uint64_t node_profiles_bytes(const struct node_profiles *profiles); /* of all pages */

/* All pages; borrowed until close. */
const struct page_set *node_profiles_pages(const struct node_profiles *profiles);

/* The sessions, by index from 0 to the count; NULL where there is none, or its epoch is over. */
uint32_t node_profiles_count(const struct node_profiles *profiles);
struct agent_session *node_profiles_at(const struct node_profiles *profiles, uint32_t i);

#endif
