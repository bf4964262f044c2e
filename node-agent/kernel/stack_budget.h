/* How much of the agent's time the stacks of one process may take. While the kernel's buffer is less than 75 % full a
 * process may take what it needs. Above that it may take a fifth of the time. Above 95 % every sample is read in haste.
 * Pure; times are arguments. */
#ifndef STACK_BUDGET_H
#define STACK_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_BUDGET_SHARE    5u /* one part in so many of the time that passes is a process's due */
#define STACK_BUDGET_AHEAD_NS 100000000ull /* what it may have taken before it was due */
#define STACK_BUDGET_CROWDED  75u          /* percent of the buffer, from which on budgets count */
#define STACK_BUDGET_FULL     95u          /* percent, from which on nobody has one */

/* Zeroed: nothing was taken yet. */
struct stack_budget {
	uint64_t owed_ns;  /* taken, and not due by since_ns */
	uint64_t since_ns; /* CLOCK_MONOTONIC */
};

/* Whether another stack may be looked for now. fill_percent: of the buffer. */
bool stack_budget_allows(struct stack_budget *budget, uint64_t now_ns, uint32_t fill_percent);

/* One took so long, until now. */
void stack_budget_spend(struct stack_budget *budget, uint64_t now_ns, uint64_t spent_ns);

#endif
