#include "agent_metrics.h"

#include <stddef.h>

#include "base/clock.h"
#include "metrics/metrics_losses.h"
#include "metrics/metrics_text.h"
#include "node-agent/agent.h"

/* of struct agent_status */
static const struct metrics_field numbers[] = {
	{{"flamegrid_agent_accepted_processes", METRICS_COUNTER, NULL,
	  "Processes that the agent has accepted."},
	 offsetof(struct agent_status, processes)},
	{{"flamegrid_agent_running_processes", METRICS_GAUGE, NULL,
	  "Processes that the agent reads now."},
	 offsetof(struct agent_status, processes_running)},
	{{"flamegrid_agent_capturing_processes", METRICS_GAUGE, NULL,
	  "Processes whose capture is on, or is ending."},
	 offsetof(struct agent_status, capturing)},
	{{"flamegrid_agent_refused_processes", METRICS_COUNTER, NULL,
	  "Processes that the agent did not accept."},
	 offsetof(struct agent_status, refused_guests)},
	{{"flamegrid_agent_launches", METRICS_COUNTER, NULL,
	  "Launches that were read from processes."},
	 offsetof(struct agent_status, launches)},
	{{"flamegrid_agent_gpu_records", METRICS_COUNTER, NULL,
	  "GPU records that were read from processes."},
	 offsetof(struct agent_status, records)},
	{{"flamegrid_agent_host_samples", METRICS_COUNTER, NULL, "Samples of host threads."},
	 offsetof(struct agent_status, samples)},
	{{"flamegrid_agent_sent_frames", METRICS_COUNTER, NULL,
	  "Frames that were made for the aggregator."},
	 offsetof(struct agent_status, sent_seq)},
	{{"flamegrid_agent_acknowledged_frames", METRICS_COUNTER, NULL,
	  "Frames that the aggregator has stored."},
	 offsetof(struct agent_status, acked_seq)},
	{{"flamegrid_agent_refused_keys", METRICS_COUNTER, NULL,
	  "Connections that failed because the keys do not fit."},
	 offsetof(struct agent_status, key_refusals)},
};

static const struct metrics_family connected = {
	"flamegrid_agent_connected", METRICS_GAUGE, NULL,
	"1 while the aggregator has welcomed the agent and the connection holds, else 0."};
static const struct metrics_family behind = {
	"flamegrid_agent_behind_seconds", METRICS_GAUGE, "seconds",
	"How long the oldest frame without an acknowledgement has waited."};
static const struct metrics_family lost = {
	"flamegrid_agent_lost_records", METRICS_COUNTER, NULL,
	"Launches, GPU records and samples that are missing, by reason."};

void agent_metrics_of(const struct agent_status *status, uint64_t now_ns, struct metrics_text *text)
{
	metrics_text_fields(text, numbers, sizeof(numbers) / sizeof(*numbers), status);
	metrics_text_one(text, &connected, status->connected);
	metrics_text_behind(text, &behind, status->oldest_ns, now_ns);
	metrics_losses_write(text, &lost, status->lost);
}

void agent_metrics_write(void *context, struct metrics_text *text)
{
	struct agent_status status;

	agent_status(context, &status);
	agent_metrics_of(&status, clock_now_ns(), text);
}
