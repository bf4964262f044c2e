#include "message_log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent_session.h"

#include "base/array.h"

#define ROOM_KEPT (1u << 20) /* more is kept only if a quarter of it was needed */

struct message_log {
	uint8_t *bytes;
	uint32_t size, room;
};

struct message_log *message_log_create(void)
{
	return calloc(1, sizeof(struct message_log));
}

void message_log_destroy(struct message_log *log)
{
	if (!log)
		return;
	free(log->bytes);
	free(log);
}

int message_log_add(struct message_log *log, const struct agent_session *session, const void *frame,
		    size_t size)
{
	const struct message_log_entry entry = {session->spoke_ns, session->id, (uint32_t)size};

	if (array_reserve(&log->bytes, &log->room, log->size + sizeof(entry) + size, 1))
		return -ENOMEM;
	memcpy(log->bytes + log->size, &entry, sizeof(entry));
	memcpy(log->bytes + log->size + sizeof(entry), frame, size);
	log->size += (uint32_t)(sizeof(entry) + size);
	return 0;
}

const uint8_t *message_log_bytes(const struct message_log *log, uint32_t *size)
{
	*size = log->size;
	return log->size ? log->bytes : NULL;
}

void message_log_clear(struct message_log *log)
{
	const bool roomy = log->room > ROOM_KEPT && log->size < log->room / 4;

	log->size = 0;
	if (roomy) {
		free(log->bytes);
		*log = (struct message_log){0};
	}
}
