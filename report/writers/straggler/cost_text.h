/* Says in words what a late subject costs. Pure; any thread. */
#ifndef COST_TEXT_H
#define COST_TEXT_H

#include <stddef.h>

#include "report/straggler/report_straggler.h"

/* Returns what each rank outside of a subject waited for it, in its stall or phase or in all. *share: the same as a
 * part of the time of the collectives. */
uint64_t cost_text_waited(const struct report_straggler_communicator *on,
			  const struct straggler_subject *found, double *share);

/* A late group, or else a late rank. Borrowed. */
struct cost_subject {
	const struct report_straggler_group *group;
	const struct report_straggler_rank *rank;
};

/* Appends how much shorter the run is without a subject, at most: "without it up to 2.780 s less, 9.30 % of the time,
 * beyond chance by frequency". Communicators that follow one another are added up (report_straggler_joins.h). If others
 * are late on them again and again, it is that without all: without one, the ranks wait for the next. */
void cost_text_append(char *line, size_t size, const struct report_straggler *straggler,
		      const struct cost_subject *subject);

/* Appends less of a further subject: "2.10 %", of the same time. */
void cost_text_share(char *line, size_t size, const struct report_straggler *straggler,
		     const struct cost_subject *subject);

/* Appends which part of all waiting on the communicator a stall is: " and 55 % of all waiting". Of others nothing. */
void cost_text_all_waiting(char *line, size_t size, const struct report_straggler_communicator *on,
			   const struct straggler_subject *found);

#endif
