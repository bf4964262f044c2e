/* Finds the subjects of a communicator for which the others wait, by how long each rank was in each collective. A
 * subject is a rank, or a group of ranks such as those of a host. Ranks that come early wait within the collective, so
 * the last one is in it for the shortest time. No clock is compared with another. Pure; any thread.
 *
 * A subject is named only if the mean of the ranks outside of it has waited for it for more than STRAGGLER_SHARE_MIN of
 * the span (and of the run: report_straggler_costs.h), and on one of these grounds. If all are equal, none is named but
 * by chance.
 *   - FREQUENCY: it is last more often than one of equal subjects would be. Of n equal ranks each is last with
 *     probability 1/n, and m of them with m/n, so the number of times is binomial; p < STRAGGLER_P_MAX / tests. A
 *     collective in which two ranks were last together counts for neither. And it is late all along, as below.
 *   - COST: it is late all along. The run is cut into stretches: the buckets of the fold, of equal numbers of
 *     collectives, or each collective by itself. In more stretches than by chance it has kept the others waiting longer
 *     than any other subject has. Where neighbouring stretches of the others are alike, fewer are counted. And its
 *     usual lateness lies beyond the noise of the others, modified z > STRAGGLER_Z_MIN, and is more than
 *     STRAGGLER_STEADY_MIN of the span. What is usual leaves out the best and the worst eighth of each subject's
 *     stretches, so that hiccups of a rank neither name a rank nor hide one.
 *   - LUMPS: of the lumps that cost most, more are its own than by chance, or its lumps cost more than by chance. A
 *     lump is a number of stretches in a row for which the same subject kept the others waiting longest. Or its stops
 *     together cost as much as a stall, and that as many are its own has a probability below STRAGGLER_STOPS_P_MAX.
 *     Its lumps must cost more than those of others (straggler_pauses.h).
 *   - STALL: one lump alone is more than STRAGGLER_STALL_MIN of the whole run of the ranks outside of the subject, with
 *     what was before a restart, and costs STRAGGLER_STALL_TIMES as much a stretch as the rest on the communicator.
 *     Pauses as long as others let expect are none: the probability must be below STRAGGLER_STALL_P_MAX. Of several
 *     stalls the lesser ones are not of the rest (straggler_lumps.h).
 *     That is a fact about the run, not about the subject: it may happen to any. A phase that holds there is named
 *     instead. In a look the whole run counts as window_ns at least (straggler_look.h).
 *   - PHASE: it is late in a part of the run, which neither chance nor noise that lasts explains (straggler_phase.h).
 *     Others have no such phases. What the others waited for it there is more than STRAGGLER_SHARE_MIN of the whole
 *     span, and of a phase of fewer than STRAGGLER_SHORT stretches STRAGGLER_SHORT_MIN. In a look at the newest part
 *     of a run a short phase counts for nothing, and where chance explains how often it was last, the phase must cost
 *     STRAGGLER_STALL_MIN.
 *   - HIDDEN: another one is named by FREQUENCY, and of those without a name, with three ranks at least, it is late all
 *     along, by more than STRAGGLER_HIDDEN_MIN: in more stretches than by chance it is the latest of them. The latest
 *     is judged first, and the next one without it. */
#ifndef STRAGGLER_H
#define STRAGGLER_H

#include "straggler_subject.h"

/* Fills the rest of subjects. 0 or -ENOMEM. */
int straggler_find(const struct straggler_input *input, struct straggler_subject *subjects);

#endif
