/* Says in words which ranks are late, and why. Pure; any thread. */
#ifndef STRAGGLER_TEXT_H
#define STRAGGLER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/straggler/report_straggler.h"

#define STRAGGLER_TEXT_SIZE 4096u

/* Names ranks that never came, and at most three groups and ranks, groups first; of the first one it tells most:
 * "late: node2 (8 ranks: 8-15; without it up to 2.780 s less, 9.30 % of the time, beyond chance by frequency; slower
 * GPU kernels (gemm): 98 % of it); rank 3 on node1 (2.10 %)". If none is named, it names a slow link, or says for which
 * rank the others waited most, or why that is not known. Returns line. */
const char *straggler_text_line(const struct report_straggler *straggler, char *line, size_t size);

/* Names how the lateness of a named one shows: "frequency"; and says it: "it is last more often than chance makes one
 * of equals". Constant. */
const char *straggler_text_ground(enum straggler_ground ground);
const char *straggler_text_reason(enum straggler_ground ground);

/* Returns whether another rank is to blame, and appends which: "kept waiting by rank 5 on node2 in collectives of ranks
 * 4-7". */
bool straggler_text_keeper(char *line, size_t size, const struct report_straggler *straggler,
			   const struct report_straggler_rank *rank);

/* Returns the share of a cause in the lateness in percent, 100 at most: what takes longer than the rank is late
 * explains all of it. */
double straggler_text_percent(double share);

/* Names a cause: "slower GPU kernels (gemm)", "host code (train.py:step)", "waits (poll, loader.py:next)". Returns
 * text. */
const char *straggler_text_cause(const struct straggler_cause *cause, char *text, size_t size);

/* Appends "rank 5 on node2", with several jobs "rank 5 of job 4711 on node2", and "8 ranks: 8-15" of a group. */
void straggler_text_rank(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_rank *rank);
void straggler_text_ranks(char *line, size_t size, const struct report_straggler *straggler,
			  const struct report_straggler_group *group);

/* Appends what the others waited for a subject, and how its lateness shows: "last in 99.00 % of 300 collectives of all
 * ranks; each other rank waited 2.780 s for it, 9.30 % of the time". moment: of its part of the run; NULL: not said. */
void straggler_text_waits(char *line, size_t size, const struct report_straggler_communicator *on,
			  const struct straggler_subject *found,
			  const struct report_straggler_moment *moment);

/* Appends about when a part of the run was, in local time, if that is known: " (from 2026-11-26 14:03:10 to 14:05:22)";
 * within a second " (at 2026-11-26 14:03:10)". */
void straggler_text_moment(char *line, size_t size, const struct report_straggler_moment *moment);

/* Appends how slow a link is: "move data at 4.20 GB/s, 7 similar communicators at 8.39 (median): all_reduce of 16.0 MiB
 * to 32.0 MiB". */
void straggler_text_link(char *line, size_t size, const struct straggler_link *link);

#endif
