/* The words between a job's keeper and rank 0 (job_keeper.h), or the node that takes over (job_standby.h). The socket
 * keeps messages apart (SOCK_SEQPACKET). */
#ifndef KEEPER_WORD_H
#define KEEPER_WORD_H

#include <stdbool.h>
#include <stdint.h>

#define KEEPER_WORD_ENDED  'e' /* from rank 0: the job has ended well */
#define KEEPER_WORD_FAILED 'f' /* from rank 0: it has failed; a closed connection means the same */
#define KEEPER_WORD_LIVES                                                                          \
	'b' /* to rank 0: nodes have not ended yet; struct keeper_lives has more */
#define KEEPER_WORD_WRITES                                                                         \
	'w' /* to rank 0: all nodes of its block have ended; the aggregator writes, or waits for other blocks */
#define KEEPER_WORD_DONE  'd' /* to rank 0: the profile is written, or another aggregator will */
#define KEEPER_WORD_LEADS 'l' /* to the node that takes over: agents can find the aggregator */
#define KEEPER_WORD_DECLINES                                                                       \
	'o' /* to a node that has asked its process to take over (job_standby.h): it has no aggregator */
#define KEEPER_WORD_NONE 'n' /* in place of a word: none has come */

/* Who has not ended. All words but KEEPER_WORD_LIVES are the first byte alone. */
struct keeper_lives {
	char word;
	bool took_over;                /* the aggregator is not the step's first one */
	uint32_t nr_nodes, nr_absent;  /* of the step; those that have not come; 0: not known */
	uint64_t nr_agents, nr_silent; /* agents that have come; without a goodbye */
	uint64_t ran_ns;               /* when ranks ran last (aggregator_status.ranks_ns) */
};

/* Is called when it is known that ranks of other nodes ran until since_ns. */
typedef void (*keeper_word_told)(void *context, uint64_t since_ns);

/* Returns the keeper's last word before END_BUDGET_MS from the job's end are over (job_keeper_await()); 0: it has
 * ended without one, or there is none any more. *lives: of the last KEEPER_WORD_LIVES, if one came. told: NULL: nobody
 * is told. */
char keeper_word_await(int fd, uint64_t ended_ns, bool failed, struct keeper_lives *lives,
		       keeper_word_told told, void *context);

/* A line for each kind of loss. folds_on_nodes: a node that did not come has a profile of its own, and nothing is lost
 * by that. */
void keeper_word_say_missing(const struct keeper_lives *lives, bool folds_on_nodes);

/* What rank 0 says if the keeper's last word was this one. */
void keeper_word_say_left(char last, const struct keeper_lives *lives, bool folds_on_nodes);

#endif
