#include "agent_cost.h"

#include "agent_state.h"

#include "base/process_cost.h"
#include "node-agent/counters/counter_reader.h"

void agent_cost_begin(struct agent *agent, uint64_t now_ns)
{
	struct process_cost cost;

	process_cost_read(&cost);
	agent->begin_ns = now_ns;
	agent->begin_cpu_ns = cost.cpu_ns;
}

int agent_cost_tell(struct agent *agent, uint64_t now_ns, bool is_last)
{
	struct process_cost cost, sampler;

	process_cost_read(&cost);
	counter_reader_cost(agent->counters, &sampler);
	agent_exchange_link_lag(&agent->exchange, &agent->lag.link_count, &agent->lag.link_ns);
	const struct publisher_cost own = {
		.cpu_ns = cost.cpu_ns - agent->begin_cpu_ns + sampler.cpu_ns,
		.peak_bytes = cost.peak_bytes + sampler.peak_bytes,
		.run_ns = now_ns - agent->begin_ns,
	};
	return publisher_lag_tell(&agent->lag, agent->publisher, &own, is_last);
}
