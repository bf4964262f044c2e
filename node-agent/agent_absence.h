/* Guests that the agent does not record: guests without a ring, guests that it refused, and guests that an agent before
 * it left. The profile names each of them and the reason (agent_unrecorded.h). Single-threaded: only the agent loop
 * calls it. */
#ifndef AGENT_ABSENCE_H
#define AGENT_ABSENCE_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

/* Offers that are looked at in one step, the time between steps, and offers at the agent's end. Users decide how many
 * there are. */
#define AGENT_ABSENCE_OFFERS     32u
#define AGENT_ABSENCE_OFFERS_NS  10000000ull
#define AGENT_ABSENCE_OFFERS_END 4096u
#define AGENT_ABSENCE_PLACE_NS   1000000000ull /* until offers are looked at again that found no place */

struct agent;
struct agent_absence;
struct guest_arrival;

/* 0 or -ENOMEM. */
int agent_absence_init(struct agent_absence *absence);
void agent_absence_fini(struct agent_absence *absence);

/* A guest without a ring has said why (guest_listener_absence). */
void agent_absence_heard(void *context, pid_t pid, uid_t uid, const struct guest_absence *absence);

/* Notes a guest that was refused for lack of a place, and forgets one that got a place. Once its user has too many of
 * them (refused_guests.h), a refused guest is in the agent's log alone. */
void agent_absence_answered(struct agent *agent, const struct guest_arrival *arrival,
			    enum handshake_status status);

/* Reports refused guests that ended without a place, and offers that an agent before us left (guest_offers.h) once the
 * register has a place for them. Steps agent_unrecorded.
 * Returns when to call again; UINT64_MAX: not needed. */
uint64_t agent_absence_step(struct agent *agent, uint64_t now_ns);

/* A guest gets its final answer (guest_listener_settled). */
void agent_absence_settled(void *context, uid_t uid, const struct guest_hello *hello);

/* Begins to look after guests that an agent before us left in the register. Once, when the loop begins. */
void agent_absence_inherit(struct agent *agent);

/* Reports all guests, because the agent ends. If there is to be a next agent, guests that live are left to it. */
void agent_absence_end(struct agent *agent);

#endif
