/* Commands the agent's guests, present and future, for the agent and for users with the right (control_rights.h).
 * Single-threaded: only the agent loop calls it. */
#ifndef GUEST_CONTROL_H
#define GUEST_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/control.h"
#include "proto/ring/record_ring.h"

struct guest_process;
struct process_table;

struct guest_control {
	struct process_table *processes;     /* borrowed until the agent ends */
	bool may_leave;                      /* CONTROL_LEAVE is obeyed */
	bool asked_to_leave;                 /* a CONTROL_LEAVE was obeyed */
	bool has_standing;                   /* a command to all guests was given: */
	struct record_ring_command standing; /* it goes to later guests, too */
	struct {
		struct control_reply head;
		struct control_process processes[CONTROL_PROCESSES_MAX];
	} reply;
};

/* Initial state: processes and may_leave are set, and the rest is zeroed. No command was given yet. */

/* Carries out a request of the user uid. Returns the size of control->reply, which the caller sends. */
size_t guest_control_answer(struct guest_control *control, uid_t uid,
			    const struct control_request *request);

/* Commands all guests, including later ones. */
void guest_control_command(struct guest_control *control,
			   const struct record_ring_command *command);

/* Gives a new guest the standing command, if one was given. */
void guest_control_arrived(const struct guest_control *control, struct guest_process *process);

/* Returns how many guests capture, or are still ending a capture. */
uint32_t guest_control_capturing(const struct guest_control *control);

#endif
