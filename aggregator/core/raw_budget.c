#include "raw_budget.h"

void raw_budget_look(struct raw_budget *budget, uint64_t now_ns, uint64_t cpu_ns)
{
	if (budget->since_ns && now_ns < budget->since_ns + RAW_BUDGET_WINDOW_NS)
		return;
	budget->is_busy =
		budget->since_ns && cpu_ns - budget->cpu_ns > (now_ns - budget->since_ns) / 2;
	budget->since_ns = now_ns;
	budget->cpu_ns = cpu_ns;
}

bool raw_budget_has_room(const struct raw_budget *budget, uint64_t nr_agents, bool is_behind)
{
	return nr_agents < RAW_BUDGET_AGENTS && !budget->is_busy && !is_behind;
}
