/* Tells whether runs do more GPU work a step than others did, beyond chance. docs/how-to/ci.md explains the method.
 *
 * For each kernel there is the change of its time a step, and an interval that chance leaves with a small probability.
 * The change is that of launches a step times that of a launch's duration.
 *   - Above 0 and not below the limit: it has regressed.
 *   - Below the limit: it has not.
 *   - Below 0, and not above the limit with a minus: it has become faster.
 *   - Neither: the runs are too noisy to say.
 * If steps are known, the time of a step is judged, too: it is more than the kernels'. It makes the runs too noisy to
 * say only if it seems longer by more than the limit and than equal runs show (RUN_CHECK_DOUBTS).
 * Together, all kernels of equal runs have an alarm in at most 1 % of the cases. A change of the limit is found, or is
 * too noisy, but for 0.1 % of the cases. Used by one thread. */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

#include "run_verdict.h"

/* The runs are borrowed until destroy. 0; -EINVAL with *error one line, which the caller owns (free()): the runs cannot
 * be compared; -ENOMEM. On error *result is NULL. */
int run_check_create(const struct check_question *question, struct check_result **result,
		     char **error);
void run_check_destroy(struct check_result *result); /* accepts NULL */

/* Return "windows", and "regressed". Static storage. */
const char *check_source_name(enum check_source source);
const char *check_state_name(enum check_state state);

#endif
