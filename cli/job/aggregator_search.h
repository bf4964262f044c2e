/* Looks for a site's aggregator, in a thread of its own, until one of its addresses can be reached. The lookup of a
 * name may take long, and must not hold up the caller. */
#ifndef AGGREGATOR_SEARCH_H
#define AGGREGATOR_SEARCH_H

struct aggregator_search;

/* Starts the search. The thread calls found once, with an endpoint whose host is an address, borrowed for the call. 0
 * or -errno; on error *search is NULL. */
int aggregator_search_start(const char *endpoint,
			    void (*found)(void *context, const char *endpoint), void *context,
			    struct aggregator_search **search);

/* Searches once, in the calling thread, which may take long. Returns an endpoint that can be reached now, which the
 * caller owns (free()). NULL: there is none, or no memory. An endpoint that is not tcp://HOST:PORT is returned as it
 * is. */
char *aggregator_search_once(const char *endpoint);

/* Stops the search: found is not called any more. The thread ends by itself and frees its memory. Accepts NULL. */
void aggregator_search_stop(struct aggregator_search *search);

#endif
