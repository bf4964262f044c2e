/* What an aggregator answers to HELLO: whether a WELCOME fits what we have sent, and what a REFUSE says. Pure. */
#ifndef HELLO_ANSWER_H
#define HELLO_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define HELLO_ANSWER_ERROR 256u /* of a line with its NUL */
#define HELLO_ANSWER_PLACE 512u /* of the place of a profile with its NUL */

/* acked, last: the frames that were acknowledged before, and that were given. false: it is not our aggregator's, and
 * error says why. A question (hello->asks) has no frames of its own. */
bool hello_answer_check(const struct message_hello *hello, const struct message_welcome *welcome,
			uint64_t acked, uint64_t last, char error[static HELLO_ANSWER_ERROR]);

/* Writes the place of the job's profile that WELCOME tells; "": it tells none. */
void hello_answer_place(const struct message_welcome *welcome,
			char place[static HELLO_ANSWER_PLACE]);

enum hello_answer_refusal {
	HELLO_ANSWER_AGAIN, /* HELLO goes out again at once */
	HELLO_ANSWER_LATER, /* over a new connection, whose WELCOME tells where to go on */
	HELLO_ANSWER_NEVER, /* the agent gives up */
};

/* Returns what follows from a refusal, and writes a line about it if the user is to see one. */
enum hello_answer_refusal hello_answer_refusal(const struct message_hello *hello,
					       const struct message_refuse *refuse,
					       char error[static HELLO_ANSWER_ERROR]);

#endif
