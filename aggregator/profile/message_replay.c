#include "message_replay.h"

#include <errno.h>
#include <string.h>

#include "agent_session.h"
#include "collection.h"
#include "message_log.h"
#include "session_apply.h"

#include "proto/batch/batch_decode.h"
#include "proto/batch/message_seq.h"

/* A session that is over, and a number that is not the next one, cannot have been logged. */
static int apply(struct collection *collection, const struct message_log_entry *entry,
		 const struct message *message)
{
	struct agent_session *session = entry->session - 1 < collection->nr_sessions
						? collection->sessions[entry->session - 1]
						: NULL;
	const char *reason;

	if (!session || session->host == 0 || message_seq_get(message) != session->received_seq + 1)
		return -EPROTO;
	session->spoke_ns = entry->spoke_ns;
	int error = session_apply(session, collection, message, &reason);
	return error > 0 ? -EPROTO : error;
}

/* *used: bytes of the first message and of the entry before it. */
static int apply_first(struct collection *collection, struct batch_decoder *decoder,
		       const uint8_t *bytes, uint32_t size, uint32_t *used)
{
	struct message_log_entry entry;
	struct message message;

	if (size < sizeof(entry))
		return -EPROTO;
	memcpy(&entry, bytes, sizeof(entry));
	if (entry.size > size - sizeof(entry))
		return -EPROTO;
	int error = batch_decode(decoder, bytes + sizeof(entry), entry.size, &message);
	if (error)
		return error == -ENOMEM ? error : -EPROTO;
	*used = (uint32_t)sizeof(entry) + entry.size;
	return apply(collection, &entry, &message);
}

int message_replay(struct collection *collection, const uint8_t *bytes, uint32_t size)
{
	struct batch_decoder *decoder = batch_decoder_create();
	int error = decoder ? 0 : -ENOMEM;

	while (!error && size) {
		uint32_t used = 0;

		error = apply_first(collection, decoder, bytes, size, &used);
		bytes += used;
		size -= used;
	}
	batch_decoder_destroy(decoder);
	return error;
}
