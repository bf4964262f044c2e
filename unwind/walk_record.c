#include "walk_record.h"

#include "unwind_row.h"
#include "unwind_table.h"

#include "proto/launch_path.h"

#define WORD       8u
#define PAGE_BYTES 4096u
#define REACH_MAX  (UINT16_MAX * WORD) /* WALK_TEST_FP is no word */

/* As in unwind.c: all words between frames may be read, and other threads may write to some. */
#define READS_STACK __attribute__((no_sanitize("address"), no_sanitize("thread")))

static inline READS_STACK uint64_t word_at(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

/* ---- collecting: rare */

#if WALK_RECORD_POSSIBLE

struct rewalk {
	uint64_t high; /* the end of what may be read */
	uint64_t pc, sp, fp;
	bool fp_lost;
};

/* Loads the caller's registers, as move() in unwind.c does. */
static READS_STACK bool move(struct rewalk *walk, struct walk_step *step, uint64_t base,
			     int32_t rbp)
{
	uint64_t size = step->cfa - walk->sp;

	if (size < WORD || size > walk->high - walk->sp || size % WORD != 0)
		return false;
	step->loads_fp = rbp != UNWIND_RBP_KEPT;
	if (step->loads_fp) {
		uint64_t at = base + (uint64_t)(int64_t)rbp * WORD;

		walk->fp_lost =
			rbp == UNWIND_RBP_LOST || at % WORD != 0 || at - walk->sp > size - WORD;
		step->knows_fp = !walk->fp_lost;
		if (step->knows_fp)
			walk->fp = word_at(at);
		step->fp_at = at;
		step->fp = walk->fp;
	}
	step->pc = walk->pc = word_at(step->cfa - WORD);
	walk->sp = step->cfa;
	return true;
}

static READS_STACK bool move_by_memory(struct rewalk *walk, struct walk_step *step, uint32_t rule)
{
	uint64_t at = walk->fp + (uint64_t)(int64_t)unwind_rule_signed_number(rule) * WORD;

	if (at < walk->sp || at >= walk->high || walk->high - at < WORD || at % WORD != 0)
		return false;
	step->by_memory = true;
	step->cfa_at = at;
	step->cfa = word_at(at);
	return move(walk, step, walk->fp, unwind_rule_rbp(rule));
}

static bool move_by(struct rewalk *walk, struct walk_step *step, uint32_t rule)
{
	switch (unwind_rule_kind(rule)) {
	case UNWIND_RSP:
		step->cfa = walk->sp + unwind_rule_number(rule) * WORD;
		return move(walk, step, step->cfa, unwind_rule_rbp(rule));
	case UNWIND_RSP_FAR:
		step->cfa = walk->sp + (uint64_t)unwind_rule_far_words(rule) * WORD;
		return move(walk, step, step->cfa, unwind_rule_far_rbp(rule));
	case UNWIND_RBP:
		step->by_fp = true;
		step->cfa = walk->fp + (uint64_t)(int64_t)unwind_rule_signed_number(rule) * WORD;
		return !walk->fp_lost && move(walk, step, step->cfa, unwind_rule_rbp(rule));
	case UNWIND_RBP_MEMORY:
		step->by_fp = true;
		return !walk->fp_lost && move_by_memory(walk, step, rule);
	case UNWIND_PLT:
		step->cfa = walk->sp + WORD;
		if ((walk->pc & 15) >= unwind_rule_number(rule))
			step->cfa += WORD;
		return move(walk, step, step->cfa, UNWIND_RBP_KEPT);
	case UNWIND_SPECIAL:
	default:
		return false;
	}
}

/* Goes through the frames. Returns whether the walk came to the same end by rules that a record can hold. */
static bool rewalk(struct rewalk *walk, struct unwind_tables *tables, struct unwind_cache *cache,
		   enum unwind_end end, const uint64_t *frames, uint32_t nr,
		   struct walk_reads *reads)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t rule;

		if (walk->pc != frames[i])
			return false;
		if (i + 1 == nr && end == UNWIND_STOP)
			return true;
		/* Code without a file may change without a new epoch. */
		if (!unwind_tables_holds(tables, walk->pc - 1) ||
		    !unwind_rule_before(tables, cache, reads->epoch, walk->pc, &rule))
			return false;
		if (rule == unwind_rule_special(UNWIND_OUTERMOST))
			return i + 1 == nr && end == UNWIND_ROOT;
		reads->steps[reads->nr_steps] = (struct walk_step){0};
		if (!move_by(walk, &reads->steps[reads->nr_steps], rule))
			return false;
		reads->nr_steps++;
	}
	return (walk->pc == 0) == (end == UNWIND_ROOT);
}

static bool add(struct walk_reads *reads, uint64_t at, bool is_place, uint64_t value)
{
	if (at >= REACH_MAX || (is_place && value > INT32_MAX))
		return false;
	reads->reads[reads->nr++] =
		(struct walk_read){.at = (uint32_t)at, .is_place = is_place, .value = value};
	if (reads->reach < at + WORD)
		reads->reach = (uint32_t)at + WORD;
	return true;
}

/* A saved rbp counts only if a later rule starts from it before it is loaded again. */
static bool add_steps(struct walk_reads *reads, const struct unwind_start *start)
{
	bool counts[WALK_READS_FRAMES] = {false}, live = false;

	for (uint32_t i = reads->nr_steps; i-- > 0;) {
		const struct walk_step *step = &reads->steps[i];

		counts[i] = step->loads_fp && live;
		live = step->by_fp || (!step->loads_fp && live);
	}
	reads->fp_distance = WALK_RECORD_FP_ANY;
	if (live) {
		uint64_t distance = start->fp - start->sp;

		if (distance > INT32_MAX)
			return false;
		reads->fp_distance = (int32_t)distance;
	}
	for (uint32_t i = 0; i < reads->nr_steps; i++) {
		const struct walk_step *step = &reads->steps[i];

		if (step->by_memory &&
		    !add(reads, step->cfa_at - start->sp, true, step->cfa - start->sp))
			return false;
		if (counts[i] && (!step->knows_fp ||
				  !add(reads, step->fp_at - start->sp, true, step->fp - start->sp)))
			return false;
		if (!add(reads, step->cfa - WORD - start->sp, false, step->pc))
			return false;
	}
	return true;
}

__attribute__((cold)) bool walk_reads_collect(struct unwind_tables *tables,
					      struct unwind_cache *cache,
					      const struct unwind_start *start, uint64_t high,
					      enum unwind_end end, const uint64_t *frames,
					      uint32_t nr, struct walk_reads *reads)
{
	struct rewalk walk;

	reads->nr = reads->reach = reads->nr_steps = 0;
	reads->pc = start->pc;
	reads->epoch = unwind_tables_epoch(tables);
	if ((end != UNWIND_ROOT && end != UNWIND_STOP && end != UNWIND_FULL) || nr == 0 ||
	    nr > WALK_READS_FRAMES || start->sp % WORD != 0 || start->sp > high)
		return false;
	walk = (struct rewalk){.high = high, .pc = start->pc, .sp = start->sp, .fp = start->fp};
	return rewalk(&walk, tables, cache, end, frames, nr, reads) && add_steps(reads, start);
}

#else

bool walk_reads_collect(struct unwind_tables *tables, struct unwind_cache *cache,
			const struct unwind_start *start, uint64_t high, enum unwind_end end,
			const uint64_t *frames, uint32_t nr, struct walk_reads *reads)
{
	(void)tables;
	(void)cache;
	(void)start;
	(void)high;
	(void)end;
	(void)frames;
	(void)nr;
	reads->nr = reads->reach = 0;
	return false;
}

#endif

/* ---- the record */

__attribute__((cold)) void walk_record_head(struct walk_record *record,
					    const struct walk_reads *reads)
{
	uint32_t nr_places = 0;

	for (uint32_t i = 0; i < reads->nr; i++)
		nr_places += reads->reads[i].is_place;
	*record = (struct walk_record){
		.pc = reads->pc,
		.epoch = reads->epoch,
		.reach = reads->reach,
		.fp_distance = reads->fp_distance,
		.nr_words = (uint16_t)(reads->nr - nr_places),
		.nr_places = (uint16_t)nr_places,
	};
}

__attribute__((cold)) void walk_record_write(struct walk_record *record,
					     const struct walk_reads *reads)
{
	uint32_t word = 0, place = 0;
	uint64_t *words = (uint64_t *)(record + 1);
	int32_t *places = (int32_t *)(words + record->nr_words);
	uint16_t *at = (uint16_t *)(places + record->nr_places);
	for (uint32_t i = 0; i < reads->nr; i++) {
		const struct walk_read *read = &reads->reads[i];

		if (read->is_place) {
			at[record->nr_words + place] = (uint16_t)(read->at / WORD);
			places[place++] = (int32_t)read->value;
		} else {
			at[word] = (uint16_t)(read->at / WORD);
			words[word++] = read->value;
		}
	}
}

/* Compares what the record read below the page of word `to`, which is a word that it read. Words of a page are compared
 * without leaving at the first that differs, because nearly always all are equal. Pages further up are read only if all
 * words below are equal, so that the walk would have read them, too: on a stack that is no thread's, what lies above it
 * may be gone. A walk came to the word without the frames further up, so it needed no place of them. */
static READS_STACK LAUNCH_PATH __attribute__((noinline)) bool
equal(const struct walk_record *record, const struct unwind_start *start, uint32_t to)
{
	const int64_t above = (int64_t)to * WORD;
	const uint64_t sp = start->sp, *stack = (const uint64_t *)(uintptr_t)sp;
	const uint64_t *words = walk_record_words(record);
	const int32_t *places = walk_record_places(record);
	const uint16_t *at = walk_record_at(record);
	const uint32_t nr_words = record->nr_words, nr_places = record->nr_places;
	uint32_t word = 0, place = 0;
	uint64_t differs = record->pc ^ start->pc;

	if (record->fp_distance != WALK_RECORD_FP_ANY && record->fp_distance < above)
		differs |= start->fp - sp - (uint64_t)(int64_t)record->fp_distance;
	for (uint64_t end = (PAGE_BYTES - sp % PAGE_BYTES) / WORD; !differs && end <= to;
	     end += PAGE_BYTES / WORD) {
		for (; word < nr_words && at[word] < end; word++)
			differs |= stack[at[word]] ^ words[word];
		for (; place < nr_places && at[nr_words + place] < end; place++)
			if (places[place] < above)
				differs |= stack[at[nr_words + place]] - sp -
					   (uint64_t)(int64_t)places[place];
		if (word == nr_words && place == nr_places)
			break;
	}
	return differs == 0;
}

READS_STACK LAUNCH_PATH bool walk_record_holds(const struct walk_record *record,
					       const struct unwind_start *start, uint64_t high,
					       uint32_t epoch)
{
	const uint64_t sp = start->sp;

	if (record->epoch != epoch || sp % WORD != 0 || sp > high || record->reach > high - sp)
		return false;
	return equal(record, start, UINT32_MAX);
}

READS_STACK LAUNCH_PATH uint32_t walk_record_words_to(const struct walk_record *record,
						      const struct unwind_start *start,
						      uint64_t high, uint32_t at)
{
	uint64_t sp = start->sp;

	if (sp % WORD != 0 || sp > high || at >= (high - sp) / WORD || !equal(record, start, at))
		return 0;
	uint64_t end = ((sp + (uint64_t)at * WORD) | (PAGE_BYTES - 1)) + 1;
	return (uint32_t)(((end < high ? end : high) - sp) / WORD);
}
