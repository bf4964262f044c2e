/* Plays a job (late_job.h), and judges it as `report --straggler` and `report --ranks` do. Used by one thread. */
#ifndef LATE_JUDGE_H
#define LATE_JUDGE_H

#include <stdbool.h>

#include "late_job.h"

/* What is found of a job. */
struct late_found {
	/* Just the planted ranks are named, as one group if they are three or more; of a slow link: its pair, and of
	 * ranks its own alone. Without a plant: nobody. */
	bool subject;
	bool cause;    /* and the first cause of each is what was planted */
	bool innocent; /* a rank is named, or a link, that was not planted */
	bool marked;   /* --ranks marks all planted ranks */
	bool marked_innocent;
	char line[512], ranks_line[512]; /* the closing lines of the two reports, cut */
};

/* Stores of jobs that are not right, or in which --ranks marks others, are kept in that folder of /tmp as SEED.db. NULL:
 * none, as at first. Borrowed until the next call. */
void late_judge_keep(const char *folder);

/* The next tear-down keeps the store as SEED.db, if there is such a folder. */
void late_judge_keep_job(uint64_t seed);

void late_judge(const struct late_job *job, struct late_found *found);

#endif
