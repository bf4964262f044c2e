/* Keeps guests that are not recorded, because the table had no place or because the agent that had accepted them was
 * killed. They ask again each second, so most get in. The profile has to report each guest that got no place until its
 * end. Single-threaded: only the agent loop calls it. */
#ifndef REFUSED_GUESTS_H
#define REFUSED_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

#define REFUSED_GUESTS_MAX     256u
#define REFUSED_GUESTS_LOOK_NS 500000000ull /* between looks for ended guests */

struct guest_arrival;
struct process_description;
struct refused_guests;

struct refused_guest {
	struct guest_hello hello; /* its instance and its user identify it */
	uid_t uid;
	pid_t pid; /* 0: not visible from here, so it ends only with the agent */
	uint64_t start_ticks;
	const char *why; /* the reason why it is not recorded; lives as long as the program */
	/* made while the process was in /proc; owns; NULL: no memory */
	struct process_description *description;
};

/* Reports a guest that ended. guest is borrowed for the call; the callback takes its description. */
typedef void (*refused_guests_end)(void *context, const struct refused_guest *guest);

/* Creates an empty list; NULL: out of memory. destroy accepts NULL. */
struct refused_guests *refused_guests_create(void);
void refused_guests_destroy(struct refused_guests *guests);

/* Returns whether the guest is new, and its user may have another guest here (fair_shares.h). */
bool refused_guests_wants(const struct refused_guests *guests, const struct guest_arrival *arrival);

/* Adds a guest that is wanted. start_ticks: of arrival->pid. Takes the description. */
void refused_guests_add(struct refused_guests *guests, const struct guest_arrival *arrival,
			uint64_t start_ticks, const char *why,
			struct process_description *description);

/* Forgets a guest that has a place now, or was reported. Returns whether it was known. */
bool refused_guests_forget(struct refused_guests *guests, const struct guest_arrival *arrival);

/* Reports each guest that has ended, once, and forgets it. Returns how many live, as far as can be seen. */
uint32_t refused_guests_look(struct refused_guests *guests, refused_guests_end end, void *context);

/* Calls refused_guests_look() every REFUSED_GUESTS_LOOK_NS. Returns when to call again; UINT64_MAX: not needed. */
uint64_t refused_guests_step(struct refused_guests *guests, uint64_t now_ns, refused_guests_end end,
			     void *context);

/* Reports all guests, because the agent goes, and forgets them. */
void refused_guests_end_all(struct refused_guests *guests, refused_guests_end end, void *context);

#endif
