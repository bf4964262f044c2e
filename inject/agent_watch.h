/* Sees that the ring has an agent: asks again one that has not answered, and hands the ring to the next one on the
 * same path when the last is gone. Offers do no harm: an agent that has the ring drops them (record_ring.h). On the
 * guest's own thread, but for agent_watch_offer(); one per process. */
#ifndef AGENT_WATCH_H
#define AGENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct agent_link;
struct definition_writer;
struct record_ring;

enum agent_watch_news {
	AGENT_WATCH_NOTHING = 0,
	AGENT_WATCH_TAKEN,   /* an agent has taken the ring just now */
	AGENT_WATCH_GAVE_UP, /* no agent will: said once, and counted in the ring */
};

/* link is copied, the others are borrowed for good. Before the thread starts. */
void agent_watch_start(const struct agent_link *link, struct record_ring *ring,
		       struct definition_writer *notices);

/* Looks at the agent's beat; if it ended a second ago, tries the socket: that takes a second at most. */
enum agent_watch_news agent_watch_step(uint64_t now_ns);

/* Whether the agent, at the process's end, can be left to itself: it lives. */
bool agent_watch_lives(uint64_t now_ns);

/* At the process's end: offers the ring if the agent is gone or was never heard of. Waits for nothing. true: there
 * is nothing more to do, or another thread hands the ring over just now. Any thread. */
bool agent_watch_offer(uint64_t now_ns);

/* Offers the ring like that until there is nothing more to do, or until_ns (CLOCK_MONOTONIC). */
void agent_watch_last(uint64_t until_ns);

#endif
