#include "unnamed_text.h"

#include <inttypes.h>
#include <math.h>

#include "report/model/report_summary.h"
#include "report/names/communicator_names.h"
#include "report/names/text_line.h"
#include "report/straggler/report_straggler_most.h"
#include "report/straggler/report_straggler_power.h"

#define NUMBER_SIZE 32u

/* Appends what each rank waited on average, whoever came last. Waits on several communicators at the same time may add
 * up to more than the time. */
static void append_all_waits(char *line, size_t size, const struct report_straggler *straggler)
{
	double waited_ns = 0, run_ns = 0;
	char time[NUMBER_SIZE];

	for (uint32_t i = 0; i < straggler->nr_ranks; i++) {
		waited_ns += (double)straggler->ranks[i].others_ns;
		run_ns += (double)straggler->ranks[i].run_ns;
	}
	text_line_append(line, size, "; each rank waited %s on average",
			 report_summary_time((uint64_t)(waited_ns / straggler->nr_ranks), time));
	if (run_ns > 0 && waited_ns <= run_ns)
		text_line_append(line, size, ", %.2f %% of the time",
				 report_summary_percent(waited_ns, run_ns));
}

static const char *doubt_of(enum straggler_doubt doubt)
{
	static const char *const doubts[] = {
		[STRAGGLER_NO_DOUBT] = "",
		[STRAGGLER_TOO_FEW] = "too few to tell",
		[STRAGGLER_LASTS] = "but noise lasts here: equal ranks could show the same",
		[STRAGGLER_SPREAD] = "but its usual lateness is within the spread of the others",
		[STRAGGLER_SMALL] = "but it is usually late by less than 1 % of the time",
		[STRAGGLER_UNEVEN] = "more in a part of the run, which is too little to tell",
	};

	return doubts[doubt];
}

/* Says why a rank that looks late is not named. */
static void append_doubt(char *line, size_t size, const struct report_straggler_most *most,
			 const char *name)
{
	char count[NUMBER_SIZE];

	text_line_append(
		line, size, "late: perhaps %s: it was last in %.2f %% of %s collectives of %s, %s",
		name,
		report_summary_percent((double)most->found->last, (double)most->on->fold->used),
		report_summary_count(most->on->fold->used, count), most->on->name,
		doubt_of(most->found->doubt));
}

bool unnamed_text_is_schedule(const struct report_straggler *straggler)
{
	return report_straggler_power_hides(straggler) <= STRAGGLER_SHARE_MIN;
}

/* Says why the ranks of a pipeline wait for one of them, as far as its stages were seen. */
static void append_schedule(char *line, size_t size, const struct report_straggler *straggler)
{
	const double hides = report_straggler_power_hides(straggler);
	const bool is_schedule = unnamed_text_is_schedule(straggler);

	text_line_append(line, size,
			 is_schedule ? ", as the schedule of its pipeline has it"
				     : ", perhaps as the schedule of its pipeline has it");
	if (!is_schedule && hides < 1)
		text_line_append(
			line, size,
			": the noise hides a stage that costs less than %.0f %% of the time",
			ceil(100 * hides));
}

void unnamed_text_append(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_most *most, const char *name)
{
	char time[NUMBER_SIZE];

	if (straggler->nr_links) {
		text_line_append(
			line, size, "late: no rank stands out, but a slow link: %s",
			communicator_names_of(straggler->names, straggler->links[0].fold->key));
		return;
	}
	const bool is_doubtful = most->found && most->found->doubt && !most->rank->excused;
	if (is_doubtful)
		append_doubt(line, size, most, name);
	else
		text_line_append(line, size, "late: no rank stands out beyond chance");
	if (!most->rank || most->all_ns <= 0)
		return;
	append_all_waits(line, size, straggler);
	text_line_append(line, size, "; most for %s: %s, %.0f %% of all waiting",
			 is_doubtful ? "it" : name,
			 report_summary_time((uint64_t)llround(most->rank->others_mean_ns), time),
			 report_summary_percent(most->rank->others_mean_ns, most->all_ns));
	if (most->rank->excused)
		append_schedule(line, size, straggler);
}
