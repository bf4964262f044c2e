/* Why a plane that was asked for is empty. Any thread. */
#ifndef PLANE_REFUSAL_H
#define PLANE_REFUSAL_H

#include "report/model/report_plane.h"
#include "report/model/report_tree.h"

/* Returns what most processes have said of why they recorded nothing of the plane, though the run asked for it.
 * Borrowed from the tree; NULL: none has said so. */
const char *plane_refusal_of(const struct report_tree *tree, enum report_plane plane);

#endif
