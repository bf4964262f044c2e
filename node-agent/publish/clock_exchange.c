#include "clock_exchange.h"

#include <string.h>

#define NS_PER_MS 1000000ull
#define PPM       1000000ull
#define TIME_MAX  (1ull << 62) /* 146 years; later times could overflow differences */

void clock_exchange_init(struct clock_exchange *exchange, uint32_t interval_ms)
{
	*exchange = (struct clock_exchange){
		.interval_ns = interval_ms * NS_PER_MS,
		.burst_ns = UINT64_MAX,
	};
}

void clock_exchange_restart(struct clock_exchange *exchange, uint64_t now_ns)
{
	exchange->nr_samples = exchange->nr_asked = 0;
	exchange->asked_ns = 0;
	exchange->has_result = exchange->has_best = false;
	exchange->burst_ns = exchange->interval_ns ? now_ns : UINT64_MAX;
}

static void end_question(struct clock_exchange *exchange)
{
	exchange->asked_ns = 0;
	if (exchange->nr_asked < CLOCK_EXCHANGE_BURST)
		return;
	exchange->has_result = exchange->nr_samples > 0;
	exchange->nr_asked = 0;
	exchange->burst_ns += exchange->interval_ns;
}

bool clock_exchange_wants(struct clock_exchange *exchange, uint64_t now_ns)
{
	if (exchange->asked_ns && now_ns >= exchange->asked_ns &&
	    now_ns - exchange->asked_ns >= CLOCK_EXCHANGE_ANSWER_NS) {
		exchange->nr_lost++;
		end_question(exchange);
	}
	return !exchange->asked_ns && now_ns >= exchange->burst_ns;
}

void clock_exchange_asked(struct clock_exchange *exchange, uint64_t t1_ns)
{
	if (exchange->nr_asked == 0) {
		exchange->nr_samples = 0;   /* samples of the previous burst are too old */
		exchange->burst_ns = t1_ns; /* missed bursts are not made up for */
	}
	exchange->asked_ns = t1_ns;
	exchange->nr_asked++;
}

/* Chooses the sample with the shortest round trip; of equal samples, the youngest. */
static void choose(struct clock_exchange *exchange)
{
	const struct clock_exchange_sample *best = &exchange->samples[0];

	for (uint32_t i = 1; i < exchange->nr_samples; i++) {
		const struct clock_exchange_sample *sample = &exchange->samples[i];

		if (sample->round_trip_ns < best->round_trip_ns ||
		    (sample->round_trip_ns == best->round_trip_ns && sample->t1_ns > best->t1_ns))
			best = sample;
	}
	exchange->best = *best;
	exchange->has_best = true;
}

static bool is_possible(const struct message_clock *answer, uint64_t t4_ns)
{
	return answer->t1_ns < TIME_MAX && answer->t2_ns < TIME_MAX && answer->t3_ns < TIME_MAX &&
	       t4_ns < TIME_MAX && t4_ns >= answer->t1_ns && answer->t3_ns >= answer->t2_ns &&
	       t4_ns - answer->t1_ns >= answer->t3_ns - answer->t2_ns &&
	       t4_ns - answer->t1_ns <= (uint64_t)CLOCK_EXCHANGE_ROUND_MAX_NS;
}

bool clock_exchange_answered(struct clock_exchange *exchange, const struct message_clock *answer,
			     uint64_t t4_ns)
{
	if (answer->kind != CLOCK_ANSWER || exchange->asked_ns == 0 ||
	    answer->t1_ns != exchange->asked_ns || !is_possible(answer, t4_ns)) {
		exchange->nr_refused++;
		return false;
	}
	/* The local clock less the aggregator's lies between these two. */
	int64_t least = (int64_t)answer->t1_ns - (int64_t)answer->t2_ns;
	int64_t most = (int64_t)t4_ns - (int64_t)answer->t3_ns;

	exchange->samples[exchange->nr_samples++] = (struct clock_exchange_sample){
		.t1_ns = answer->t1_ns,
		.round_trip_ns = (uint64_t)(most - least),
		.offset_ns = least + (most - least) / 2,
		.realtime_offset_ns = answer->realtime_offset_ns,
	};
	choose(exchange);
	end_question(exchange);
	return true;
}

bool clock_exchange_estimate(const struct clock_exchange *exchange, uint64_t now_ns,
			     struct clock_exchange_estimate *estimate)
{
	const struct clock_exchange_sample *best = &exchange->best;
	uint64_t age_ns = now_ns > best->t1_ns ? now_ns - best->t1_ns : 0;

	*estimate = (struct clock_exchange_estimate){
		.offset_ns = best->offset_ns,
		.bound_ns = (best->round_trip_ns + 1) / 2 +
			    age_ns / PPM * CLOCK_EXCHANGE_DRIFT_PPM +
			    age_ns % PPM * CLOCK_EXCHANGE_DRIFT_PPM / PPM + 1,
		.realtime_offset_ns = best->realtime_offset_ns,
	};
	return exchange->has_best;
}

bool clock_exchange_result(struct clock_exchange *exchange, uint64_t now_ns,
			   struct message_clock *result)
{
	struct clock_exchange_estimate estimate;

	if (!exchange->has_result || !clock_exchange_estimate(exchange, now_ns, &estimate))
		return false;
	exchange->has_result = false;
	*result = (struct message_clock){
		.kind = CLOCK_RESULT,
		.t1_ns = now_ns,
		.offset_ns = estimate.offset_ns,
		.bound_ns = estimate.bound_ns,
		.round_trip_ns = exchange->best.round_trip_ns,
	};
	return estimate.bound_ns <= (uint64_t)CLOCK_BOUND_MAX_NS;
}

uint64_t clock_exchange_deadline_ns(const struct clock_exchange *exchange)
{
	if (exchange->asked_ns)
		return exchange->asked_ns + CLOCK_EXCHANGE_ANSWER_NS;
	return exchange->burst_ns;
}
