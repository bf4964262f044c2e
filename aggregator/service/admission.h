/* Who may connect to an aggregator's socket: those who have the agents' key. ZeroMQ asks for each connection that is
 * made, before anything else of it is read (ZAP, ZeroMQ RFC 27); without an answer to that, CURVE would let in
 * everybody. One for each ZeroMQ context. Used by one thread, but for ZeroMQ's own, which wait for its answers. */
#ifndef ADMISSION_H
#define ADMISSION_H

#include <stdint.h>

#include "proto/trust/key_set.h"

struct admission;

/* Two new pairs of keys. 0; -ENOTSUP: this ZeroMQ was built without CURVE. */
int admission_make_keys(struct key_set *keys);

/* Answers for the context from now on. The keys are copied. 0; -EINVAL: they are not an aggregator's; -EADDRINUSE:
 * another admission answers in this context; -ENOTSUP; other -errno. On error *admission is NULL. */
int admission_create(void *zmq_context, const struct key_set *keys, struct admission **admission);
void admission_destroy(struct admission *admission); /* accepts NULL; nobody is admitted any more */

/* Makes a socket of that context ask, before it is bound. 0 or -errno. */
int admission_guard(const struct admission *admission, void *zmq_socket);

/* For zmq_poll(), borrowed until destroy: when there are questions to be answered. */
void *admission_socket(struct admission *admission);

/* Answers all questions that are there; nothing waits. */
void admission_step(struct admission *admission);

/* Connections that were turned away so far, for their key. */
uint64_t admission_refused(const struct admission *admission);

#endif
