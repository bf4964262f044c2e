/* What the agent itself finds of a process, as notices of that process. Only the agent loop calls it. */
#ifndef AGENT_NOTICES_H
#define AGENT_NOTICES_H

#include "process_description.h"

#include "proto/batch/message.h"

/* Says at the end that something is left that could not be read (process_description_is_late()). */
void agent_notices_unread(struct process_description *description);

/* Says that counters of the process's GPUs are not sampled, and why (counter_refusal.h), by the states in a message
 * that is about to be sent. say() hears each refusal once; it may be NULL. 0; -ENOSPC, -ENOMEM of
 * the dictionary. */
int agent_notices_counters(struct process_description *description,
			   const struct message_placement *placement,
			   void (*say)(void *context, const char *line), void *context);

#endif
