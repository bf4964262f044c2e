/* Chooses the ranks with which a late one is compared. Pure; any thread. */
#ifndef STRAGGLER_OTHERS_H
#define STRAGGLER_OTHERS_H

#include <stdint.h>

#include "straggler_question.h"

struct collective_fold;
struct roster;

/* members[0] is the late member of a communicator. Other ones follow, at most STRAGGLER_OTHERS_MAX, each of a rank of
 * its own, and none of those left out. Of many ranks some are chosen that are far from regular: ranks have their places
 * in a node, a stage and so on at equal distances, so that every n-th of them may have one place alone. Returns the
 * number of all. */
uint32_t straggler_others_choose(const struct roster *roster, const struct collective_fold *fold,
				 uint32_t late, const uint32_t *left_out, uint32_t nr_left_out,
				 uint32_t members[static 1 + STRAGGLER_OTHERS_MAX]);

#endif
