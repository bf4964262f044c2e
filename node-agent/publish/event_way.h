/* How the events of a node come into the job's profile. */
#ifndef EVENT_WAY_H
#define EVENT_WAY_H

enum event_way {
	/* WELCOME is to say, and nothing is sent before (message_hello.offers); also of an agent that has not begun */
	EVENT_WAY_ASKS,
	EVENT_WAY_SENDS, /* the agent sends them to the aggregator that it was given */
	EVENT_WAY_FOLDS, /* the agent waits for the endpoint of the node's own aggregator */
};

#endif
