/* Applies samples of host threads (SAMPLES). Part of session_apply. Single-threaded. */
#ifndef SESSION_SAMPLES_H
#define SESSION_SAMPLES_H

#include "agent_session.h"

struct collection;

/* Adds each sample to the sums of its key. As session_apply(): 0, an enum refuse_code with *reason, or
 * -ENOMEM. */
int session_samples_apply(struct agent_session *session, struct collection *collection,
			  const struct message_samples *message, const char **reason);

/* Logs a record of GPU work for the device's idle time, if the process has samples. Call it before the record goes to
 * the device's timeline. events: the record's message; device: the store's id. 0 or -ENOMEM. */
int session_samples_work(struct collection *collection, uint32_t process, uint32_t device,
			 const struct message_events *events, const struct gpu_record *record);

#endif
