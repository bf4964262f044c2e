/* The messages that were applied since the last commit, as they came. Applied again in this order, they make the same
 * changes as before. So a store can keep the messages in place of the changes (store.h), which are many times as much
 * to write. One log is used by one thread. */
#ifndef MESSAGE_LOG_H
#define MESSAGE_LOG_H

#include <stddef.h>
#include <stdint.h>

struct agent_session;
struct message_log;

/* Stands before each frame of a block. It is part of the store's schema. */
struct message_log_entry {
	uint64_t spoke_ns; /* when it came: CLOCK_REALTIME */
	uint32_t session;  /* id */
	uint32_t size;     /* of the frame */
};

/* NULL: out of memory. message_log_destroy() accepts NULL. */
struct message_log *message_log_create(void);
void message_log_destroy(struct message_log *log);

/* Adds the frame of a message that the session has applied. 0; -ENOMEM: unchanged. */
int message_log_add(struct message_log *log, const struct agent_session *session, const void *frame,
		    size_t size);

/* Returns all messages in one block; NULL: there are none. Borrowed until the next add or clear. */
const uint8_t *message_log_bytes(const struct message_log *log, uint32_t *size);

/* Forgets all messages, and keeps memory for the next ones. */
void message_log_clear(struct message_log *log);

#endif
