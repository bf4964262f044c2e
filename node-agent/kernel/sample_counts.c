#include "sample_counts.h"

#include <stdint.h>

static void add(struct sample_counts *sum, const struct sample_counts *part, uint64_t factor)
{
	sum->samples += part->samples * factor;
	sum->samples_ns += part->samples_ns * factor;
	sum->lost += part->lost * factor;
	sum->lost_ns += part->lost_ns * factor;
	sum->short_waits += part->short_waits * factor;
	sum->short_waits_ns += part->short_waits_ns * factor;
	sum->probes_lost += part->probes_lost * factor;
	sum->collectives += part->collectives * factor;
	sum->collectives_lost += part->collectives_lost * factor;
}

void sample_counts_add(struct sample_counts *sum, const struct sample_counts *part)
{
	add(sum, part, 1);
}

void sample_counts_subtract(struct sample_counts *sum, const struct sample_counts *part)
{
	add(sum, part, UINT64_MAX);
}

bool sample_counts_come(const struct sample_counts *counts, const struct sample_counts *base,
			const struct sample_counts *received, struct sample_counts *come)
{
	*come = *counts;
	come->samples = base->samples + received->samples + counts->lost - base->lost;
	come->samples_ns =
		base->samples_ns + received->samples_ns + counts->lost_ns - base->lost_ns;
	come->collectives = base->collectives + received->collectives + counts->collectives_lost -
			    base->collectives_lost;
	return counts->samples <= come->samples && counts->collectives <= come->collectives;
}

void sample_counts_give_up(struct sample_counts *counts, const struct sample_counts *come)
{
	if (counts->samples > come->samples) {
		counts->lost += counts->samples - come->samples;
		counts->lost_ns += counts->samples_ns - come->samples_ns;
	}
	if (counts->collectives > come->collectives)
		counts->collectives_lost += counts->collectives - come->collectives;
}
