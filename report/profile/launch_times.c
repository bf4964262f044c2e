#include "launch_times.h"

#include "clock_map.h"
#include "profile.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/roster.h"
#include "proto/ledger.h"

#define SLICES_LEAST 4u

static void add(uint64_t *sum, uint64_t more)
{
	*sum = ledger_add_saturating(*sum, more);
}

/* Returns the time on the reference's clock; 0: before it began. */
static uint64_t on_axis(const struct profile *profile, const struct fold_row *row, uint64_t time_ns)
{
	const struct roster_process *process =
		roster_process(profile->collection->roster, row->key.process_id);
	struct clock_map_place place;

	if (!process || !clock_map_find(profile->clocks, process->identity.host, time_ns, &place))
		return time_ns;
	const int64_t at_ns = (int64_t)(time_ns - (uint64_t)place.offset_ns);
	return at_ns > 0 ? (uint64_t)at_ns : 0;
}

void launch_times_of(const struct profile *profile, const struct fold_row *row,
		     struct launch_times *times)
{
	struct fold_slice slices[FOLD_SLICES];
	const uint32_t nr = fold_times_list(&row->times, fold_row_total(row), slices);
	const uint32_t quarter = (nr + 2) / 4;

	*times = (struct launch_times){.has_some = row->count > 0,
				       .is_known = fold_times_known(&row->times)};
	if (!times->has_some || !times->is_known)
		return;
	times->first_ns = on_axis(profile, row, row->times.first_ns);
	times->last_ns = on_axis(profile, row, row->times.last_ns);
	for (uint32_t i = 0; nr >= SLICES_LEAST && i < quarter; i++) {
		add(&times->early_count, slices[i].count);
		add(&times->early_ns, slices[i].ns);
		add(&times->late_count, slices[nr - 1 - i].count);
		add(&times->late_ns, slices[nr - 1 - i].ns);
	}
	if (!times->early_count || !times->late_count) {
		times->early_count = times->early_ns = times->late_count = times->late_ns = 0;
		return;
	}
	const unsigned __int128 as_early =
		(unsigned __int128)times->early_ns * times->late_count / times->early_count;
	times->late_as_early_ns = as_early < UINT64_MAX ? (uint64_t)as_early : UINT64_MAX;
}

void launch_times_add(struct launch_times *times, const struct launch_times *others)
{
	if (!others->has_some)
		return;
	if (!times->has_some) {
		*times = *others;
		return;
	}
	times->is_known &= others->is_known;
	if (others->first_ns < times->first_ns)
		times->first_ns = others->first_ns;
	if (others->last_ns > times->last_ns)
		times->last_ns = others->last_ns;
	add(&times->early_count, others->early_count);
	add(&times->early_ns, others->early_ns);
	add(&times->late_count, others->late_count);
	add(&times->late_ns, others->late_ns);
	add(&times->late_as_early_ns, others->late_as_early_ns);
}
