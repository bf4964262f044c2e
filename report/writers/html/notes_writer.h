/* Writes what a page says about the profile itself: what is lost or noted, the verdict, what processes said, what
 * profiling cost, and which processes ended without a goodbye. tabs.js and words.js read it. Any thread. */
#ifndef NOTES_WRITER_H
#define NOTES_WRITER_H

#include <stdio.h>

#include "report/model/report_tree.h"

/* Writes members of a JSON object, each behind a comma. The cost is "" where it is not known. */
void notes_writer_json(FILE *out, const struct report_tree *tree);

#endif
