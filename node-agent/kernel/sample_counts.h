/* Arithmetic on what the kernel's half counts of a process (bpf/sample_event.h). Pure. */
#ifndef SAMPLE_COUNTS_H
#define SAMPLE_COUNTS_H

#include <stdbool.h>

#include "bpf/sample_event.h"

void sample_counts_add(struct sample_counts *sum, const struct sample_counts *part);
void sample_counts_subtract(struct sample_counts *sum, const struct sample_counts *part);

/* What was sent of counts has come: base's, what was received since (samples, samples_ns, collectives), and what was
 * lost since. That number is in *come's samples, samples_ns and collectives; what else counts has is there, too. true:
 * it is all. */
bool sample_counts_come(const struct sample_counts *counts, const struct sample_counts *base,
			const struct sample_counts *received, struct sample_counts *come);

/* What has not come is lost. */
void sample_counts_give_up(struct sample_counts *counts, const struct sample_counts *come);

#endif
