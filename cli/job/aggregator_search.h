/* Looks for a site's aggregator, in a thread of its own, until one of its addresses can be reached: a name may take
 * long to be looked up, and nobody waits for it. */
#ifndef AGGREGATOR_SEARCH_H
#define AGGREGATOR_SEARCH_H

struct aggregator_search;

/* found: called once, by that thread, with an endpoint whose host is an address, borrowed for the call. 0 or -errno,
 * *search is then NULL. */
int aggregator_search_start(const char *endpoint,
			    void (*found)(void *context, const char *endpoint), void *context,
			    struct aggregator_search **search);

/* Once, by this thread, which may take long: an endpoint of it that can be reached now; the caller owns it (free()).
 * NULL: there is none, or no memory. What is not tcp://HOST:PORT is returned as it is. */
char *aggregator_search_once(const char *endpoint);

/* From now on nobody is told. The thread ends by itself, and with it what it had. Accepts NULL. */
void aggregator_search_stop(struct aggregator_search *search);

#endif
