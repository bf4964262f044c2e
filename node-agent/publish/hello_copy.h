/* Copies a HELLO with its texts, so that it can be sent again and again. Used by one thread. */
#ifndef HELLO_COPY_H
#define HELLO_COPY_H

#include "proto/batch/message.h"

#define HELLO_COPY_TEXTS    6u
#define HELLO_COPY_TEXT_MAX 512u /* bytes of a text; a longer one is cut off */

/* A copy must not be moved, because message borrows from texts. */
struct hello_copy {
	struct message_hello message;
	char texts[HELLO_COPY_TEXTS][HELLO_COPY_TEXT_MAX];
};

/* Copies the HELLO and its texts; nothing of hello is borrowed afterwards. The copy needs no cleanup. */
void hello_copy_init(struct hello_copy *copy, const struct message_hello *hello);

#endif
