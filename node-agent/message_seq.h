/* Sequence numbers of messages. Pure; any thread. */
#ifndef MESSAGE_SEQ_H
#define MESSAGE_SEQ_H

#include <stdint.h>

struct message;

/* Gives a sequenced message its number; messages without one (HELLO, PING and so on) stay as they
 * are. */
void message_seq_set(struct message *message, uint64_t seq);

#endif
