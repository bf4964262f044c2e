#include "end_budget.h"

#define NS_PER_MS 1000000u

uint32_t end_budget_left_ms(const struct end_budget *budget, uint64_t now_ns)
{
	const uint64_t waited_ms =
		now_ns > budget->since_ns ? (now_ns - budget->since_ns) / NS_PER_MS : 0;

	if (budget->limit_ms <= END_BUDGET_ROUND_MS)
		return budget->limit_ms;
	return waited_ms < budget->limit_ms - END_BUDGET_ROUND_MS
		       ? budget->limit_ms - (uint32_t)waited_ms
		       : END_BUDGET_ROUND_MS;
}

int end_budget_timeout_ms(uint64_t since_ns, uint32_t limit_ms, uint64_t now_ns)
{
	const uint64_t until_ns = since_ns + limit_ms * (uint64_t)NS_PER_MS;

	if (now_ns < since_ns)
		return (int)limit_ms;
	return now_ns < until_ns ? (int)((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}
