#include "message_seq.h"

#include "proto/message.h"

void message_seq_set(struct message *message, uint64_t seq)
{
	switch (message->type) {
	case MESSAGE_STRINGS:
		message->strings.seq = seq;
		break;
	case MESSAGE_STACKS:
		message->stacks.seq = seq;
		break;
	case MESSAGE_PROCESS:
		message->process.seq = seq;
		break;
	case MESSAGE_EVENTS:
		message->events.seq = seq;
		break;
	case MESSAGE_LEDGER:
		message->ledger.seq = seq;
		break;
	case MESSAGE_BYE:
		message->bye.seq = seq;
		break;
	case MESSAGE_STATISTICS:
		message->statistics.seq = seq;
		break;
	case MESSAGE_STREAM:
		message->streams.seq = seq;
		break;
	default:
		break;
	}
}
