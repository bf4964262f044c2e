/* Writes who is late, and why, for a page: the sentences of the table of late ranks. Any thread. */
#ifndef STRAGGLER_VERDICTS_H
#define STRAGGLER_VERDICTS_H

#include <stdio.h>

#include "report/straggler/report_straggler.h"

/* Writes "straggler":{…} and a comma: the closing line, and each subject that it names with its causes. Writes nothing
 * if no collective could be compared. What out refuses is found when out is flushed. */
void straggler_verdicts_json(FILE *out, const struct report_straggler *straggler);

#endif
