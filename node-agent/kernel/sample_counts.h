/* Does arithmetic on the kernel half's counts of a process (bpf/sample_event.h). Pure. */
#ifndef SAMPLE_COUNTS_H
#define SAMPLE_COUNTS_H

#include <stdbool.h>

#include "bpf/sample_event.h"

void sample_counts_add(struct sample_counts *sum, const struct sample_counts *part);
void sample_counts_subtract(struct sample_counts *sum, const struct sample_counts *part);

/* Computes into *come how much of counts has come: the base, plus everything received since (samples, samples_ns,
 * collectives), plus everything lost since. The other members of *come are those of counts. true: all of it has
 * come. */
bool sample_counts_come(const struct sample_counts *counts, const struct sample_counts *base,
			const struct sample_counts *received, struct sample_counts *come);

/* Counts as lost everything that has not come. */
void sample_counts_give_up(struct sample_counts *counts, const struct sample_counts *come);

#endif
