/* Says what a profile lacks, of which its timeline may lack a part. Single-threaded. */
#ifndef TIMELINE_LACKS_H
#define TIMELINE_LACKS_H

#include <stdbool.h>

#include "report/profile/profile.h"

struct timeline_lacks {
	char *sentence;     /* owns; NULL: nothing is known to be missing */
	bool is_incomplete; /* the sentence begins with INCOMPLETE */
};

/* Finds it in the words of reports, for a profile of profile_load_names(), and says it as a warning or a notice. 0;
 * -ENOMEM: then it is not known. Call timeline_lacks_fini() in either case. */
int timeline_lacks_find(const struct profile *profile, struct timeline_lacks *lacks);
void timeline_lacks_fini(struct timeline_lacks *lacks);

#endif
