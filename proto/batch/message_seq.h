/* Sequence numbers of messages. Pure; any thread. */
#ifndef MESSAGE_SEQ_H
#define MESSAGE_SEQ_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"

/* Returns whether messages of this type carry data, in sequence. */
bool message_seq_has(enum message_type type);

/* 0: the message has no sequence number (HELLO, PING and so on). */
uint64_t message_seq_get(const struct message *message);

/* Sets the number of a sequenced message. Other messages stay as they are. */
void message_seq_set(struct message *message, uint64_t seq);

#endif
