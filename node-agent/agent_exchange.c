#include "agent_exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void agent_exchange_init(struct agent_exchange *exchange)
{
	*exchange = (struct agent_exchange){.stop = false};
	pthread_mutex_init(&exchange->lock, NULL);
}

void agent_exchange_fini(struct agent_exchange *exchange)
{
	free(exchange->endpoint);
	pthread_mutex_destroy(&exchange->lock);
}

void agent_exchange_stop(struct agent_exchange *exchange)
{
	pthread_mutex_lock(&exchange->lock);
	exchange->stop = true;
	pthread_mutex_unlock(&exchange->lock);
}

void agent_exchange_command(struct agent_exchange *exchange,
			    const struct record_ring_command *command)
{
	pthread_mutex_lock(&exchange->lock);
	exchange->command = *command;
	exchange->has_command = true;
	pthread_mutex_unlock(&exchange->lock);
}

void agent_exchange_fold(struct agent_exchange *exchange)
{
	pthread_mutex_lock(&exchange->lock);
	exchange->folds = true;
	pthread_mutex_unlock(&exchange->lock);
}

bool agent_exchange_folds(struct agent_exchange *exchange)
{
	pthread_mutex_lock(&exchange->lock);
	bool folds = exchange->folds;
	pthread_mutex_unlock(&exchange->lock);
	return folds;
}

void agent_exchange_ranks_ended(struct agent_exchange *exchange, uint64_t ended_ns)
{
	pthread_mutex_lock(&exchange->lock);
	exchange->ranks_ended_ns = ended_ns;
	pthread_mutex_unlock(&exchange->lock);
}

void agent_exchange_link_behind(struct agent_exchange *exchange, uint64_t count, uint64_t most_ns)
{
	pthread_mutex_lock(&exchange->lock);
	exchange->link_count = count;
	exchange->link_ns = most_ns;
	pthread_mutex_unlock(&exchange->lock);
}

void agent_exchange_link_lag(struct agent_exchange *exchange, uint64_t *count, uint64_t *most_ns)
{
	pthread_mutex_lock(&exchange->lock);
	*count = exchange->link_count;
	*most_ns = exchange->link_ns;
	pthread_mutex_unlock(&exchange->lock);
}

void agent_exchange_connect(struct agent_exchange *exchange, char *endpoint,
			    const struct key_set *keys)
{
	pthread_mutex_lock(&exchange->lock);
	free(exchange->endpoint);
	exchange->endpoint = endpoint;
	exchange->has_keys = keys != NULL;
	if (keys)
		exchange->keys = *keys;
	pthread_mutex_unlock(&exchange->lock);
}

char *agent_exchange_take_endpoint(struct agent_exchange *exchange, struct key_set *keys,
				   bool *has_keys)
{
	pthread_mutex_lock(&exchange->lock);
	char *endpoint = exchange->endpoint;
	*keys = exchange->keys;
	*has_keys = exchange->has_keys;
	exchange->endpoint = NULL;
	pthread_mutex_unlock(&exchange->lock);
	return endpoint;
}

int agent_exchange_watch(struct agent_exchange *exchange, pid_t pid, enum bpf_source_watch what)
{
	int r = -EAGAIN;

	pthread_mutex_lock(&exchange->lock);
	if (exchange->nr_watches < AGENT_EXCHANGE_WATCHES) {
		exchange->watches[exchange->nr_watches++] =
			(struct agent_exchange_watch){pid, what};
		r = 0;
	}
	pthread_mutex_unlock(&exchange->lock);
	return r;
}

pid_t agent_exchange_take_watch(struct agent_exchange *exchange, enum bpf_source_watch *what)
{
	pid_t pid = 0;

	pthread_mutex_lock(&exchange->lock);
	if (exchange->nr_watches) {
		pid = exchange->watches[0].pid;
		*what = exchange->watches[0].what;
		memmove(exchange->watches, exchange->watches + 1,
			--exchange->nr_watches * sizeof(*exchange->watches));
	}
	pthread_mutex_unlock(&exchange->lock);
	return pid;
}

int agent_exchange_stopped(struct agent_exchange *exchange, int32_t rank, int signal)
{
	int r = -EAGAIN;

	pthread_mutex_lock(&exchange->lock);
	if (exchange->nr_stops < AGENT_EXCHANGE_STOPS) {
		exchange->stops[exchange->nr_stops++] = (struct agent_exchange_stop){rank, signal};
		r = 0;
	}
	pthread_mutex_unlock(&exchange->lock);
	return r;
}

bool agent_exchange_take_stop(struct agent_exchange *exchange, int32_t *rank, int *signal)
{
	bool any = false;

	pthread_mutex_lock(&exchange->lock);
	if (exchange->nr_stops) {
		exchange->nr_stops--;
		*rank = exchange->stops[exchange->nr_stops].rank;
		*signal = exchange->stops[exchange->nr_stops].signal;
		any = true;
	}
	pthread_mutex_unlock(&exchange->lock);
	return any;
}

void agent_exchange_status(struct agent_exchange *exchange, struct agent_status *status)
{
	pthread_mutex_lock(&exchange->lock);
	*status = exchange->status;
	pthread_mutex_unlock(&exchange->lock);
}

bool agent_exchange_take(struct agent_exchange *exchange, struct record_ring_command *command,
			 bool *stop, uint64_t *ended_ns)
{
	pthread_mutex_lock(&exchange->lock);
	bool has_command = exchange->has_command;
	*command = exchange->command;
	*stop = exchange->stop;
	*ended_ns = exchange->ranks_ended_ns;
	exchange->has_command = false;
	pthread_mutex_unlock(&exchange->lock);
	return has_command;
}

void agent_exchange_publish(struct agent_exchange *exchange, const struct agent_status *status)
{
	pthread_mutex_lock(&exchange->lock);
	exchange->status = *status;
	pthread_mutex_unlock(&exchange->lock);
}
