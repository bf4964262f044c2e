#include "counter_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "counter_word.h"

#include "aggregator/core/kept_window.h"
#include "proto/record.h"

#define AHEAD_NS 1000000000u /* the two clocks are less apart */

int counter_queue_init(struct counter_queue *queue, uint64_t begin_ns, uint64_t interval_ns)
{
	*queue = (struct counter_queue){
		.samples = calloc(COUNTER_QUEUE_MAX, sizeof(*queue->samples)),
		.sums = {.begin_ns = begin_ns, .last_ns = begin_ns, .interval_ns = interval_ns},
	};
	return queue->samples ? 0 : -ENOMEM;
}

void counter_queue_fini(struct counter_queue *queue)
{
	free(queue->samples);
	*queue = (struct counter_queue){0};
}

static void add_up(struct counter_sums *all, const struct counter_sample *sample)
{
	const uint64_t ns = sample->end_ns - sample->begin_ns;

	for (uint32_t i = 0; i < COUNTER_USES + COUNTER_TRAFFICS; i++) {
		if (!(sample->known & 1u << i))
			continue;
		all->known_ns[i] += ns;
		all->amounts[i] += i < COUNTER_USES ? ns * sample->use[i] / COUNTER_WHOLE
						    : sample->bytes[i - COUNTER_USES];
	}
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The process's numbers go on the wire and into the store as 63 bits. */
static void count(uint64_t *sum, uint64_t number)
{
	*sum = number > INT64_MAX - *sum ? INT64_MAX : *sum + number;
}

void counter_queue_drop(struct counter_queue *queue, uint64_t number)
{
	count(&queue->sums.dropped, number);
}

void counter_queue_overflow(struct counter_queue *queue)
{
	count(&queue->sums.overflows, 1);
}

static bool can_be(const struct counter_queue *queue, const struct counter_sample *sample,
		   uint64_t now_ns)
{
	const uint64_t begin_ns = sample->begin_ns, end_ns = sample->end_ns;
	const uint64_t interval_ns = queue->sums.interval_ns;

	return end_ns > begin_ns && end_ns - begin_ns <= COUNTER_LENGTH_MOST * interval_ns &&
	       end_ns <= now_ns + AHEAD_NS && end_ns <= INT64_MAX &&
	       begin_ns + AHEAD_NS >= queue->sums.begin_ns && begin_ns > queue->newest_begin_ns &&
	       begin_ns + interval_ns / 2 >= queue->newest_end_ns;
}

void counter_queue_add(struct counter_queue *queue, const struct counter_sample *sample,
		       uint32_t invalid, uint64_t now_ns)
{
	struct counter_state *sums = &queue->sums;

	if (!can_be(queue, sample, now_ns)) {
		counter_queue_drop(queue, 1);
		return;
	}
	const uint64_t new_ns = larger(sample->begin_ns, queue->newest_end_ns);
	count(&sums->covered_ns, sample->end_ns > new_ns ? sample->end_ns - new_ns : 0);
	queue->newest_begin_ns = sample->begin_ns;
	queue->newest_end_ns = larger(queue->newest_end_ns, sample->end_ns);
	sums->samples++;
	sums->invalid += invalid != 0;
	add_up(&queue->all, sample);
	if (sample->end_ns > sums->last_ns)
		sums->last_ns = sample->end_ns;
	if (kept_window_level(sample->begin_ns / KEPT_WINDOW_GPU_NS) < queue->level)
		return;
	sums->kept++;
	if (++queue->nr_at_level == COUNTER_QUEUE_LEVEL) {
		queue->nr_at_level = 0;
		queue->level += queue->level + 1 < KEPT_WINDOW_LEVELS;
	}
	if (queue->count == COUNTER_QUEUE_MAX) {
		sums->unsent++;
		return;
	}
	queue->samples[(queue->first + queue->count++) % COUNTER_QUEUE_MAX] = *sample;
}

void counter_queue_refuse(struct counter_queue *queue, uint32_t refusal, uint64_t now_ns)
{
	queue->sums.refusal = refusal;
	if (now_ns > queue->sums.last_ns)
		queue->sums.last_ns = now_ns;
}

uint32_t counter_queue_take(struct counter_queue *queue, struct counter_sample *samples,
			    uint32_t most)
{
	const uint32_t count = queue->count < most ? queue->count : most;

	for (uint32_t i = 0; i < count; i++)
		samples[i] = queue->samples[(queue->first + i) % COUNTER_QUEUE_MAX];
	queue->first = (queue->first + count) % COUNTER_QUEUE_MAX;
	queue->count -= count;
	return count;
}
