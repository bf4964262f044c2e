/* Expands names of output directories with facts about a process: %j the job, %h the host, %r the rank, %p the process,
 * %q{NAME} a variable of the environment, %% a percent sign. Single-threaded. */
#ifndef OUTPUT_TEMPLATE_H
#define OUTPUT_TEMPLATE_H

#include <limits.h>
#include <stdbool.h>

#include "cli/base/job_step.h"

/* Writes the expanded name into path. step: the facts; its rank counts only if in_step. Blanks, slashes and control
 * characters in values become '_'. 0; -EINVAL: an unknown sign; -ENOENT: the sign's value is not known here (no job, no
 * rank, no such variable). For both, *at points to the sign. -ENAMETOOLONG. */
int output_template_expand(const char *template, const struct job_step *step, bool in_step,
			   char path[static PATH_MAX], const char **at);

/* Returns whether processes of one step get different names: each then writes a profile of its own. */
bool output_template_is_per_process(const char *template);

#endif
