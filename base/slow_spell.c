#include "slow_spell.h"

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static enum slow_spell_news be_calm(struct slow_spell *spell, uint64_t now_ns)
{
	if (spell->is_on && now_ns - spell->last_ns < SLOW_SPELL_CALM_NS)
		return SLOW_SPELL_SAME;
	bool has_ended = spell->is_on;

	spell->is_on = false;
	spell->first_ns = 0;
	return has_ended ? SLOW_SPELL_ENDED : SLOW_SPELL_SAME;
}

enum slow_spell_news slow_spell_look(struct slow_spell *spell, uint64_t limit_ns, uint64_t delay_ns,
				     uint64_t now_ns)
{
	bool was_on = spell->is_on;

	spell->is_late = delay_ns >= limit_ns;
	if (!spell->is_late)
		return be_calm(spell, now_ns);
	if (!spell->first_ns) {
		spell->first_ns = now_ns;
		spell->since_ns = now_ns - delay_ns;
		spell->longest_ns = 0;
	}
	spell->last_ns = now_ns;
	spell->longest_ns = greater(spell->longest_ns, delay_ns);
	spell->is_on = was_on || now_ns - spell->first_ns >= SLOW_SPELL_SETTLE_NS;
	if (!spell->is_on)
		return SLOW_SPELL_SAME;
	spell->count += !was_on;
	spell->most_ns = greater(spell->most_ns, spell->longest_ns);
	return was_on ? SLOW_SPELL_SAME : SLOW_SPELL_BEGAN;
}

uint64_t slow_spell_deadline_ns(const struct slow_spell *spell)
{
	if (spell->is_on)
		return spell->last_ns + SLOW_SPELL_CALM_NS;
	return spell->first_ns ? spell->first_ns + SLOW_SPELL_SETTLE_NS : UINT64_MAX;
}
