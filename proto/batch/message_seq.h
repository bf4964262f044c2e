/* Sequence numbers of messages. Pure; any thread. */
#ifndef MESSAGE_SEQ_H
#define MESSAGE_SEQ_H

#include <stdint.h>

struct message;

/* 0: the message has none (HELLO, PING and so on). */
uint64_t message_seq_get(const struct message *message);

/* Gives a sequenced message its number; those without one stay as they are. */
void message_seq_set(struct message *message, uint64_t seq);

#endif
