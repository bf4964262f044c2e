#include "counter_word.h"

#define NUMBER_MOST ((uint64_t)1 << 60) /* ns are 36 years of it */
#define LENGTH_NS   1000000000u         /* no sample is so long */

static bool is_sample_valid(const struct counter_sample *sample, uint32_t invalid)
{
	const uint64_t ns = sample->end_ns - sample->begin_ns;
	bool is_valid = sample->known <= COUNTER_KNOWN_MAX && !(sample->known & invalid);

	for (uint32_t i = 0; i < COUNTER_USES; i++)
		is_valid &= sample->use[i] <= COUNTER_WHOLE;
	for (uint32_t i = 0; i < COUNTER_TRAFFICS && ns < LENGTH_NS; i++)
		is_valid &= sample->bytes[i] <= ns * COUNTER_BYTES_NS_MAX;
	return is_valid;
}

bool counter_word_is_valid(const struct counter_word *word)
{
	if (word->magic != COUNTER_WORD_MAGIC || word->device >= COUNTER_WORD_DEVICES ||
	    word->invalid > COUNTER_KNOWN_MAX)
		return false;
	switch ((enum counter_word_kind)word->kind) {
	case COUNTER_WORD_SAMPLE:
		return is_sample_valid(&word->sample, word->invalid);
	case COUNTER_WORD_REFUSAL:
		return word->number < COUNTER_REFUSALS;
	case COUNTER_WORD_DROPPED:
		return word->number <= UINT32_MAX;
	case COUNTER_WORD_OVERFLOW:
		return word->number == 1;
	case COUNTER_WORD_ROUND:
		return word->number <= NUMBER_MOST && word->size <= NUMBER_MOST;
	case COUNTER_WORD_KINDS:
		break;
	}
	return false;
}
