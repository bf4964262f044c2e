/* What other threads and the agent's loop tell each other: requests in one direction, the status in the other. Any
 * thread. */
#ifndef AGENT_EXCHANGE_H
#define AGENT_EXCHANGE_H

#include <pthread.h>
#include <stdbool.h>

#include "agent_status.h"

#include "node-agent/watch/bpf_source.h"
#include "proto/ring/record_ring.h"
#include "proto/trust/key_set.h"

#define AGENT_EXCHANGE_WATCHES 2048u
#define AGENT_EXCHANGE_STOPS   1024u

struct agent_exchange {
	pthread_mutex_t lock; /* all below */
	bool stop, has_command, folds;
	struct record_ring_command command; /* the newest; the loop has not taken it yet */
	char *endpoint; /* the newest; the loop has not taken it yet; owns; NULL: none */
	struct key_set keys;
	bool has_keys;
	struct agent_exchange_watch {
		pid_t pid;
		enum bpf_source_watch what;
	} watches[AGENT_EXCHANGE_WATCHES];
	uint32_t nr_watches;
	struct agent_exchange_stop {
		int32_t rank;
		int signal;
	} stops[AGENT_EXCHANGE_STOPS];
	uint32_t nr_stops;
	uint64_t ranks_ended_ns;      /* of agent_ranks_ended() */
	uint64_t link_count, link_ns; /* of agent_link_behind() */
	struct agent_status status;
};

void agent_exchange_init(struct agent_exchange *exchange);
void agent_exchange_fini(struct agent_exchange *exchange);

/* For other threads, which wake the loop afterwards. */
void agent_exchange_stop(struct agent_exchange *exchange);
void agent_exchange_command(struct agent_exchange *exchange,
			    const struct record_ring_command *command);
void agent_exchange_status(struct agent_exchange *exchange, struct agent_status *status);

void agent_exchange_fold(struct agent_exchange *exchange);

void agent_exchange_ranks_ended(struct agent_exchange *exchange, uint64_t ended_ns);

void agent_exchange_link_behind(struct agent_exchange *exchange, uint64_t count, uint64_t most_ns);

/* For the loop: the newest of agent_exchange_link_behind(). */
void agent_exchange_link_lag(struct agent_exchange *exchange, uint64_t *count, uint64_t *most_ns);

/* Takes endpoint; keys are copied, NULL: none. */
void agent_exchange_connect(struct agent_exchange *exchange, char *endpoint,
			    const struct key_set *keys);

/* For the loop: takes the new endpoint, which it then owns (free()); NULL: nothing new. *has_keys: keys came with it.
 */
char *agent_exchange_take_endpoint(struct agent_exchange *exchange, struct key_set *keys,
				   bool *has_keys);

/* For the loop: whether agent_exchange_fold() was called. */
bool agent_exchange_folds(struct agent_exchange *exchange);

/* 0; -EAGAIN: there is no room for more at the moment. */
int agent_exchange_watch(struct agent_exchange *exchange, pid_t pid, enum bpf_source_watch what);

/* For the loop: takes the next process to watch, in order; 0: none. */
pid_t agent_exchange_take_watch(struct agent_exchange *exchange, enum bpf_source_watch *what);

/* 0; -EAGAIN: there is no room for more at the moment. */
int agent_exchange_stopped(struct agent_exchange *exchange, int32_t rank, int signal);

/* For the loop: takes the newest stop; false: none. */
bool agent_exchange_take_stop(struct agent_exchange *exchange, int32_t *rank, int *signal);

/* For the loop: takes the command, if there is one, and returns whether. *stop: the loop has to stop; this stays true.
 * *ended_ns: of agent_ranks_ended(), as it is now. */
bool agent_exchange_take(struct agent_exchange *exchange, struct record_ring_command *command,
			 bool *stop, uint64_t *ended_ns);
void agent_exchange_publish(struct agent_exchange *exchange, const struct agent_status *status);

#endif
