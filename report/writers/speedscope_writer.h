/* Writes a profile for speedscope (its file-format-schema.json): for each GPU a profile of exact weights, which are
 * nanoseconds, launches or bytes. Any thread; the input must not change meanwhile. */
#ifndef SPEEDSCOPE_WRITER_H
#define SPEEDSCOPE_WRITER_H

#include <stdio.h>

#include "folded_writer.h"

#include "report/model/report_build.h"
#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"
#include "report/profile/profile.h"

#define SPEEDSCOPE_PROFILES_MAX 64u /* that nobody has asked for */

struct speedscope_input {
	const struct profile *profile;
	const struct report_options *options; /* of the tree; NULL: everything is 0 */
	const struct report_tree *tree;
	enum folded_weight weight;
	/* a profile for each value of these; NULL or none: for each GPU, or one of all beyond SPEEDSCOPE_PROFILES_MAX
	 * GPUs */
	const struct report_by *by;
};

/* Each plane has profiles of its own, so that none are added. "[GPU0_Kernel]gemm" is "[Kernel]gemm". Sums are exact as
 * they are written. Speedscope computes with 53 bits: 104 days in a profile. 0; -ENOMEM: out has a part;
 * -ENOSPC, -EIO …: out did not take everything. */
int speedscope_writer_write(FILE *out, const struct speedscope_input *input);

#endif
