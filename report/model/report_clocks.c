#include "report_clocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/profile/clock_evidence.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "report/names/clean_text.h"

static int by_host(const void *left, const void *right)
{
	const struct report_clocks_row *a = left, *b = right;
	int order = strcmp(a->host, b->host);

	return order ? order : (a->offset_ns > b->offset_ns) - (a->offset_ns < b->offset_ns);
}

static void describe(const struct report_clocks *clocks, uint32_t host,
		     struct report_clocks_row *row)
{
	struct clock_map_place place;
	const struct clock_offset *offsets = clock_map_host(clocks->map, host, &row->measured);

	if (!offsets)
		return;
	const struct clock_offset *last = &offsets[row->measured - 1];
	row->time_ns = last->time_ns;
	row->offset_ns = last->offset_ns;
	row->bound_ns = last->bound_ns;
	row->compared_offset_ns = last->offset_ns;
	row->compared_bound_ns = last->bound_ns;
	row->round_trip_ns = last->round_trip_ns;
	clock_map_find(clocks->map, host, last->time_ns, &place);
	row->has_realtime = last->realtime_offset_ns && last->reference_realtime_offset_ns;
	row->realtime_ns = place.realtime_ns;
	row->has_drift = clock_map_drift(clocks->map, host, &row->drift_ppb, &row->drift_bound_ppb);
}

static int add_host(struct report_clocks *clocks, const struct profile *profile, uint32_t id)
{
	const struct catalog *catalog = profile->collection->catalog;
	struct report_clocks_row *row = &clocks->rows[clocks->nr_rows];
	uint32_t size, count;
	const char *node =
		catalog_string(catalog, roster_host(profile->collection->roster, id)->node, &size);
	char *text = clean_text_of(node, size);

	if (!text)
		return -ENOMEM;
	row->host = text;
	clocks->nr_rows++;
	describe(clocks, id, row);
	row->id = id;
	const struct clock_offset *offsets = clock_log_offsets(profile->collection->clocks, &count);
	for (uint32_t i = 0; i < count; i++)
		row->elsewhere += offsets[i].host == id &&
				  offsets[i].reference != clock_map_reference(clocks->map);
	return 0;
}

/* The spread reaches from the lowest possible clock to the highest. */
static void find_spread(struct report_clocks *clocks)
{
	int64_t least_ns = INT64_MAX, most_ns = INT64_MIN;

	clocks->nr_unknown = 0;
	for (uint32_t i = 0; i < clocks->nr_rows; i++) {
		const struct report_clocks_row *row = &clocks->rows[i];
		int64_t bound_ns = (int64_t)row->bound_ns;

		if (!row->has_realtime) {
			clocks->nr_unknown++;
			continue;
		}
		if (row->realtime_ns - bound_ns < least_ns)
			least_ns = row->realtime_ns - bound_ns;
		if (row->realtime_ns + bound_ns > most_ns)
			most_ns = row->realtime_ns + bound_ns;
	}
	clocks->spread_ns = 0;
	if (most_ns >= least_ns)
		clocks->spread_ns = (uint64_t)(most_ns - least_ns);
}

static int fill(struct report_clocks *clocks, const struct profile *profile)
{
	uint32_t count, nr_hosts = roster_size(profile->collection->roster).hosts;
	const struct clock_offset *offsets = clock_log_offsets(profile->collection->clocks, &count);
	int error = 0;

	clocks->offsets = calloc(count + 1ul, sizeof(*clocks->offsets));
	if (!clocks->offsets)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		clocks->offsets[i] = offsets[i];
	clocks->nr_offsets = count;
	clocks->map = clock_map_create(clocks->offsets, count);
	clocks->rows = calloc(nr_hosts + 1, sizeof(*clocks->rows));
	if (!clocks->map || !clocks->rows)
		return -ENOMEM;
	for (uint32_t id = 1; id <= nr_hosts && !error; id++)
		error = add_host(clocks, profile, id);
	if (!error && clocks->nr_rows)
		qsort(clocks->rows, clocks->nr_rows, sizeof(*clocks->rows), by_host);
	find_spread(clocks);
	return error;
}

int report_clocks_create(const struct profile *profile, struct report_clocks **clocks)
{
	*clocks = calloc(1, sizeof(**clocks));
	int error = *clocks ? fill(*clocks, profile) : -ENOMEM;

	if (error) {
		report_clocks_destroy(*clocks);
		*clocks = NULL;
	}
	return error;
}

static void describe_refined(struct report_clocks *clocks, const uint32_t *used)
{
	for (uint32_t i = 0; i < clocks->nr_rows; i++) {
		struct report_clocks_row *row = &clocks->rows[i];
		const int64_t offset_ns = row->compared_offset_ns;
		const uint64_t bound_ns = row->compared_bound_ns;
		uint32_t count;
		const struct clock_offset *own = clock_map_host(clocks->map, row->id, &count);

		describe(clocks, row->id, row);
		row->compared_offset_ns = offset_ns;
		row->compared_bound_ns = bound_ns;
		for (uint32_t j = 0; j < count; j++)
			row->collectives += used[own - clocks->offsets + j];
		clocks->refined = clocks->refined || row->collectives;
	}
	find_spread(clocks);
}

int report_clocks_refine(struct report_clocks *clocks, const struct profile *profile,
			 const struct collective_log *log)
{
	uint32_t *used = calloc(clocks->nr_offsets + 1ul, sizeof(*used));
	int error = used ? clock_evidence_apply(log, profile->collection->roster, clocks->map,
						clocks->offsets, clocks->nr_offsets, used)
			 : -ENOMEM;

	if (!error)
		describe_refined(clocks, used);
	clocks->contradicted = error == -ERANGE;
	free(used);
	return clocks->contradicted ? 0 : error;
}

void report_clocks_destroy(struct report_clocks *clocks)
{
	if (!clocks)
		return;
	for (uint32_t i = 0; i < clocks->nr_rows; i++)
		free((char *)clocks->rows[i].host);
	free(clocks->rows);
	clock_map_destroy(clocks->map);
	free(clocks->offsets);
	free(clocks);
}
