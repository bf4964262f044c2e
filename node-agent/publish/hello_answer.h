/* What an aggregator answers to HELLO: whether a WELCOME fits what we have sent, and what a REFUSE says. Pure. */
#ifndef HELLO_ANSWER_H
#define HELLO_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define HELLO_ANSWER_ERROR 256u /* of a line with its NUL */

/* acked, last: the frames that were acknowledged before, and that were given. false: it is not our aggregator's, and
 * error says why. A question (hello->asks) has no frames of its own. */
bool hello_answer_check(const struct message_hello *hello, const struct message_welcome *welcome,
			uint64_t acked, uint64_t last, char error[static HELLO_ANSWER_ERROR]);

/* Writes a line about the refusal. */
void hello_answer_describe(const struct message_refuse *refuse,
			   char error[static HELLO_ANSWER_ERROR]);

#endif
