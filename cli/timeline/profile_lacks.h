/* Says what the profile as a whole lacks, of which its timeline may lack a part, in one sentence. Single-threaded. */
#ifndef PROFILE_LACKS_H
#define PROFILE_LACKS_H

#include <stdbool.h>

#include "report/profile/profile.h"

struct profile_lacks {
	char *sentence;     /* owns; NULL: nothing is known to be missing */
	bool is_incomplete; /* the sentence begins with INCOMPLETE */
};

/* Finds it in the words of reports, for a profile of profile_load_names(), and says it as a warning or a notice. 0;
 * -ENOMEM: then it is not known. Call profile_lacks_fini() in either case. */
int profile_lacks_find(const struct profile *profile, struct profile_lacks *lacks);
void profile_lacks_fini(struct profile_lacks *lacks);

#endif
