/* Looks for a site's aggregator, in a thread of its own, until one of its addresses can be reached: a name may take long to be looked up, and nobody waits for it. */
#ifndef AGGREGATOR_SEARCH_H
#define AGGREGATOR_SEARCH_H

struct aggregator_search;

/* found: called once, by that thread, with an endpoint whose host is an address, borrowed for the call. 0 or -errno, *search is then NULL. */
int aggregator_search_start(const char *endpoint,
			    void (*found)(void *context, const char *endpoint), void *context,
			    struct aggregator_search **search);

/* From now on nobody is told. The thread ends by itself, and with it what it had. Accepts NULL. */
void aggregator_search_stop(struct aggregator_search *search);

#endif
