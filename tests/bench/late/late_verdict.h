/* Counts the jobs of all tables, and says whether they are right. */
#ifndef LATE_VERDICT_H
#define LATE_VERDICT_H

#include <stdint.h>

#define LATE_VERDICT_RIGHT 95u /* percent at least */

/* right: jobs of which just what was planted is named, with its cause where one is planted. innocent: jobs of which
 * another rank is named, or marked by --ranks. */
void late_verdict_add(uint32_t jobs, uint32_t right, uint32_t innocent);

/* Says on standard error how many are right. Returns the status of the program: EXIT_FAILURE if an innocent one is
 * named, or if fewer than LATE_VERDICT_RIGHT percent are right. */
int late_verdict_status(void);

#endif
