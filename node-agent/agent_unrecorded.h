/* The profile's entries for processes that could not be recorded. Users share AGENT_UNRECORDED_MAX entries in each
 * period (fair_shares.h). The rest of a user's processes get one entry together at the period's end, with their number.
 * Processes without the memory or the process id for either are counted in an entry that belongs to no user.
 * Single-threaded: only the agent loop calls it. */
#ifndef AGENT_UNRECORDED_H
#define AGENT_UNRECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/batch/message.h"

#define AGENT_UNRECORDED_MAX       1024u
#define AGENT_UNRECORDED_PERIOD_NS 600000000000ull

struct agent;
struct agent_unrecorded;
struct process_description;

/* Frees what was not told. */
void agent_unrecorded_fini(struct agent_unrecorded *unrecorded);

/* Writes an entry, or leaves the process to the period's end. Takes the description; NULL: there was no memory for it.
 * Returns whether the newest message names the process. */
bool agent_unrecorded_tell(struct agent *agent, uid_t uid, struct process_description *description,
			   const char *why, enum process_state state);

/* Counts a process of a user that has no entry left and whose other processes wait for the period's end. This needs no
 * description, whose texts would take ids from all users. Returns false, without effect, for another user. */
bool agent_unrecorded_count(struct agent *agent, uid_t uid);

/* Writes the entries of all processes that wait, at the period's end. */
void agent_unrecorded_step(struct agent *agent, uint64_t now_ns);

/* Returns when agent_unrecorded_step() has entries to write; UINT64_MAX: no process waits. */
uint64_t agent_unrecorded_deadline_ns(const struct agent_unrecorded *unrecorded);

/* Writes them now, because the agent ends. */
void agent_unrecorded_end(struct agent *agent);

#endif
