/* The title of a merged profile: the least of all titles, so that no order makes a difference. Part of the merge; used
 * by one thread. */
#ifndef MERGE_TITLE_H
#define MERGE_TITLE_H

#include <stdbool.h>

#include "aggregator/store/database.h"

#define MERGE_TITLE_MAX 4096u

struct merge_title { /* zeroed at first */
	char text[MERGE_TITLE_MAX];
	bool has_others; /* there were several */
};

/* Takes the title of a profile, if it has one. 0 or the database's error. */
int merge_title_take(struct merge_title *title, struct database *profile);

/* Writes the title, if there is one, with " and others" behind it where there were several. The same errors. */
int merge_title_write(const struct merge_title *title, struct database *merged);

#endif
