/* Words of the process that samples counters: whatever it says, what the agent takes of it can be sent. */
#include "node-agent/counters/counter_word.h"

#include "tests/support/cmocka_test.h"

#include "node-agent/counters/counter_queue.h"
#include "proto/batch/batch_encode.h"

#define MS    1000000ull
#define WORDS 20000u

static const uint64_t now_ns = 1795000000000 * MS;
static uint64_t seed;

static uint64_t next(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 11;
}

/* Few of its bits may be set, or many. */
static uint64_t number(void)
{
	return next() << 11 >> next() % 64;
}

static struct counter_word random_word(uint32_t i)
{
	struct counter_word word = {.magic = next() % 8 ? COUNTER_WORD_MAGIC : (uint32_t)next(),
				    .kind = (uint32_t)next() % 6,
				    .device = (uint32_t)(next() % 4 ? next() % 66 : number()),
				    .invalid = next() % 4 ? 0 : (uint32_t)number()};

	if (word.kind != COUNTER_WORD_SAMPLE) {
		word.number = number();
		word.size = number();
		return word;
	}
	word.sample.begin_ns = now_ns + (next() % 2 ? i * MS : number());
	word.sample.end_ns = word.sample.begin_ns + (next() % 2 ? MS : number());
	word.sample.known = (uint32_t)(next() % 4 ? next() % 140 : number()) & ~word.invalid;
	for (uint32_t use = 0; use < COUNTER_USES; use++)
		word.sample.use[use] = next() % 16 ? 7 : (uint32_t)number();
	for (uint32_t traffic = 0; traffic < COUNTER_TRAFFICS; traffic++)
		word.sample.bytes[traffic] = next() % 16 ? 9 : number();
	return word;
}

static void take(struct counter_queue *queue, const struct counter_word *word, uint64_t time_ns)
{
	if (word->kind == COUNTER_WORD_SAMPLE)
		counter_queue_add(queue, &word->sample, word->invalid, time_ns);
	else if (word->kind == COUNTER_WORD_DROPPED)
		counter_queue_drop(queue, word->number);
	else if (word->kind == COUNTER_WORD_OVERFLOW)
		counter_queue_overflow(queue);
	else if (word->kind == COUNTER_WORD_REFUSAL)
		counter_queue_refuse(queue, (uint32_t)word->number, time_ns);
}

static void valid_words_can_be_sent(void **state)
{
	struct batch_encoder *encoder = batch_encoder_create();
	struct counter_queue queue;
	uint32_t valid = 0, sent = 0;

	(void)state;
	seed = 21;
	assert_non_null(encoder);
	assert_int_equal(counter_queue_init(&queue, now_ns, MS), 0);
	for (uint32_t i = 0; i < WORDS; i++) {
		struct counter_word word = random_word(i);
		struct counter_sample sample;
		const uint8_t *frame;
		size_t size;

		if (!counter_word_is_valid(&word))
			continue;
		valid++;
		take(&queue, &word, now_ns + i * MS);
		const uint32_t count = counter_queue_take(&queue, &sample, 1);
		const struct message message = {.type = MESSAGE_PLACEMENT,
						.placement = {.seq = 1,
							      .process_id = 1,
							      .nr_counter_states = 1,
							      .counter_states = &queue.sums,
							      .nr_counters = count,
							      .counters = &sample}};
		assert_int_equal(batch_encode(encoder, &message, &frame, &size), 0);
		sent += count;
	}
	assert_in_range(valid, WORDS / 50, WORDS / 2);
	assert_in_range(sent, 100, valid);
	assert_int_equal(queue.sums.samples, sent);
	counter_queue_fini(&queue);
	batch_encoder_destroy(encoder);
}

static struct counter_word sample_word(void)
{
	return (struct counter_word){.magic = COUNTER_WORD_MAGIC,
				     .kind = COUNTER_WORD_SAMPLE,
				     .sample = {.known = 1,
						.begin_ns = now_ns,
						.end_ns = now_ns + MS,
						.use = {COUNTER_WHOLE},
						.bytes = {MS * COUNTER_BYTES_NS_MAX}}};
}

static void each_part_of_a_sample_is_checked(void **state)
{
	struct counter_word word = sample_word();

	(void)state;
	assert_true(counter_word_is_valid(&word));
	word.magic++;
	assert_false(counter_word_is_valid(&word));
	word = sample_word();
	word.device = COUNTER_WORD_DEVICES;
	assert_false(counter_word_is_valid(&word));
	word = sample_word();
	word.sample.known = COUNTER_KNOWN_MAX + 1;
	assert_false(counter_word_is_valid(&word));
	word = sample_word();
	word.invalid = 1;
	assert_false(counter_word_is_valid(&word));
	word = sample_word();
	word.sample.use[0]++;
	assert_false(counter_word_is_valid(&word));
	word = sample_word();
	word.sample.bytes[0]++;
	assert_false(counter_word_is_valid(&word));
}

static bool is_valid(enum counter_word_kind kind, uint64_t first, uint64_t second)
{
	struct counter_word word = {.magic = COUNTER_WORD_MAGIC, .kind = kind};

	word.number = first;
	word.size = second;
	return counter_word_is_valid(&word);
}

static void each_number_has_its_range(void **state)
{
	(void)state;
	assert_true(is_valid(COUNTER_WORD_REFUSAL, COUNTER_HANGS, 0));
	assert_false(is_valid(COUNTER_WORD_REFUSAL, COUNTER_REFUSALS, 0));
	assert_true(is_valid(COUNTER_WORD_DROPPED, UINT32_MAX, 0));
	assert_false(is_valid(COUNTER_WORD_DROPPED, UINT32_MAX + 1ull, 0));
	assert_true(is_valid(COUNTER_WORD_OVERFLOW, 1, 0));
	assert_false(is_valid(COUNTER_WORD_OVERFLOW, 2, 0));
	assert_true(is_valid(COUNTER_WORD_ROUND, 4711, 1ull << 60));
	assert_false(is_valid(COUNTER_WORD_ROUND, UINT64_MAX, 0));
	assert_false(is_valid(COUNTER_WORD_ROUND, 0, UINT64_MAX));
	assert_false(is_valid(COUNTER_WORD_KINDS, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_words_can_be_sent),
		cmocka_unit_test(each_part_of_a_sample_is_checked),
		cmocka_unit_test(each_number_has_its_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
