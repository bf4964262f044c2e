#include "keeper_word.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "end_budget.h"

#include "base/clock.h"
#include "base/log.h"

void keeper_word_say_missing(const struct keeper_lives *lives, bool folds_on_nodes)
{
	if (lives->nr_absent && folds_on_nodes)
		log_warning("%u of %u nodes did not join this aggregator: the profile has what they "
			    "leave in its directory themselves",
			    lives->nr_absent, lives->nr_nodes);
	else if (lives->nr_absent && lives->took_over)
		log_warning("%u of %u nodes did not come to this aggregator, which took over: "
			    "what they recorded is in the profile as far as they sent it before",
			    lives->nr_absent, lives->nr_nodes);
	else if (lives->nr_absent)
		log_warning("%u of %u nodes did not join: their GPU work is not in the profile",
			    lives->nr_absent, lives->nr_nodes);
	else if (lives->nr_agents == 0 && !folds_on_nodes)
		log_warning("no node has joined");
	if (lives->nr_silent)
		log_warning("%llu node%s did not say goodbye: the end of their work may be missing",
			    (unsigned long long)lives->nr_silent, lives->nr_silent == 1 ? "" : "s");
}

char keeper_word_await(int fd, uint64_t ended_ns, bool failed, struct keeper_lives *lives,
		       keeper_word_told told, void *context)
{
	struct pollfd news = {.fd = fd, .events = POLLIN};
	uint64_t since_ns = ended_ns;
	struct keeper_lives heard = {.word = KEEPER_WORD_NONE};
	ssize_t size;
	int r;

	/* What came while this rank waited for its node is read even if the time is over. */
	while (heard.word != KEEPER_WORD_DONE &&
	       (r = poll(&news, 1,
			 end_budget_timeout_ms(since_ns, END_BUDGET_MS, clock_now_ns()))) != 0) {
		if (r < 0)
			continue; /* EINTR */
		size = recv(fd, &heard, sizeof(heard), 0);
		if (size <= 0 || heard.word == KEEPER_WORD_DECLINES)
			return 0;
		if (heard.word != KEEPER_WORD_LIVES || size != sizeof(heard))
			continue;
		*lives = heard;
		if (failed)
			continue;
		since_ns = heard.ran_ns > ended_ns ? heard.ran_ns : ended_ns;
		if (told)
			told(context, since_ns);
	}
	return heard.word;
}

void keeper_word_say_left(char last, const struct keeper_lives *lives, bool folds_on_nodes)
{
	if (last == KEEPER_WORD_LIVES)
		keeper_word_say_missing(lives, folds_on_nodes);
	if (last == KEEPER_WORD_WRITES)
		log_notice("the reports are still being written; flamegrid report reads the "
			   "profile at any time");
	else if (last == KEEPER_WORD_LIVES && lives->nr_agents && !lives->nr_absent &&
		 !lives->nr_silent)
		log_notice("the aggregator goes on alone, because it waits for other blocks of "
			   "nodes; flamegrid report reads the profile at any time");
	else if (last == KEEPER_WORD_LIVES)
		log_notice("the aggregator goes on alone, because it waits for these nodes; "
			   "flamegrid report reads the profile at any time");
	else if (last == KEEPER_WORD_NONE && !folds_on_nodes)
		log_warning("the aggregator does not answer: it goes on alone, and the profile has "
			    "what it stores");
	else if (last == KEEPER_WORD_NONE)
		log_warning("the aggregator does not answer: the nodes leave their profiles in the "
			    "directory of the job's (flamegrid report reads them all)");
	else if (!last && folds_on_nodes)
		log_warning("the aggregator was ended by somebody: another node starts one, or "
			    "the nodes leave their profiles in the directory of the job's "
			    "(flamegrid report reads them all)");
	else if (!last)
		log_warning("the aggregator was ended by somebody: another node goes on with the "
			    "profile, or it has what had come by then, and no reports (flamegrid "
			    "report makes them)");
}
