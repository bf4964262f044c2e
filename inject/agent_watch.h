/* Sees that the ring has an agent. Asks an agent again that has not answered. When the agent is gone, hands the ring to
 * the next agent on the same path. Needless offers do no harm: an agent that has the ring drops them (record_ring.h).
 * On the guest's own thread, but for agent_watch_offer(). One per process. */
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

/* *link is copied, the others are borrowed for good. Call it before the thread starts. */
void agent_watch_start(const struct agent_link *link, struct record_ring *ring,
		       struct definition_writer *notices);

/* Looks at the agent's beat. If the beat ended a second ago, tries the socket, which takes a second at most. */
enum agent_watch_news agent_watch_step(uint64_t now_ns);

/* Returns whether the agent lives, so that at the process's end nothing more need be done. */
bool agent_watch_lives(uint64_t now_ns);

/* At the process's end: offers the ring if the agent is gone or never answered. Waits for nothing. Any thread. Returns
 * true if nothing more is to be done, or if another thread is handing the ring over. */
bool agent_watch_offer(uint64_t now_ns);

/* Repeats agent_watch_offer() until it returns true, or until until_ns (CLOCK_MONOTONIC). */
void agent_watch_last(uint64_t until_ns);

#endif
