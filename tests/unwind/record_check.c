#include "record_check.h"

#include <string.h>

#include "unwind/unwind_table.h"

void record_check_walk(struct record_check *check, struct unwind_tables *tables,
		       struct unwind_cache *cache, uint32_t epoch, const struct unwind_start *start,
		       uint64_t high, const uint64_t *frames, uint32_t nr, uint32_t max,
		       enum unwind_end end)
{
	uint32_t held = 0;

	if (unwind_tables_epoch(tables) != epoch)
		return;
	for (uint32_t i = 0; i < RECORD_CHECK_KEPT && i < check->records; i++) {
		bool cut = check->kept[i].end == UNWIND_FULL;

		/* A cut walk's record is one for walks that are cut at the same depth. */
		if (cut ? check->kept[i].max != max : check->kept[i].nr > max)
			continue;
		if (!walk_record_holds((const struct walk_record *)check->kept[i].record, start,
				       high, epoch))
			continue;
		held++;
		if (end == UNWIND_NOT_READY)
			check->stale++;
		else if (end != check->kept[i].end || nr != check->kept[i].nr ||
			 memcmp(frames, check->kept[i].frames, nr * sizeof(*frames)) != 0)
			check->disagreements++;
	}
	check->held += held;
	if (held || !walk_reads_collect(tables, cache, start, high, end, frames, nr, &check->reads))
		return;
	uint32_t place = (uint32_t)(check->records++ % RECORD_CHECK_KEPT);
	check->kept[place].end = end;
	check->kept[place].nr = nr;
	check->kept[place].max = max;
	memcpy(check->kept[place].frames, frames, nr * sizeof(*frames));
	walk_record_head((struct walk_record *)check->kept[place].record, &check->reads);
	walk_record_write((struct walk_record *)check->kept[place].record, &check->reads);
}
