/* Limits how much of the agent's time the stacks of one process may take. While the kernel's buffer is less than 75 %
 * full, a process may take as much as it needs. Above that it may take a fifth of the time. Above 95 % every sample is
 * read in haste. Pure; times are arguments. */
#ifndef STACK_BUDGET_H
#define STACK_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_BUDGET_SHARE    5u /* a process may take one part in so many of the time that passes */
#define STACK_BUDGET_AHEAD_NS 100000000ull /* time that a process may take ahead of its share */
#define STACK_BUDGET_CROWDED  75u          /* percent of the buffer from which on budgets count */
#define STACK_BUDGET_FULL     95u /* percent of the buffer from which on no process has a budget */

/* Zeroed: no time was taken yet. */
struct stack_budget {
	uint64_t owed_ns;  /* time taken beyond the share that was due by since_ns */
	uint64_t since_ns; /* CLOCK_MONOTONIC */
};

/* Returns whether another stack may be looked up now. fill_percent: how full the kernel's buffer is. */
bool stack_budget_allows(struct stack_budget *budget, uint64_t now_ns, uint32_t fill_percent);

/* Notes that a stack took spent_ns, until now_ns. */
void stack_budget_spend(struct stack_budget *budget, uint64_t now_ns, uint64_t spent_ns);

#endif
