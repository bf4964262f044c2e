/* Why a plane that was asked for is empty. Any thread. */
#ifndef PLANE_REFUSAL_H
#define PLANE_REFUSAL_H

#include <stddef.h>

#include "report/model/report_plane.h"
#include "report/model/report_tree.h"

#define PLANE_REFUSAL_SIZE      512u
#define PLANE_REFUSAL_LINE_SIZE (PLANE_REFUSAL_SIZE + 128u)

/* Says why nothing of the plane was recorded, though the run asked for it: what most processes have said of it, or
 * else what the ledger knows. text: PLANE_REFUSAL_SIZE bytes. Returns text, or a string of the tree; NULL: it is not
 * known that the run asked. */
const char *plane_refusal_of(const struct report_tree *tree, enum report_plane plane, char *text);

/* Writes "the profile has nothing of it: ..." with the reason, or with the options of `run` that record the plane, and
 * returns it. The plane is not that of GPU work. text: PLANE_REFUSAL_LINE_SIZE bytes. */
const char *plane_refusal_line(const struct report_tree *tree, enum report_plane plane, char *text);

#endif
