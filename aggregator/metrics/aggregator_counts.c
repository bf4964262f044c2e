#include "aggregator_counts.h"

#include <stddef.h>

#include "metrics/metrics_text.h"

/* of struct aggregator_counts */
static const struct metrics_field numbers[] = {
	{{"flamegrid_aggregator_connected_agents", METRICS_GAUGE, NULL,
	  "Agents without a goodbye that were heard in the last seconds."},
	 offsetof(struct aggregator_counts, agents_connected)},
	{{"flamegrid_aggregator_silent_agents", METRICS_GAUGE, NULL,
	  "Agents without a goodbye that were not heard."},
	 offsetof(struct aggregator_counts, agents_silent)},
	{{"flamegrid_aggregator_folding_nodes", METRICS_GAUGE, NULL,
	  "Nodes of open profiles that fold their own events, whose sums come later."},
	 offsetof(struct aggregator_counts, links)},
	{{"flamegrid_aggregator_open_profiles", METRICS_GAUGE, NULL,
	  "Profiles that are written: its own, and one for each job that is not complete."},
	 offsetof(struct aggregator_counts, profiles)},
	{{"flamegrid_aggregator_commits", METRICS_COUNTER, NULL, "Commits of profiles."},
	 offsetof(struct aggregator_counts, commits)},
	{{"flamegrid_aggregator_received_frames", METRICS_COUNTER, NULL,
	  "Frames that came from agents."},
	 offsetof(struct aggregator_counts, frames)},
	{{"flamegrid_aggregator_received_bytes", METRICS_COUNTER, "bytes",
	  "The size of the frames that came from agents."},
	 offsetof(struct aggregator_counts, bytes)},
	{{"flamegrid_aggregator_bad_frames", METRICS_COUNTER, NULL, "Frames that were malformed."},
	 offsetof(struct aggregator_counts, bad_frames)},
	{{"flamegrid_aggregator_refusals", METRICS_COUNTER, NULL,
	  "Refusals that were sent to agents."},
	 offsetof(struct aggregator_counts, refused)},
	{{"flamegrid_aggregator_refused_keys", METRICS_COUNTER, NULL,
	  "Connections that were refused because of their key."},
	 offsetof(struct aggregator_counts, strangers)},
	{{"flamegrid_aggregator_crowded_connections", METRICS_COUNTER, NULL,
	  "Connections that were ended because there were too many."},
	 offsetof(struct aggregator_counts, crowded)},
	{{"flamegrid_aggregator_dropped_frames", METRICS_COUNTER, NULL,
	  "Frames for which there was no room; agents send them again."},
	 offsetof(struct aggregator_counts, dropped)},
	{{"flamegrid_aggregator_queue_bytes", METRICS_GAUGE, "bytes",
	  "The size of the frames that wait for their profiles."},
	 offsetof(struct aggregator_counts, waiting_bytes)},
};

static const struct metrics_family behind = {
	"flamegrid_aggregator_behind_seconds", METRICS_GAUGE, "seconds",
	"How long the oldest frame that waits for its profile has waited."};

void aggregator_counts_write(const struct aggregator_counts *counts, uint64_t now_ns,
			     struct metrics_text *text)
{
	metrics_text_fields(text, numbers, sizeof(numbers) / sizeof(*numbers), counts);
	metrics_text_behind(text, &behind, counts->oldest_ns, now_ns);
}
