#include "timeline_losses.h"

#include <inttypes.h>

#include "base/log.h"

bool timeline_losses_say(const struct timeline_counts *counts, uint64_t nr_launchless)
{
	const struct event_sums *sums = &counts->log;

	if (nr_launchless)
		log_notice("%" PRIu64
			   " pieces of GPU work have no launch here: it came before this time, "
			   "or before what was kept, or was not seen",
			   nr_launchless);
	if (sums->foreign)
		log_notice("%" PRIu64 " files beside the timeline's are of another profile, or no "
			   "regular files: they are left out",
			   sums->foreign);
	if (sums->nameless)
		log_notice("%" PRIu64 " files were written by an older version, and do not say of "
			   "which profile they are",
			   sums->nameless);
	if (sums->dropped_events)
		log_notice("%" PRIu64
			   " older events were dropped as --timeline and --max-size asked",
			   sums->dropped_events);
	if (sums->lost_events)
		log_warning("%" PRIu64 " events are missing: the disk did not take them",
			    sums->lost_events);
	if (sums->damaged)
		log_warning("%" PRIu64 " damaged parts of the timeline's files were left out",
			    sums->damaged);
	if (sums->compressed)
		log_warning("%" PRIu64
			    " blocks are compressed, and libzstd is missing (Debian: libzstd1)",
			    sums->compressed);
	if (counts->unknown)
		log_warning("%" PRIu64
			    " events are of processes that the profile does not know (yet)",
			    counts->unknown);
	if (counts->unclocked)
		log_warning("%" PRIu64 " events are left out: their clock was never compared",
			    counts->unclocked);
	if (counts->others)
		log_notice("%" PRIu64 " records that are neither GPU work nor waits are left out",
			   counts->others);
	return sums->lost_events || sums->damaged || sums->compressed || counts->unclocked;
}
