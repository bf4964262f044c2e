/* Says which events a timeline lacks, as notices and warnings: what was lost, damaged or not captured, and nodes whose
 * events are not there. Single-threaded. */
#ifndef EVENT_LOSSES_H
#define EVENT_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"
#include "timeline/trace/capture_pauses.h"
#include "timeline/trace/timeline_source.h"

/* nr_launchless: pieces of GPU work whose launch is not there. nr_silent: timeline_source_silent(). Returns whether
 * something was lost or damaged. */
bool event_losses_say(const struct timeline_counts *counts, uint64_t nr_launchless,
		      uint32_t nr_silent);

/* Says how many launches have no GPU work. It may come later; so this is no loss. */
void event_losses_say_workless(uint64_t nr_workless);

/* Says how much of the request's time was not captured: no sum has it. first_ns, last_ns: of all events. 0, or an error
 * of timeline_source_read(). */
int event_losses_say_pauses(struct timeline_source *source, const struct timeline_request *request,
			    uint64_t first_ns, uint64_t last_ns);

/* Names the nodes whose timelines are not beside the profile. is_written: they may still come. Returns whether there
 * are any. */
bool event_losses_say_missing(const struct profile *profile, bool is_written);

#endif
