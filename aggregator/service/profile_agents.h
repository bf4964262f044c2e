/* Who has come to a profile, and who is still there: its agents, and the links of its nodes. Pure. */
#ifndef PROFILE_AGENTS_H
#define PROFILE_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

struct agent_session;
struct collection;
struct node_profiles;

struct profile_agents { /* borrows both */
	const struct collection *collection;
	const struct node_profiles *nodes; /* NULL: no links */
};

/* The sessions of agents and links, by index from 0 to the count. NULL: there is none, or its epoch is over. */
uint32_t profile_agents_count(struct profile_agents agents);
struct agent_session *profile_agents_at(struct profile_agents agents, uint32_t i);

/* Counts those without a goodbye (*open), and of these the agents that were heard at since_ns or later, and the links
 * that were at links_since_ns or later. A link whose goodbye is in no file counts, and so does a link of an earlier
 * aggregator. */
uint64_t profile_agents_heard(struct profile_agents agents, uint64_t since_ns,
			      uint64_t links_since_ns, uint64_t *open);

/* The time when one was heard last; 0: none. */
uint64_t profile_agents_last_ns(struct profile_agents agents);

/* The time when ranks ran last, as far as is known: that of the last word of an agent whose ranks run, or the end of
 * ranks as their agent said it. 0: none was heard. */
uint64_t profile_agents_ranks_ns(struct profile_agents agents);

/* Counts the hosts that have come to this aggregator or are in the store, each once. -ENOMEM. */
int64_t profile_agents_nodes(struct profile_agents agents);

/* Returns whether agents described processes of all ranks below world_size; false also if that is 0 or less. */
bool profile_agents_have_ranks(struct profile_agents agents, int32_t world_size);

#endif
