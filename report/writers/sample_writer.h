/* Writes the samples of host threads one by one as extended folded text, a line for each, in order of time:
 *	1732213912.000123456 python3 4711 4712 3 main;train;step;[Off-CPU]futex
 * The fields are the time in seconds, the name and id of the process, the thread, the CPU, and the frames from the
 * root on. Used by one thread. */
#ifndef SAMPLE_WRITER_H
#define SAMPLE_WRITER_H

#include <stdio.h>

#include "report/model/report_build.h"
#include "report/model/report_clocks.h"
#include "report/profile/profile.h"

/* Writes the samples that the store at path had when the profile was loaded from it. options (may be NULL): demangle,
 * lines and planes count; planes 0: all. clocks: each line has three more fields behind the time; NULL: lines lack
 * them. They are the host's name, the time by the aggregator's CLOCK_REALTIME, and the bound of its error in ns ("- -":
 * not known).
 * 0; -EPROTO: a sample names things that the profile does not hold; -ENOSPC, -EIO: also out did not take everything;
 * -ENOMEM; an error of database.h. */
int sample_writer_write(FILE *out, const char *path, const struct profile *profile,
			const struct report_options *options, const struct report_clocks *clocks);

#endif
