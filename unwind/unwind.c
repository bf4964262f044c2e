#include "unwind.h"

#include <string.h>

#include "process_memory.h"
#include "unwind_row.h"
#include "unwind_table.h"

#define FIRST_PAGE 4096u
#define WORD       8u

/* All words between frames may be read, also a sanitizer's red zones. Other threads may write to some of them. */
#define READS_STACK __attribute__((no_sanitize("address"), no_sanitize("thread")))

/* The range that holds all stops, so that most frames cost one comparison. */
struct stop_span {
	uint64_t start, size;
	const struct unwind_stops *stops;
};

static inline READS_STACK uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

static struct stop_span span_of(const struct unwind_stops *stops)
{
	struct stop_span span = {.stops = stops};
	uint64_t start = UINT64_MAX, end = 0;

	if (!stops || stops->nr == 0 || stops->nr > UNWIND_STOPS_MAX)
		return span;
	for (uint32_t i = 0; i < stops->nr; i++) {
		start = stops->ranges[i].start < start ? stops->ranges[i].start : start;
		end = stops->ranges[i].end > end ? stops->ranges[i].end : end;
	}
	span.start = start;
	span.size = end > start ? end - start : 0;
	return span;
}

static READS_STACK bool in_stops(const struct unwind_stops *stops, uint64_t address)
{
	for (uint32_t i = 0; i < stops->nr; i++)
		if (address >= stops->ranges[i].start && address < stops->ranges[i].end)
			return true;
	return false;
}

#if defined(__x86_64__)

#define NO_FILE_FRAMES_MAX 64u /* in a row */

/* Offsets in the kernel's struct ucontext, x86_64, where uc_mcontext is at 40. */
#define UCONTEXT_RBP 120u
#define UCONTEXT_RSP 160u
#define UCONTEXT_RIP 168u

struct walk {
	struct unwind_tables *tables;
	struct unwind_cache *cache;
	uint64_t high;
	uint64_t pc, sp, fp;
	uint64_t confirmed; /* code without a file may be left by frame pointers below this sp */
	uint64_t rbp_at;    /* from the last move, as in struct unwind_step */
	uint64_t zero_at;   /* as in struct unwind_trail */
	uint32_t epoch;
	bool exact;   /* pc is where a signal came, not a return address */
	bool fp_lost; /* fp is not the frame's */
};

/* Moves into the caller's frame. rbp: where it was saved, in words from base. That place must lie in the frame. */
static inline READS_STACK bool move(struct walk *walk, uint64_t cfa, uint64_t base, int32_t rbp)
{
	uint64_t size = cfa - walk->sp;

	/* These compare by subtraction, because any sum may wrap. sp <= high holds throughout. */
	if (size < WORD || size > walk->high - walk->sp || size % WORD != 0)
		return false;
	walk->rbp_at = UNWIND_STEP_KEPT;
	if (rbp != UNWIND_RBP_KEPT) {
		uint64_t at = base + (uint64_t)(int64_t)rbp * WORD;

		walk->fp_lost =
			rbp == UNWIND_RBP_LOST || at % WORD != 0 || at - walk->sp > size - WORD;
		walk->rbp_at = walk->fp_lost ? UNWIND_STEP_ONCE : at;
		if (!walk->fp_lost)
			walk->fp = word_at(at);
	}
	walk->pc = word_at(cfa - WORD);
	walk->sp = cfa;
	walk->exact = false;
	return true;
}

/* CFA = *(fp + 8 * number), rbp saved from fp. */
static READS_STACK bool move_by_memory(struct walk *walk, uint32_t rule)
{
	uint64_t at = walk->fp + (uint64_t)(int64_t)unwind_rule_signed_number(rule) * WORD;

	if (at < walk->sp || at >= walk->high || walk->high - at < WORD || at % WORD != 0)
		return false;
	return move(walk, word_at(at), walk->fp, unwind_rule_rbp(rule));
}

/* Moves into the interrupted frame. Its stack may be another than the handler's; then only its first frame is known. */
static READS_STACK bool move_by_signal(struct walk *walk)
{
	uint64_t sp;

	if (walk->high - walk->sp < UCONTEXT_RIP + WORD)
		return false;
	walk->pc = word_at(walk->sp + UCONTEXT_RIP);
	walk->fp = word_at(walk->sp + UCONTEXT_RBP);
	sp = word_at(walk->sp + UCONTEXT_RSP);
	if (sp <= walk->sp || sp > walk->high || sp % WORD != 0)
		sp = walk->high; /* nothing more is read */
	walk->sp = sp;
	walk->exact = true;
	walk->fp_lost = false;
	return true;
}

/* Returns whether the chain of frame pointers leads, inside the stack, to a known file. A word that only looks like a
 * frame pointer rarely does. */
static READS_STACK bool confirm(struct walk *walk)
{
	uint64_t low = walk->sp, fp = walk->fp;

	if (walk->sp < walk->confirmed)
		return true;
	for (uint32_t i = 0; i < NO_FILE_FRAMES_MAX; i++) {
		if (fp < low || fp >= walk->high || walk->high - fp < 2 * WORD || fp % WORD != 0)
			return false;

		uint64_t pc = word_at(fp + WORD);
		if (pc < FIRST_PAGE)
			return false;
		if (unwind_tables_holds(walk->tables, pc - 1)) {
			walk->confirmed = fp + 2 * WORD;
			return true;
		}
		low = fp + 2 * WORD;
		fp = word_at(fp);
	}
	return false;
}

static READS_STACK bool move_by_special(struct walk *walk, uint32_t rule)
{
	switch ((enum unwind_special)unwind_rule_number(rule)) {
	case UNWIND_SIGNAL:
		return move_by_signal(walk);
	case UNWIND_NO_FILE:
		return !walk->fp_lost && confirm(walk) &&
		       move(walk, walk->fp + 2 * WORD, walk->fp, 0);
	case UNWIND_GAP:
	case UNWIND_UNSUPPORTED:
	case UNWIND_OUTERMOST:
	default:
		return false;
	}
}

/* This move took more than the return address and rbp from memory. */
static bool once(struct walk *walk)
{
	walk->rbp_at = UNWIND_STEP_ONCE;
	return true;
}

static inline READS_STACK bool move_by(struct walk *walk, uint32_t rule)
{
	uint64_t cfa;

	switch (unwind_rule_kind(rule)) {
	case UNWIND_RSP:
		cfa = walk->sp + unwind_rule_number(rule) * WORD;
		return move(walk, cfa, cfa, unwind_rule_rbp(rule));
	case UNWIND_RBP:
		if (walk->fp_lost)
			return false;
		cfa = walk->fp + (uint64_t)(int64_t)unwind_rule_signed_number(rule) * WORD;
		return move(walk, cfa, cfa, unwind_rule_rbp(rule));
	case UNWIND_RSP_FAR:
		cfa = walk->sp + (uint64_t)unwind_rule_far_words(rule) * WORD;
		return move(walk, cfa, cfa, unwind_rule_far_rbp(rule));
	case UNWIND_RBP_MEMORY:
		return !walk->fp_lost && move_by_memory(walk, rule) && once(walk);
	case UNWIND_PLT:
		cfa = walk->sp + WORD;
		if ((walk->pc & 15) >= unwind_rule_number(rule))
			cfa += WORD;
		return move(walk, cfa, cfa, UNWIND_RBP_KEPT);
	case UNWIND_SPECIAL:
	default:
		return move_by_special(walk, rule) && once(walk);
	}
}

/* Returns whether the rules are to blame, and not the stack's contents. */
static bool without_rule(const struct walk *walk, uint32_t rule)
{
	switch (unwind_rule_kind(rule)) {
	case UNWIND_RBP:
	case UNWIND_RBP_MEMORY:
		return walk->fp_lost;
	case UNWIND_SPECIAL:
		return unwind_rule_number(rule) == UNWIND_GAP ||
		       unwind_rule_number(rule) == UNWIND_UNSUPPORTED;
	case UNWIND_RSP:
	case UNWIND_RSP_FAR:
	case UNWIND_PLT:
	default:
		return false;
	}
}

/* Returns the rule for code without a file. CPython's trampolines for perf keep no frame pointer up to 3.12: their only
 * call is followed by add $8,%rsp; ret. Code without a file changes rarely, and a stale rule still reads inside the
 * stack. */
static uint32_t rule_without_file(const struct walk *walk)
{
	static const uint8_t trampoline[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
	uint8_t code[sizeof(trampoline)];

	if (!walk->exact && process_memory_read(walk->pc, code, sizeof(code)) == sizeof(code) &&
	    memcmp(code, trampoline, sizeof(code)) == 0)
		return unwind_rule(UNWIND_RSP, 2, UNWIND_RBP_KEPT);
	return unwind_rule_special(UNWIND_NO_FILE);
}

_Static_assert(sizeof(struct unwind_rule_set) == 64, "one cache line");

static inline struct unwind_rule_set *set_of(struct unwind_cache *cache, uint64_t address)
{
	return &cache->sets[((address * UINT64_C(0x9e3779b97f4a7c15)) >> 54) % UNWIND_CACHE_SETS];
}

/* Address 0, which a free way has, is looked up by no walk. */
static inline bool cached_rule(const struct unwind_rule_set *set, uint32_t epoch, uint64_t address,
			       uint32_t *rule)
{
	if (set->epoch != epoch)
		return false;
	for (uint32_t way = 0; way < UNWIND_CACHE_WAYS; way++) {
		if (set->addresses[way] == address) {
			*rule = set->rules[way];
			return true;
		}
	}
	return false;
}

static void remember_rule(struct unwind_rule_set *set, uint32_t epoch, uint64_t address,
			  uint32_t rule)
{
	if (set->epoch != epoch)
		*set = (struct unwind_rule_set){.epoch = epoch};

	uint32_t way = set->turn++ % UNWIND_CACHE_WAYS;
	set->addresses[way] = address;
	set->rules[way] = rule;
}

/* Returns whether this is a return address that no call left. makecontext() makes its function return to the first
 * instruction of another one. The address before that belongs to no function, and backtrace() would not go on
 * either. */
static bool is_arranged(const struct walk *walk)
{
	uint32_t rule;

	return !walk->exact && unwind_tables_find(walk->tables, walk->pc, &rule) == UNWIND_FOUND &&
	       rule != unwind_rule_special(UNWIND_GAP);
}

/* Finds a rule that the cache does not have. Returns false if there is no rule yet. */
static __attribute__((noinline)) bool find_rule(struct walk *walk, uint64_t address, uint32_t *rule)
{
	switch (unwind_tables_find(walk->tables, address, rule)) {
	case UNWIND_FOUND:
		if (*rule == unwind_rule_special(UNWIND_GAP) && is_arranged(walk))
			*rule = unwind_rule_special(UNWIND_OUTERMOST);
		break;
	case UNWIND_NOT_LOADED:
		*rule = rule_without_file(walk);
		break;
	case UNWIND_WANTED:
	default:
		return false;
	}
	remember_rule(set_of(walk->cache, address), walk->epoch, address, *rule);
	return true;
}

bool unwind_rule_before(struct unwind_tables *tables, struct unwind_cache *cache, uint32_t epoch,
			uint64_t pc, uint32_t *rule)
{
	struct walk walk = {.tables = tables, .cache = cache, .pc = pc, .epoch = epoch};

	return cached_rule(set_of(cache, pc - 1), epoch, pc - 1, rule) ||
	       find_rule(&walk, pc - 1, rule);
}

/* ---- the last walk's trail */

static void trail_begin(struct unwind_trail *trail, const struct walk *walk,
			const struct unwind_stops *stops)
{
	if (trail->epoch != walk->epoch || trail->stops != stops)
		trail->nr = 0;
	trail->epoch = walk->epoch;
	trail->stops = stops;
	trail->nr_fresh = 0;
}

/* Notes the present frame. How the walk leaves it is not known yet. */
static inline void trail_enter(struct unwind_trail *trail, const struct walk *walk)
{
	uint32_t nr = trail->nr_fresh++;

	if (nr < UNWIND_TRAIL_MAX)
		trail->fresh[nr] =
			(struct unwind_step){.pc = walk->pc,
					     .sp = walk->sp | (walk->exact || walk->fp_lost),
					     .fp = walk->fp,
					     .rbp_at = UNWIND_STEP_ONCE};
}

static inline void trail_leave(struct unwind_trail *trail, const struct walk *walk)
{
	if (trail->nr_fresh <= UNWIND_TRAIL_MAX && !walk->fp_lost)
		trail->fresh[trail->nr_fresh - 1].rbp_at = walk->rbp_at;
}

/* Returns how many steps of the trail lie outwards of the present frame. It includes the frame itself, and sets *met,
 * if the frame is on the trail. The result is never above `left`. */
static inline uint32_t trail_meet(const struct unwind_trail *trail, const struct walk *walk,
				  uint32_t left, bool *met)
{
	while (left && trail->steps[left - 1].sp < walk->sp)
		left--;
	*met = left && trail->steps[left - 1].sp == walk->sp &&
	       trail->steps[left - 1].pc == walk->pc && trail->steps[left - 1].fp == walk->fp &&
	       !walk->fp_lost && !walk->exact;
	return left;
}

/* Returns whether the words that led from one step of the trail to the next are unchanged. */
static inline READS_STACK bool trail_holds(const struct unwind_step *step,
					   const struct unwind_step *next, uint64_t high)
{
	if (step->rbp_at == UNWIND_STEP_ONCE || next->sp > high)
		return false;
	return word_at(next->sp - WORD) == next->pc &&
	       (step->rbp_at == UNWIND_STEP_KEPT || word_at(step->rbp_at) == next->fp);
}

/* Returns whether the outermost step still has no caller. */
static inline READS_STACK bool trail_ends(const struct unwind_trail *trail, struct walk *walk)
{
	walk->zero_at = trail->zero_at;
	return walk->zero_at == 0 || (walk->zero_at < walk->high && word_at(walk->zero_at) == 0);
}

/* Follows the trail from step `at`, which the walk has met; returns the last step that still holds.
 * Stores the frames, up to max. */
static inline READS_STACK uint32_t trail_follow(const struct unwind_trail *trail, uint32_t at,
						uint64_t high, uint64_t *frames, uint32_t max,
						uint32_t *nr)
{
	for (;; at--) {
		frames[(*nr)++] = trail->steps[at].pc;
		if (at == 0 || *nr == max ||
		    !trail_holds(&trail->steps[at], &trail->steps[at - 1], high))
			return at;
	}
}

/* Takes over the steps from `met` to `at` as part of this walk, because the trail no longer holds at step `at`. */
static void trail_part(struct unwind_trail *trail, struct walk *walk, uint32_t met, uint32_t at)
{
	for (uint32_t i = met + 1; i-- > at; trail->nr_fresh++)
		if (trail->nr_fresh < UNWIND_TRAIL_MAX)
			trail->fresh[trail->nr_fresh] = trail->steps[i];
	walk->pc = trail->steps[at].pc;
	walk->sp = trail->steps[at].sp;
	walk->fp = trail->steps[at].fp;
	if (trail->nr_fresh <= UNWIND_TRAIL_MAX)
		trail->fresh[trail->nr_fresh - 1].rbp_at = UNWIND_STEP_ONCE;
}

/* Makes a new trail of the walk's own steps and `kept` steps of the old trail outwards of them. */
static void trail_end(struct unwind_trail *trail, const struct walk *walk, uint32_t kept,
		      enum unwind_end end)
{
	bool whole = end == UNWIND_ROOT || end == UNWIND_STOP;

	if (!whole || trail->nr_fresh > UNWIND_TRAIL_MAX - kept) {
		trail->nr = 0;
		return;
	}
	for (uint32_t i = 0; i < trail->nr_fresh; i++)
		trail->steps[kept + i] = trail->fresh[trail->nr_fresh - 1 - i];
	trail->nr = kept + trail->nr_fresh;
	trail->end = end;
	trail->zero_at = walk->zero_at;
}

/* ---- the walk */

/* Moves from the present frame, which is stored, to its caller. UNWIND_FULL: there is a caller. */
static inline READS_STACK enum unwind_end leave(struct walk *walk)
{
	uint64_t address = walk->pc - !walk->exact;
	uint32_t rule;

	if (!cached_rule(set_of(walk->cache, address), walk->epoch, address, &rule) &&
	    !find_rule(walk, address, &rule))
		return UNWIND_NOT_READY;
	if (__builtin_expect(move_by(walk, rule), 1))
		return UNWIND_FULL;
	if (rule == unwind_rule_special(UNWIND_OUTERMOST))
		return UNWIND_ROOT;
	if (without_rule(walk, rule))
		unwind_tables_count_stop(walk->tables, address);
	return UNWIND_NO_RULE;
}

/* Stores the frames, and returns why there are no more. *kept: steps of the trail that ended the walk. */
static inline READS_STACK enum unwind_end walk_on(struct walk *walk, const struct stop_span *span,
						  uint64_t *frames, uint32_t max, uint32_t *nr,
						  uint32_t *kept)
{
	struct unwind_trail *trail = &walk->cache->trail;
	uint32_t left = trail->nr;
	enum unwind_end end = UNWIND_FULL;

	*kept = 0;
	for (*nr = 0; *nr < max && end == UNWIND_FULL;) {
		bool met;

		left = trail_meet(trail, walk, left, &met);
		if (met) {
			uint32_t at = trail_follow(trail, left - 1, walk->high, frames, max, nr);

			if (at == 0 && trail_ends(trail, walk)) {
				*kept = left;
				return (enum unwind_end)trail->end;
			}
			if (*nr == max && at &&
			    trail_holds(&trail->steps[at], &trail->steps[at - 1], walk->high))
				return UNWIND_FULL;
			trail_part(trail, walk, left - 1, at);
			left = at;
		} else {
			uint64_t address = walk->pc - !walk->exact;

			if (walk->pc < FIRST_PAGE) {
				walk->zero_at = walk->sp - WORD;
				return walk->pc == 0 ? UNWIND_ROOT : UNWIND_NO_RULE;
			}
			frames[(*nr)++] = walk->pc;
			trail_enter(trail, walk);
			if (address - span->start < span->size && in_stops(span->stops, address))
				return UNWIND_STOP;
		}
		end = leave(walk);
		if (end == UNWIND_FULL)
			trail_leave(trail, walk);
	}
	if (end == UNWIND_FULL && walk->pc == 0) {
		walk->zero_at = walk->sp - WORD;
		return UNWIND_ROOT;
	}
	return end;
}

READS_STACK uint32_t unwind_walk(struct unwind_tables *tables, struct unwind_cache *cache,
				 const struct unwind_start *start, uint64_t high,
				 const struct unwind_stops *stops, uint64_t *frames, uint32_t max,
				 enum unwind_end *end)
{
	const struct stop_span span = span_of(stops);
	struct walk walk = {
		.tables = tables,
		.cache = cache,
		.high = high,
		.pc = start->pc,
		.sp = start->sp,
		.fp = start->fp,
		.epoch = unwind_tables_epoch(tables),
	};
	uint32_t nr, kept;

	if (walk.sp > high || walk.sp % WORD != 0)
		walk.sp = walk.high = high & ~(uint64_t)(WORD - 1);
	trail_begin(&cache->trail, &walk, stops);
	*end = walk_on(&walk, &span, frames, max, &nr, &kept);
	trail_end(&cache->trail, &walk, kept, *end);
	return nr;
}

#else

/* Return addresses may be signed: the bits above the address space are the signature. The instruction is a hint, so
 * older processors ignore it. */
static uint64_t without_signature(uint64_t address)
{
#if defined(__aarch64__)
	register uint64_t lr __asm__("x30") = address;

	__asm__("hint #7" : "+r"(lr)); /* xpaclri */
	return lr;
#else
	return address;
#endif
}

READS_STACK uint32_t unwind_walk(struct unwind_tables *tables, struct unwind_cache *cache,
				 const struct unwind_start *start, uint64_t high,
				 const struct unwind_stops *stops, uint64_t *frames, uint32_t max,
				 enum unwind_end *end)
{
	const struct stop_span span = span_of(stops);
	uint64_t pc = start->pc, low = start->sp, fp = start->fp;
	uint32_t nr = 0;

	(void)tables;
	(void)cache;
	*end = UNWIND_FULL;
	while (nr < max) {
		pc = without_signature(pc);
		*end = pc == 0 ? UNWIND_ROOT : UNWIND_NO_RULE;
		if (pc < FIRST_PAGE)
			break;
		frames[nr++] = pc;
		*end = UNWIND_STOP;
		if (pc - 1 - span.start < span.size && in_stops(span.stops, pc - 1))
			break;
		/* A record of two words; the outermost frame's pointer is 0. */
		*end = fp == 0 ? UNWIND_ROOT : UNWIND_NO_RULE;
		if (fp < low || fp >= high || high - fp < 2 * WORD || fp % WORD != 0)
			break;
		pc = word_at(fp + WORD);
		low = fp + 2 * WORD;
		fp = word_at(fp);
		*end = UNWIND_FULL;
	}
	return nr;
}

#endif
