/* What is commanded of an agent's guests, and by whom: to those that are here, and to those that are still to come.
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
	struct process_table *processes;     /* borrowed for good */
	bool may_leave;                      /* CONTROL_LEAVE is obeyed */
	bool asked_to_leave;                 /* it came */
	bool has_standing;                   /* a command to all was given: */
	struct record_ring_command standing; /* to those that come, too */
	struct {
		struct control_reply head;
		struct control_process processes[CONTROL_PROCESSES_MAX];
	} reply;
};

/* Zeroed but for processes and may_leave: nothing was commanded. */

/* Carries out what the user uid asks for. Returns the size of control->reply, to be sent. */
size_t guest_control_answer(struct guest_control *control, uid_t uid,
			    const struct control_request *request);

/* Commands all guests, those that are still to come included. */
void guest_control_command(struct guest_control *control,
			   const struct record_ring_command *command);

/* A guest came in. */
void guest_control_arrived(const struct guest_control *control, struct guest_process *process);

/* How many guests are being captured, or have not yet ended to be. */
uint32_t guest_control_capturing(const struct guest_control *control);

#endif
