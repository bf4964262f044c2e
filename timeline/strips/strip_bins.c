#include "strip_bins.h"

#include <errno.h>
#include <stdlib.h>

struct strip_axis strip_axis_of(uint64_t first_ns, uint64_t end_ns, uint32_t nr_most)
{
	const uint64_t span_ns = end_ns > first_ns ? end_ns - first_ns : 0;
	struct strip_axis axis = {.first_ns = first_ns, .bin_ns = 1};

	if (!span_ns)
		return axis;
	axis.bin_ns = (span_ns - 1) / nr_most + 1;
	axis.nr_bins = (uint32_t)((span_ns - 1) / axis.bin_ns + 1);
	return axis;
}

int strip_bins_init(struct strip_bins *bins, const struct strip_axis *axis)
{
	*bins = (struct strip_bins){
		.ns = calloc((size_t)axis->nr_bins * STRIP_PARTS + 1, sizeof(*bins->ns))};
	return bins->ns ? 0 : -ENOMEM;
}

void strip_bins_fini(struct strip_bins *bins)
{
	free(bins->ns);
	*bins = (struct strip_bins){0};
}

static void add_piece(struct strip_bins *bins, const struct strip_axis *axis, uint32_t part,
		      uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns < axis->first_ns)
		begin_ns = axis->first_ns;
	while (begin_ns < end_ns) {
		const uint64_t bin = (begin_ns - axis->first_ns) / axis->bin_ns;
		const uint64_t left_ns = axis->bin_ns - (begin_ns - axis->first_ns) % axis->bin_ns;
		const uint64_t size_ns = end_ns - begin_ns < left_ns ? end_ns - begin_ns : left_ns;

		if (bin >= axis->nr_bins)
			return;
		bins->ns[bin * STRIP_PARTS + part] += size_ns;
		begin_ns += size_ns;
	}
}

/* Puts what runs before time_ns into the bins. */
static void go_to(struct strip_bins *bins, const struct strip_axis *axis, uint64_t time_ns)
{
	while (bins->at_ns < time_ns) {
		uint32_t part = 0;

		while (part < STRIP_PARTS && bins->ends_ns[part] <= bins->at_ns)
			part++;
		if (part == STRIP_PARTS)
			break;
		const uint64_t end_ns =
			bins->ends_ns[part] < time_ns ? bins->ends_ns[part] : time_ns;

		add_piece(bins, axis, part, bins->at_ns, end_ns);
		bins->at_ns = end_ns;
	}
}

void strip_bins_add(struct strip_bins *bins, const struct strip_axis *axis, enum strip_part part,
		    uint64_t start_ns, uint64_t end_ns)
{
	go_to(bins, axis, start_ns);
	if (bins->at_ns < start_ns)
		bins->at_ns = start_ns;
	if (end_ns > bins->ends_ns[part])
		bins->ends_ns[part] = end_ns;
}

void strip_bins_end(struct strip_bins *bins, const struct strip_axis *axis)
{
	go_to(bins, axis, UINT64_MAX);
}

struct strip_axis strip_axis_join(const struct strip_axis *axis, uint32_t count)
{
	return (struct strip_axis){.first_ns = axis->first_ns,
				   .bin_ns = axis->bin_ns * count,
				   .nr_bins = (axis->nr_bins + count - 1) / count};
}

void strip_bins_join(struct strip_bins *bins, const struct strip_axis *axis, uint32_t count)
{
	for (uint32_t bin = 0; bin < axis->nr_bins && count > 1; bin++)
		for (uint32_t part = 0; part < STRIP_PARTS; part++) {
			const uint64_t ns = bins->ns[bin * STRIP_PARTS + part];

			bins->ns[bin * STRIP_PARTS + part] = 0;
			bins->ns[bin / count * STRIP_PARTS + part] += ns;
		}
}
