#include "aggregator_search.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "rendezvous_search.h"

#include "base/clock.h"

#define TCP       "tcp://"
#define HOST_SIZE 256
#define RETRY_MS  100
#define NS_PER_MS 1000000

struct aggregator_search {
	pthread_mutex_t lock; /* guards `stopped` and `ended` */
	pthread_cond_t stops;
	bool stopped, ended; /* the second to be set frees the search */
	void (*found)(void *context, const char *endpoint);
	void *context;
	char endpoint[];
};

/* Splits "tcp://[::1]:4000" or "tcp://host:4000". */
static void split(const char *endpoint, char host[static HOST_SIZE], const char **port)
{
	const char *text = endpoint + strlen(TCP), *colon = strrchr(text, ':');
	int brackets = *text == '[';

	snprintf(host, HOST_SIZE, "%.*s", (int)(colon - text) - 2 * brackets, text + brackets);
	*port = colon + 1;
}

/* Writes all addresses of the host as endpoints. */
static void resolve(const char *endpoint, struct rendezvous *addresses)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	char host[HOST_SIZE], address[RENDEZVOUS_ENDPOINT_SIZE - 16];
	const char *port;

	memset(addresses, 0, sizeof(*addresses));
	split(endpoint, host, &port);
	if (getaddrinfo(host, port, &hints, &list))
		return;
	for (const struct addrinfo *at = list;
	     at && addresses->nr_endpoints < RENDEZVOUS_ENDPOINTS_MAX; at = at->ai_next) {
		bool is_v6 = at->ai_family == AF_INET6;

		if (getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof(address), NULL, 0,
				NI_NUMERICHOST))
			continue;
		snprintf(addresses->endpoints[addresses->nr_endpoints++], RENDEZVOUS_ENDPOINT_SIZE,
			 TCP "%s%s%s:%.5s", is_v6 ? "[" : "", address, is_v6 ? "]" : "", port);
	}
	freeaddrinfo(list);
}

static bool has_host(const char *endpoint)
{
	return strncmp(endpoint, TCP, strlen(TCP)) == 0 && strrchr(endpoint + strlen(TCP), ':');
}

static const char *look(const char *endpoint, struct rendezvous *addresses)
{
	int found;

	if (!has_host(endpoint))
		return endpoint; /* ZeroMQ itself waits for such a socket */
	resolve(endpoint, addresses);
	found = rendezvous_search_reachable(addresses, RENDEZVOUS_CONNECT_MS);
	return found < 0 ? NULL : addresses->endpoints[found];
}

char *aggregator_search_once(const char *endpoint)
{
	struct rendezvous addresses;
	const char *found = look(endpoint, &addresses);

	return found ? strdup(found) : NULL;
}

static void wait_a_while(struct aggregator_search *search)
{
	const struct timespec until = clock_in(CLOCK_REALTIME, RETRY_MS * NS_PER_MS);

	pthread_cond_timedwait(&search->stops, &search->lock, &until);
}

static void destroy(struct aggregator_search *search)
{
	pthread_cond_destroy(&search->stops);
	pthread_mutex_destroy(&search->lock);
	free(search);
}

static void *run(void *argument)
{
	struct aggregator_search *search = argument;
	struct rendezvous addresses;
	const char *found = NULL;
	bool last;

	pthread_mutex_lock(&search->lock);
	while (!search->stopped && !found) {
		pthread_mutex_unlock(&search->lock);
		found = look(search->endpoint, &addresses);
		pthread_mutex_lock(&search->lock);
		if (found && !search->stopped)
			search->found(search->context, found);
		else if (!search->stopped)
			wait_a_while(search);
	}
	last = search->stopped;
	search->ended = true;
	pthread_mutex_unlock(&search->lock);
	if (last)
		destroy(search);
	return NULL;
}

int aggregator_search_start(const char *endpoint,
			    void (*found)(void *context, const char *endpoint), void *context,
			    struct aggregator_search **search)
{
	size_t size = strlen(endpoint) + 1;
	struct aggregator_search *new_search = calloc(1, sizeof(*new_search) + size);
	pthread_t thread;

	*search = NULL;
	if (!new_search)
		return -ENOMEM;
	memcpy(new_search->endpoint, endpoint, size);
	new_search->found = found;
	new_search->context = context;
	pthread_mutex_init(&new_search->lock, NULL);
	pthread_cond_init(&new_search->stops, NULL);
	int r = -pthread_create(&thread, NULL, run, new_search);
	if (r) {
		destroy(new_search);
		return r;
	}
	pthread_detach(thread);
	*search = new_search;
	return 0;
}

void aggregator_search_stop(struct aggregator_search *search)
{
	bool last;

	if (!search)
		return;
	pthread_mutex_lock(&search->lock);
	last = search->ended;
	search->stopped = true;
	pthread_cond_signal(&search->stops);
	pthread_mutex_unlock(&search->lock);
	if (last)
		destroy(search);
}
