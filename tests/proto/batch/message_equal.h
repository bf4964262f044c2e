/* Compares messages. Any thread. */
#ifndef MESSAGE_EQUAL_H
#define MESSAGE_EQUAL_H

#include <stdbool.h>

#include "proto/batch/message.h"

/* Whether two messages say the same: by value, texts and lists included. */
bool message_equal(const struct message *left, const struct message *right);

#endif
