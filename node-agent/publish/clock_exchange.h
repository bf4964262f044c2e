/* How this node's CLOCK_MONOTONIC stands to the aggregator's: bursts of eight questions and answers (proto/wire.md,
 * CLOCK), of which the answer with the shortest round trip counts. Believes no answer that cannot be. Pure: whoever
 * sends and receives brings the times. Single-threaded: only the agent loop calls it. */
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
	uint64_t interval_ns; /* from burst to burst; 0: nothing is ever asked */
	struct clock_exchange_sample samples[CLOCK_EXCHANGE_BURST]; /* of the last burst */
	uint32_t nr_samples, nr_asked;
	uint64_t burst_ns; /* when the next burst begins */
	uint64_t asked_ns; /* the question that is out; 0: none */
	bool has_result;   /* of the last burst, not taken yet */
	struct clock_exchange_sample best;
	bool has_best;
	uint64_t nr_lost, nr_refused; /* questions without an answer; answers that could not be */
};

/* interval_ms 0: never asks. */
void clock_exchange_init(struct clock_exchange *exchange, uint32_t interval_ms);

/* A new connection, perhaps to another aggregator: what was known is forgotten, and a burst begins. */
void clock_exchange_restart(struct clock_exchange *exchange, uint64_t now_ns);

/* Gives up a question that is too old. true: one is to be asked now. */
bool clock_exchange_wants(struct clock_exchange *exchange, uint64_t now_ns);
/* A question is on its way; t1_ns: read before it was sent. */
void clock_exchange_asked(struct clock_exchange *exchange, uint64_t t1_ns);

/* A CLOCK_ANSWER came; t4_ns: read after that. false: it answers nothing that was asked, or can't be true, and was
 * dropped. */
bool clock_exchange_answered(struct clock_exchange *exchange, const struct message_clock *answer,
			     uint64_t t4_ns);

/* Once after each burst that had an answer: true, and *result is what the aggregator is to be told but for our realtime
 * offset. */
bool clock_exchange_result(struct clock_exchange *exchange, uint64_t now_ns,
			   struct message_clock *result);

/* How ours stands to the aggregator's now, by what is known of this connection. false: nothing is. */
struct clock_exchange_estimate {
	int64_t offset_ns;
	uint64_t bound_ns; /* half the round trip, and CLOCK_EXCHANGE_DRIFT_PPM of the time since */
	int64_t realtime_offset_ns; /* the aggregator's */
};
bool clock_exchange_estimate(const struct clock_exchange *exchange, uint64_t now_ns,
			     struct clock_exchange_estimate *estimate);

/* When clock_exchange_wants() is to be asked again; UINT64_MAX: never. */
uint64_t clock_exchange_deadline_ns(const struct clock_exchange *exchange);

#endif
