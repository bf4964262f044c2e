/* Names communicators by the ranks of the job that are their members: "all ranks", "ranks 4-7", "ranks 1 3 5 7",
 * "ranks 0-508 by 4". Profiles hold no names of process groups, so no name says which kind of parallelism it is.
 * Names do not depend on the order in which a profile was put together. Used by one thread; immutable once made. */
#ifndef COMMUNICATOR_NAMES_H
#define COMMUNICATOR_NAMES_H

#include <stdint.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_folds.h"

#define COMMUNICATOR_NAME_COLUMNS 32u  /* a longer list, or id of a job, is cut */
#define COMMUNICATOR_NAME_SIZE    256u /* bytes of a name with its job and number, and its NUL */

struct communicator_names;

/* Names all communicators with calls. A name has the ranks of the job of all members. It is the key instead, as 16
 * hexadecimal digits, if such a rank is not known or belongs to two members. The rank of a member that is not in the
 * profile is not known, unless the communicator has as many members as the job has ranks. If the number of members is
 * not known, those in the profile are all of them.
 *
 * If their processes are of several jobs, as in a merged profile, a name ends with the job's id: "all ranks of job
 * 4711".
 *
 * If names are equal, the second one gets " #2", the third one " #3". Their order is that in which the process of the
 * lowest rank numbered them. Borrows nothing. 0; -ENOMEM: *names is NULL. */
int communicator_names_create(const struct collection *collection,
			      const struct collective_folds *folds,
			      struct communicator_names **names);
void communicator_names_destroy(struct communicator_names *names); /* accepts NULL */

/* Returns the name of the communicator with this key. Borrowed until communicator_names_destroy(). "": no communicator
 * with calls has the key; 0 is the key of none. */
const char *communicator_names_of(const struct communicator_names *names, uint64_t key);

/* Writes the name of nr_ranks different ranks (1 or more, ascending) of a job with world_size ranks (0 or less: not
 * known). Equal steps between the ranks are written as "0-508 by 4" if that is shorter than the list. */
void communicator_names_write(const int32_t *ranks, uint32_t nr_ranks, int32_t world_size,
			      char text[static COMMUNICATOR_NAME_SIZE]);

#endif
