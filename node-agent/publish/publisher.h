/* Frames to one aggregator, over a connection that may break at any time: numbered, kept until they
 * are acknowledged, and sent again from the oldest unacknowledged one after every new WELCOME.
 * Nothing here blocks or sleeps. Single-threaded: only the agent loop calls it. */
#ifndef PUBLISHER_H
#define PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

struct clock_exchange_estimate;
struct key_set;
struct publisher;

struct publisher_options {
	/* borrowed for publisher_create() only; NULL: see publisher_connect() */
	const char *endpoint;
	void *zmq_context; /* borrowed until publisher_destroy(); NULL: one of its own */
	/* an agent's; borrowed for publisher_create() only; NULL: nothing protects the connection */
	const struct key_set *keys;
	struct message_hello hello; /* texts borrowed for publisher_create() only */
	uint64_t window_bytes; /* of frames kept in memory; publisher_has_room() is false from there
				  on */
	/* from one comparison of clocks to the next (clock_exchange.h); 0: none is made */
	uint32_t clock_ms;
	uint32_t ping_ms;    /* quiet time before a PING; 0: 1,000 */
	uint32_t silence_ms; /* quiet time before the connection is given up and made anew; 0: 5,000
			      */
};

/* 0 or -errno; *error (if error is not NULL) is then one line, owns: free(). On error *publisher is
 * NULL. */
int publisher_create(const struct publisher_options *options, struct publisher **publisher,
		     char **error);
void publisher_destroy(
	struct publisher *publisher); /* accepts NULL; what isn't sent by then is dropped */

/* From now on to this endpoint, with these keys (NULL: none), both copied: of one that was created without. Frames were
 * kept until now. 0 or -errno: as it was. */
int publisher_connect(struct publisher *publisher, const char *endpoint,
		      const struct key_set *keys);

/* For epoll, level-triggered: readable when publisher_step() has something to do. The same for
 * life. */
int publisher_fd(const struct publisher *publisher);

/* Receives and sends what can be had without waiting. 0; -EPROTO: the aggregator refused us for
 * good, and publisher_error() says why; -ENOMEM; other -errno of the transport. */
int publisher_step(struct publisher *publisher, uint64_t now_ns);

/* When publisher_step() wants to be called again, by CLOCK_MONOTONIC, though the descriptor is
 * quiet. */
uint64_t publisher_deadline_ns(const struct publisher *publisher);

/* Encodes a sequenced message, gives it the next number (in *message, too) and keeps it;
 * publisher_step() sends it. 0; -EINVAL, -EMSGSIZE of the encoder; -ENOMEM. */
int publisher_send(struct publisher *publisher, struct message *message);

/* Gives room back that large messages took. Without memory for less, it stays. */
void publisher_give_back(struct publisher *publisher);

/* The window has room for another batch. */
bool publisher_has_room(const struct publisher *publisher);

uint64_t publisher_last_seq(const struct publisher *publisher); /* 0: nothing sent yet */
/* Everything up to here is safe; of a question (hello.asks): what the aggregator has of that epoch, once connected. */
uint64_t publisher_acked_seq(const struct publisher *publisher);
/* How often who listens at the endpoint did not take our keys, or did not have those that we expect. It is tried again
 * and again. */
uint64_t publisher_refusals(const struct publisher *publisher);
/* Whether somebody at an endpoint ever took a connection. */
bool publisher_has_reached(const struct publisher *publisher);
bool publisher_connected(const struct publisher *publisher); /* welcomed, and not lost since */

/* Whether it was ever welcomed; *profile is where the aggregator then said that the job's profile is, "": it did not.
 * Borrowed until destroy, and the same from then on. */
bool publisher_welcomed(const struct publisher *publisher, const char **profile);

/* How this node's clock stands to the aggregator's. false: nothing is known, *estimate is nothing. */
bool publisher_clock(const struct publisher *publisher, uint64_t now_ns,
		     struct clock_exchange_estimate *estimate);

/* A command for all agents that came, once: true. What the next call tells of it goes out with the next step, as often
 * as it is asked for. */
bool publisher_take_order(struct publisher *publisher, struct message_control *order);
void publisher_answer_order(struct publisher *publisher, const struct message_control *taken);

/* One line about why publisher_step() failed, or why the aggregator does not take us for now; borrowed until
 * destroy. "": neither. */
const char *publisher_error(const struct publisher *publisher);

#endif
