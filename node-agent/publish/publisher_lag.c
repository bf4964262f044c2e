#include "publisher_lag.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lag_time.h"
#include "publisher.h"

#include "base/log.h"
#include "proto/batch/message.h"
#include "proto/ledger.h"

#define NS_PER_S 1000000000ull
#define OWN      "inproc://"

/* Returns since when a frame waits; 0: none does. */
static uint64_t waits_since_ns(const struct publisher_lag *lag, const struct publisher *publisher)
{
	uint64_t oldest_ns = publisher_oldest_ns(publisher);

	if (publisher_last_seq(publisher) == publisher_acked_seq(publisher))
		return 0;
	return oldest_ns > lag->welcomed_ns ? oldest_ns : lag->welcomed_ns;
}

enum slow_spell_news publisher_lag_look(struct publisher_lag *lag,
					const struct publisher *publisher, uint64_t now_ns)
{
	const char *profile;

	if (!publisher_welcomed(publisher, &profile))
		return SLOW_SPELL_SAME;
	if (!lag->welcomed_ns)
		lag->welcomed_ns = now_ns;
	uint64_t since_ns = waits_since_ns(lag, publisher);
	return slow_spell_look(&lag->spell, PUBLISHER_LAG_LIMIT_NS,
			       since_ns ? now_ns - since_ns : 0, now_ns);
}

bool publisher_lag_is_own(const char *endpoint)
{
	return strncmp(endpoint, OWN, strlen(OWN)) == 0;
}

static const char *cause(const struct publisher *publisher, bool is_own)
{
	if (!publisher_connected(publisher))
		return is_own ? "it does not answer (a full or slow disk, or --max-size)"
			      : "there is no connection to it";
	if (!publisher_has_room(publisher))
		return "it or the link is slower than this node, and the agent's buffer is full, "
		       "so the rings of processes fill";
	return "it or the link is slower than this node";
}

static void write_loss(uint64_t nr_lost, const char *text_none, char *text, size_t size)
{
	if (nr_lost)
		snprintf(text, size, "lost so far: %" PRIu64, nr_lost);
	else
		snprintf(text, size, "%s", text_none);
}

void publisher_lag_say(const struct publisher_lag *lag, const struct publisher *publisher,
		       enum slow_spell_news news, const char *endpoint, uint64_t nr_lost)
{
	const struct slow_spell *spell = &lag->spell;
	const bool is_own = publisher_lag_is_own(endpoint);
	const char *whose = is_own ? "this node's own aggregator" : "the aggregator at ";
	char since[LAG_TIME_SIZE], loss[64];

	if (news == SLOW_SPELL_BEGAN) {
		/* A node's losses are read with its rings, and those of a full buffer are not read. */
		write_loss(nr_lost,
			   publisher_has_room(publisher) ? "nothing is lost so far"
							 : "nothing was lost before",
			   loss, sizeof(loss));
		log_warning("%s%s is %.1f s behind since %s: %s; %s", whose, is_own ? "" : endpoint,
			    (double)spell->longest_ns / NS_PER_S,
			    lag_time_text(spell->since_ns, since), cause(publisher, is_own), loss);
	} else if (news == SLOW_SPELL_ENDED) {
		write_loss(nr_lost, "nothing was lost", loss, sizeof(loss));
		log_notice(
			"%s%s has caught up: it was behind for %.1f s, and at most by %.1f s; %s",
			whose, is_own ? "" : endpoint,
			(double)(spell->last_ns - spell->since_ns) / NS_PER_S,
			(double)spell->longest_ns / NS_PER_S, loss);
	}
}

static uint32_t put_cost(const struct publisher_cost *cost, struct ledger_entry *entries)
{
	entries[0] = (struct ledger_entry){LEDGER_DEVICE_NONE, LEDGER_METER_AGENT, cost->peak_bytes,
					   cost->cpu_ns};
	entries[1] =
		(struct ledger_entry){LEDGER_DEVICE_NONE, LEDGER_METER_AGENT_RUN, 1, cost->run_ns};
	return 2;
}

int publisher_lag_tell(struct publisher_lag *lag, struct publisher *publisher,
		       const struct publisher_cost *cost, bool is_last)
{
	const struct slow_spell *spell = &lag->spell;
	const uint64_t count = spell->count + lag->link_count;
	const uint64_t most_ns = spell->most_ns > lag->link_ns ? spell->most_ns : lag->link_ns;
	struct ledger_entry entries[3];
	struct message message = {.type = MESSAGE_LEDGER, .ledger = {.entries = entries}};

	if (lag->is_over || (spell->is_late && !is_last))
		return 0;
	lag->is_over = is_last;
	if (count == lag->told_count && most_ns == lag->told_ns &&
	    (!cost || (!is_last && cost->run_ns - lag->told_run_ns < PUBLISHER_COST_NS)))
		return 0;
	lag->told_count = count;
	lag->told_ns = most_ns;
	if (count)
		entries[message.ledger.nr_entries++] = (struct ledger_entry){
			LEDGER_DEVICE_NONE, LEDGER_BEHIND, count, most_ns};
	if (cost) {
		message.ledger.nr_entries += put_cost(cost, entries + message.ledger.nr_entries);
		lag->told_run_ns = cost->run_ns;
	}
	return publisher_send(publisher, &message);
}

uint64_t publisher_lag_deadline_ns(const struct publisher_lag *lag,
				   const struct publisher *publisher)
{
	uint64_t since_ns = lag->welcomed_ns ? waits_since_ns(lag, publisher) : 0;

	if (since_ns && !lag->spell.first_ns)
		return since_ns + PUBLISHER_LAG_LIMIT_NS;
	return slow_spell_deadline_ns(&lag->spell);
}
