/* What Flamegrid asks of a Pyroscope server, over HTTP: pushes, as its reference of the server's API describes them
 * (push.v1.PusherService/Push in JSON). Used by one thread. */
#ifndef PYROSCOPE_H
#define PYROSCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "export_target.h"

struct pyroscope;

/* Connects to nothing yet. 0 or -errno with *error one line, or NULL with -ENOMEM: the caller owns it (free()). The
 * target is borrowed until close. Call pyroscope_close() in either case. */
int pyroscope_open(const struct export_target *target, struct pyroscope **pyroscope, char **error);
void pyroscope_close(struct pyroscope *pyroscope); /* accepts NULL */

/* Pushes one series. If the server takes no more just now (HTTP status 429), it asks again each second, until the
 * target's timeout is over. 0: the server has it. -EIO: there was no answer; -EPROTO: the answer is another one;
 * *refused: the server has nothing of it, because it said so or was not reached; else that is not known. */
int pyroscope_push(struct pyroscope *pyroscope, const void *body, size_t size, bool *refused,
		   char **error);

#endif
