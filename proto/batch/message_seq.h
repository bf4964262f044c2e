/* Sequence numbers of messages. Pure; any thread. */
#ifndef MESSAGE_SEQ_H
#define MESSAGE_SEQ_H

#include <stdint.h>

struct message;

/* 0: the message has no sequence number (HELLO, PING and so on). */
uint64_t message_seq_get(const struct message *message);

/* Sets the number of a sequenced message. Other messages stay as they are. */
void message_seq_set(struct message *message, uint64_t seq);

#endif
