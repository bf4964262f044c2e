/* Tells a subject whose lumps cost more than those of others (straggler.h) from one of many that pause alike, each at
 * steps of its own. What the others wait for a subject does not tell that: of those that pause in one step only the
 * last one is waited for. So one that pauses by itself seems to cost more. Pure; any thread. */
#ifndef STRAGGLER_PAUSES_H
#define STRAGGLER_PAUSES_H

#include "straggler_lateness.h"

/* Takes back the names of subjects by LUMPS, or by a PHASE of fewer than STRAGGLER_SHORT stretches, in which ranks of a
 * group may have paused one after the other. Their ranks must be late in their pauses by STRAGGLER_PAUSES_OVER times as
 * much as others are in as many stretches, each in its own latest ones. A subject's pauses are the stretches of its
 * lumps, or of its phase, and those in which it was half as late or more. For in some of these the others waited for a
 * rank that paused, too, and without them one that pauses twice as often looks as if it paused as often. No stretch of
 * another counts more than the subject's latest one: a stall of it is one pause. Others are the ranks of subjects that
 * are not named, and of these ranks a quarter may be as late; of three or fewer none may. Lateness counts from the
 * earliest rank of a stretch: where more than half of them pause together, the median does, too. It needs
 * lateness->values and series. */
void straggler_pauses_take_back(struct straggler_lateness *lateness,
				struct straggler_subject *subjects);

#endif
