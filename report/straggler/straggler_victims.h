/* Finds the victims among a report's named ranks: those that another named rank, or one of a named group, kept waiting
 * on another communicator. Such a wait counts above the median of the victim's own communicator, because a wait that all
 * share makes none of them late. Part of report_straggler; one thread. */
#ifndef STRAGGLER_VICTIMS_H
#define STRAGGLER_VICTIMS_H

#include "report_straggler.h"

/* Sets kept_by and kept_on of the ranks. Groups are made before, and members are linked with ranks. 0 or -ENOMEM. */
int straggler_victims_find(struct report_straggler *report);

#endif
