#include "message_seq.h"

#include <stddef.h>

/* NULL: it has none. */
static const uint64_t *find(const struct message *message)
{
	switch (message->type) {
	case MESSAGE_STRINGS:
		return &message->strings.seq;
	case MESSAGE_STACKS:
		return &message->stacks.seq;
	case MESSAGE_PROCESS:
		return &message->process.seq;
	case MESSAGE_EVENTS:
		return &message->events.seq;
	case MESSAGE_LEDGER:
		return &message->ledger.seq;
	case MESSAGE_BYE:
		return &message->bye.seq;
	case MESSAGE_STATISTICS:
		return &message->statistics.seq;
	case MESSAGE_STREAM:
		return &message->streams.seq;
	case MESSAGE_SAMPLES:
		return &message->samples.seq;
	case MESSAGE_COLLECTIVES:
		return &message->collectives.seq;
	case MESSAGE_PLACEMENT:
		return &message->placement.seq;
	case MESSAGE_PAGES:
		return &message->pages.seq;
	default:
		return NULL;
	}
}

bool message_seq_has(enum message_type type)
{
	const struct message message = {.type = type};

	return find(&message) != NULL;
}

uint64_t message_seq_get(const struct message *message)
{
	const uint64_t *seq = find(message);

	return seq ? *seq : 0;
}

void message_seq_set(struct message *message, uint64_t seq)
{
	uint64_t *place = (uint64_t *)find(message);

	if (place)
		*place = seq;
}
