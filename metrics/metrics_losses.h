/* The family of a program's losses, with a sample for each reason that is a loss. Any thread. */
#ifndef METRICS_LOSSES_H
#define METRICS_LOSSES_H

#include <stdint.h>

#include "proto/ledger.h"

struct metrics_family;
struct metrics_text;

/* Counts of other classes than LEDGER_LOST are left out. */
void metrics_losses_write(struct metrics_text *text, const struct metrics_family *family,
			  const uint64_t lost[static LEDGER_REASONS]);

#endif
