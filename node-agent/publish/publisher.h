/* Publishes frames to one aggregator, over a connection that may break at any time. Frames are numbered and kept until
 * they are acknowledged. After every new WELCOME they are sent again, from the oldest unacknowledged one. No function
 * blocks or sleeps. Single-threaded: only the agent loop calls it. */
#ifndef PUBLISHER_H
#define PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "event_way.h"

#include "proto/batch/message.h"

struct clock_exchange_estimate;
struct key_set;
struct publisher;

struct publisher_options {
	/* borrowed for publisher_create() only; NULL: see publisher_connect() */
	const char *endpoint;
	void *zmq_context; /* borrowed until publisher_destroy(); NULL: one of its own */
	/* an agent's keys; borrowed for publisher_create() only; NULL: the connection is not protected */
	const struct key_set *keys;
	struct message_hello hello; /* texts borrowed for publisher_create() only */
	/* bytes of frames kept in memory; from there on publisher_has_room() is false */
	uint64_t window_bytes;
	/* time from one comparison of clocks to the next (clock_exchange.h); 0: none is made */
	uint32_t clock_ms;
	uint32_t ping_ms; /* quiet time before a PING; 0: 1,000 */
	/* quiet time before the connection is given up and made anew; 0: 5,000 */
	uint32_t silence_ms;
};

/* Creates a publisher. 0 or -errno. On error *publisher is NULL, and *error (if error is not NULL) is one line, which
 * the caller owns (free()). */
int publisher_create(const struct publisher_options *options, struct publisher **publisher,
		     char **error);

/* Accepts NULL. Frames that are not sent by then are dropped. */
void publisher_destroy(struct publisher *publisher);

/* Gives an endpoint and keys (NULL: none), both copied, to a publisher that was created without an endpoint. It has
 * kept all frames until now. 0 or -errno: nothing has changed. */
int publisher_connect(struct publisher *publisher, const char *endpoint,
		      const struct key_set *keys);

/* Of a publisher whose HELLO offers (message_hello.offers): what became of the offer. Else EVENT_WAY_SENDS. */
enum event_way publisher_way(const struct publisher *publisher);

/* Gives up the question of the way, if no WELCOME has answered it: the node folds. While the way is EVENT_WAY_FOLDS,
 * there is no connection. publisher_connect() ends that, and from then on everything is sent there. */
void publisher_fold(struct publisher *publisher);

/* Returns a level-triggered descriptor for epoll, which stays for life. Readable when publisher_step() has work. */
int publisher_fd(const struct publisher *publisher);

/* Receives and sends everything that needs no waiting. 0; -EPROTO: the aggregator has refused us for good, and
 * publisher_error() says why; -ENOMEM; other -errno of the transport. */
int publisher_step(struct publisher *publisher, uint64_t now_ns);

/* Returns when to call publisher_step() again, by CLOCK_MONOTONIC, though the descriptor is quiet. */
uint64_t publisher_deadline_ns(const struct publisher *publisher);

/* The last of this node's ranks has ended at this time; 0: ranks run, or it is not known. The next step tells the
 * aggregator, and so do all later PINGs. */
void publisher_ranks_ended(struct publisher *publisher, uint64_t ended_ns);

/* Encodes a sequenced message, gives it the next number (in *message, too) and keeps it;
 * publisher_step() sends it. 0; -EINVAL, -EMSGSIZE of the encoder; -ENOMEM. */
int publisher_send(struct publisher *publisher, struct message *message);

/* Gives back the room that large messages took, if memory for less room can be had. */
void publisher_give_back(struct publisher *publisher);

/* Returns whether the window has room for another batch. */
bool publisher_has_room(const struct publisher *publisher);

uint64_t publisher_last_seq(const struct publisher *publisher); /* 0: nothing sent yet */
/* Returns the last acknowledged number: everything up to it is safe. For a question (hello.asks), once connected, it is
 * the last number that the aggregator has of that epoch. */
uint64_t publisher_acked_seq(const struct publisher *publisher);
/* Returns the time of the last step before the oldest frame that is not acknowledged was given; 0: there is none, or no
 * step was made before it. */
uint64_t publisher_oldest_ns(const struct publisher *publisher);
/* Returns how often the peer refused our keys, or lacked those that we expect. The publisher keeps trying. */
uint64_t publisher_refusals(const struct publisher *publisher);
/* Returns whether a peer at an endpoint has ever accepted a connection. */
bool publisher_has_reached(const struct publisher *publisher);
bool publisher_connected(const struct publisher *publisher); /* welcomed, and not lost since */

/* The time from one round to the next that the aggregator wishes (message_ack), over this connection. 0: none. */
uint32_t publisher_round_ms(const struct publisher *publisher);

/* The bytes that the aggregator takes before it acknowledges some, as it said last. */
uint64_t publisher_credit_bytes(const struct publisher *publisher);

/* Returns whether an aggregator has ever welcomed us. *profile is then the place of the job's profile, as that WELCOME
 * said; "": it said none. Borrowed until destroy, and constant from then on. */
bool publisher_welcomed(const struct publisher *publisher, const char **profile);

/* Estimates this node's clock against the aggregator's. false: nothing is known, and *estimate has no meaning. */
bool publisher_clock(const struct publisher *publisher, uint64_t now_ns,
		     struct clock_exchange_estimate *estimate);

/* publisher_take_order() returns true once per command that the aggregator sent to all agents. The answer given by
 * publisher_answer_order() goes out with the next step, and again each time the aggregator asks. */
bool publisher_take_order(struct publisher *publisher, struct message_control *order);
void publisher_answer_order(struct publisher *publisher, const struct message_control *taken);

/* Returns one line on why publisher_step() failed, or why the aggregator does not accept us for now; borrowed until
 * destroy. "": neither is so. */
const char *publisher_error(const struct publisher *publisher);

#endif
