/* Guests that are not recorded: there was no place, or the agent that took them in was killed. They ask again each
 * second, so most get in. The profile has to tell of one that did not until its end. Single-threaded: only the agent
 * loop calls it. */
#ifndef REFUSED_GUESTS_H
#define REFUSED_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/handshake.h"

#define REFUSED_GUESTS_MAX     256u
#define REFUSED_GUESTS_LOOK_NS 500000000ull /* between looks at whether they live */

struct guest_arrival;
struct process_description;
struct refused_guests;

struct refused_guest {
	struct guest_hello hello; /* its instance is what it is known by, with its user */
	uid_t uid;
	pid_t pid; /* 0: not visible from here, so only the end of the agent is its end */
	uint64_t start_ticks;
	const char *why; /* it is not recorded; lives as long as the program */
	/* made while /proc had it; owns; NULL: there was no memory */
	struct process_description *description;
};

/* guest is borrowed for the call; its description is taken. */
typedef void (*refused_guests_end)(void *context, const struct refused_guest *guest);

/* NULL: out of memory. destroy accepts NULL. */
struct refused_guests *refused_guests_create(void);
void refused_guests_destroy(struct refused_guests *guests);

/* Whether the guest is not known yet, and its user may have another one here (fair_shares.h). */
bool refused_guests_wants(const struct refused_guests *guests, const struct guest_arrival *arrival);

/* Adds a guest that is wanted. start_ticks: of arrival->pid. Takes the description. */
void refused_guests_add(struct refused_guests *guests, const struct guest_arrival *arrival,
			uint64_t start_ticks, const char *why,
			struct process_description *description);

/* The guest has a place now, or is told of. Returns whether it was known. */
bool refused_guests_forget(struct refused_guests *guests, const struct guest_arrival *arrival);

/* Tells of each guest that has ended, once, and forgets it. Returns how many live, as far as can be seen. */
uint32_t refused_guests_look(struct refused_guests *guests, refused_guests_end end, void *context);

/* Does that every REFUSED_GUESTS_LOOK_NS. Returns when to call again; UINT64_MAX: not needed. */
uint64_t refused_guests_step(struct refused_guests *guests, uint64_t now_ns, refused_guests_end end,
			     void *context);

/* Tells of all guests, and forgets them: the agent goes. */
void refused_guests_end_all(struct refused_guests *guests, refused_guests_end end, void *context);

#endif
