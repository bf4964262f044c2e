/* Writes how long kernels, copies and other activities took: for each name the buckets of its durations
 * (duration_bins.h), and of three percentiles. A percentile is a bucket, which has a least and a greatest duration.
 * Activities whose histogram is not known are left out. Any thread. */
#ifndef DURATIONS_WRITER_H
#define DURATIONS_WRITER_H

#include <stdio.h>

#include "report/model/report_groups.h"
#include "report/model/report_statistics.h"
#include "report/model/report_tree.h"

struct row_text;

/* Writes the member "durations" of a profile, with a comma behind it. 0 or -ENOMEM: nothing was written. */
int durations_writer_json(FILE *out, const struct report_tree *tree);

/* 0; -ENOSPC, -EIO …: out did not take everything; -ENOMEM: nothing was written. */
int durations_writer_csv(FILE *out, const struct report_tree *tree);

/* Writes the fields of a histogram: percentiles, and in JSON the buckets. An empty one has zeroes. */
void durations_writer_bins(struct row_text *row, const struct duration_bin *list, uint32_t nr);

/* Returns the first duration above the percentile's bucket, or the maximum if that is less; 0: not known. statistics
 * (may be NULL) and the sum of the group bound the maximum. nr_all: launches of that name in the profile, of which the
 * group may be a part. per_mille: 1 to 1000. */
uint64_t durations_writer_below(const struct report_group *group, uint64_t nr_all,
				const struct report_statistics *statistics, uint32_t per_mille);

#endif
