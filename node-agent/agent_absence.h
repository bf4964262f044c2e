/* What the agent says of processes that could not be recorded. The profile has their names and the reason. Users share
 * AGENT_ABSENCES_MAX entries in each period (fair_shares.h); the rest of a user's processes are one entry at its end,
 * with their number. Where there is no memory for either, or no process id, an entry of no user's has the number of
 * processes. Single-threaded: only the agent loop calls it. */
#ifndef AGENT_ABSENCE_H
#define AGENT_ABSENCE_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

#define AGENT_ABSENCES_MAX      1024u
#define AGENT_ABSENCE_PERIOD_NS 600000000000ull

/* Offers that are looked at in one step, the time between steps, and offers at the agent's end. Users decide how many
 * there are. */
#define AGENT_ABSENCE_OFFERS     32u
#define AGENT_ABSENCE_OFFERS_NS  10000000ull
#define AGENT_ABSENCE_OFFERS_END 4096u
#define AGENT_ABSENCE_PLACE_NS   1000000000ull /* until offers are looked at again that found no place */

struct agent;
struct guest_arrival;

/* A guest without a ring has said why (guest_listener_absence). */
void agent_absence_heard(void *context, pid_t pid, uid_t uid, const struct guest_absence *absence);

/* Notes a guest that was refused for lack of a place, and forgets one that got a place. Once its user has too many of
 * them (refused_guests.h), a refused guest is in the agent's log alone. */
void agent_absence_answered(struct agent *agent, const struct guest_arrival *arrival,
			    enum handshake_status status);

/* Tells of refused guests that ended without a place; of offers that an agent before us left (guest_offers.h), once
 * the register has a place for them; and at the end of a period of those that had no entry.
 * Returns when to call again; UINT64_MAX: not needed. */
uint64_t agent_absence_step(struct agent *agent, uint64_t now_ns);

/* A guest gets its final answer (guest_listener_settled). */
void agent_absence_settled(void *context, uid_t uid, const struct guest_hello *hello);

/* Begins to look after those that an agent before us left in the register. Once, when the loop begins. */
void agent_absence_inherit(struct agent *agent);

/* The agent stops. Guests that live may get a place with the next agent, if there is to be one; it tells of all
 * others. */
void agent_absence_end(struct agent *agent);

/* Frees what was not told. */
void agent_absence_fini(struct agent *agent);

#endif
