#include "stack_budget.h"

/* Pays what is owed with the budget that has become due meanwhile. */
static void settle(struct stack_budget *budget, uint64_t now_ns)
{
	uint64_t due_ns =
		now_ns > budget->since_ns ? (now_ns - budget->since_ns) / STACK_BUDGET_SHARE : 0;

	if (due_ns == 0)
		return;
	budget->owed_ns -= due_ns < budget->owed_ns ? due_ns : budget->owed_ns;
	budget->since_ns = now_ns;
}

bool stack_budget_allows(struct stack_budget *budget, uint64_t now_ns, uint32_t fill_percent)
{
	if (fill_percent < STACK_BUDGET_CROWDED)
		return true;
	settle(budget, now_ns);
	return fill_percent < STACK_BUDGET_FULL && budget->owed_ns < STACK_BUDGET_AHEAD_NS;
}

void stack_budget_spend(struct stack_budget *budget, uint64_t now_ns, uint64_t spent_ns)
{
	settle(budget, now_ns);
	budget->owed_ns += spent_ns;
}
