/* Tells spells of slowness from single slow moments, so that a log gets one line when a spell begins and one when it
 * has ended. A spell begins when delays reach the limit for SLOW_SPELL_SETTLE_NS. It ends after SLOW_SPELL_CALM_NS
 * without such a delay. Pure: time and delays are arguments. Single-threaded. */
#ifndef SLOW_SPELL_H
#define SLOW_SPELL_H

#include <stdbool.h>
#include <stdint.h>

/* A program that was stopped finds everything late in its first moment, and nothing in the next. */
#define SLOW_SPELL_SETTLE_NS 500000000ull
/* Delays rise and fall around a limit: so a log gets at most two lines in this time. */
#define SLOW_SPELL_CALM_NS 10000000000ull

struct slow_spell { /* zeroed: nothing was slow */
	bool is_on;
	bool is_late;        /* the last look saw such a delay */
	uint64_t first_ns;   /* the first look with such a delay; 0: none in this spell */
	uint64_t since_ns;   /* begin of the first delay; of the last spell, also after its end */
	uint64_t last_ns;    /* the last look with such a delay */
	uint64_t longest_ns; /* delay of this spell, or of the last one */
	uint64_t most_ns;    /* delay of all spells; 0: there was none */
	uint64_t count;      /* spells */
};

enum slow_spell_news { SLOW_SPELL_SAME, SLOW_SPELL_BEGAN, SLOW_SPELL_ENDED };

/* Takes the delay that is seen at now_ns; 0: nothing is late. limit_ns is above 0. */
enum slow_spell_news slow_spell_look(struct slow_spell *spell, uint64_t limit_ns, uint64_t delay_ns,
				     uint64_t now_ns);

/* Returns when to look again though nothing happens; UINT64_MAX: the spell needs no look. */
uint64_t slow_spell_deadline_ns(const struct slow_spell *spell);

#endif
