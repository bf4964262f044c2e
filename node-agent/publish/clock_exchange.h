/* Measures how far this node's CLOCK_MONOTONIC is from the aggregator's, by bursts of eight questions and answers
 * (proto/wire.md, CLOCK). Of a burst, the answer with the shortest round trip counts. Impossible answers are not
 * believed. Pure: the caller sends and receives, and brings the times. Only the agent loop calls it. */
#ifndef CLOCK_EXCHANGE_H
#define CLOCK_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/batch/message.h"

#define CLOCK_EXCHANGE_BURST        8u
#define CLOCK_EXCHANGE_ANSWER_NS    1000000000ull /* a question is given up after this */
#define CLOCK_EXCHANGE_DRIFT_PPM    15u /* RFC 5905, PHI: how far clocks drift apart unnoticed */
#define CLOCK_EXCHANGE_ROUND_MAX_NS (2 * CLOCK_BOUND_MAX_NS)

struct clock_exchange_sample {
	uint64_t t1_ns, round_trip_ns;
	int64_t offset_ns;          /* ours - the aggregator's */
	int64_t realtime_offset_ns; /* the aggregator's CLOCK_REALTIME - its CLOCK_MONOTONIC */
};

struct clock_exchange {
	uint64_t interval_ns; /* time from burst to burst; 0: it never asks */
	struct clock_exchange_sample samples[CLOCK_EXCHANGE_BURST]; /* the last burst's samples */
	uint32_t nr_samples, nr_asked;
	uint64_t burst_ns; /* time of the next burst */
	uint64_t asked_ns; /* time of the question that is on its way; 0: none */
	bool has_result;   /* the last burst has a result that was not taken yet */
	struct clock_exchange_sample best;
	bool has_best;
	uint64_t nr_lost, nr_refused; /* questions without an answer; impossible answers */
};

/* Initializes the exchange. interval_ms 0: it never asks. */
void clock_exchange_init(struct clock_exchange *exchange, uint32_t interval_ms);

/* Begins anew for a new connection, perhaps to another aggregator: forgets all results, and begins a burst. */
void clock_exchange_restart(struct clock_exchange *exchange, uint64_t now_ns);

/* Gives up a question that is too old. Returns whether to ask a question now. */
bool clock_exchange_wants(struct clock_exchange *exchange, uint64_t now_ns);
/* Notes that a question was sent; t1_ns: read before it was sent. */
void clock_exchange_asked(struct clock_exchange *exchange, uint64_t t1_ns);

/* Takes a CLOCK_ANSWER; t4_ns: read after it came. false: it answers no open question, or can't be true. */
bool clock_exchange_answered(struct clock_exchange *exchange, const struct message_clock *answer,
			     uint64_t t4_ns);

/* Returns true once after each burst that had an answer. *result is then the message for the aggregator, but for our
 * realtime offset. */
bool clock_exchange_result(struct clock_exchange *exchange, uint64_t now_ns,
			   struct message_clock *result);

/* Estimates the offset of our clock from the aggregator's now, by the answers on this connection. false: no answer
 * yet. */
struct clock_exchange_estimate {
	int64_t offset_ns;
	uint64_t bound_ns; /* half the round trip, and CLOCK_EXCHANGE_DRIFT_PPM of the time since */
	int64_t realtime_offset_ns; /* of the aggregator */
};
bool clock_exchange_estimate(const struct clock_exchange *exchange, uint64_t now_ns,
			     struct clock_exchange_estimate *estimate);

/* Returns when to call clock_exchange_wants() again; UINT64_MAX: never. */
uint64_t clock_exchange_deadline_ns(const struct clock_exchange *exchange);

#endif
