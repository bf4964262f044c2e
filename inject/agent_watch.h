/* Notices that the agent is gone, and hands the ring to the next one on the same path. On the guest's own thread; one per
 * process. */
#ifndef AGENT_WATCH_H
#define AGENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct agent_link;
struct definition_writer;
struct record_ring;

/* link is copied, the others are borrowed for good. Before the thread starts. */
void agent_watch_start(const struct agent_link *link, struct record_ring *ring,
		       struct definition_writer *notices);

/* Looks at the agent's beat, once a second; if it ended seconds ago, tries the socket: that takes a second at most. Returns
 * whether another agent has taken the ring just now. */
bool agent_watch_step(uint64_t now_ns);

/* The same at the process's end, with less patience: nobody may come afterwards. */
void agent_watch_last(uint64_t now_ns);

#endif
