/* What makes the profile of report_fixture.h whole or not: agents, ledgers, and the verdict. Fails the running test on
 * any error. */
#ifndef COMPLETENESS_FIXTURE_H
#define COMPLETENESS_FIXTURE_H

#include <stdint.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/roster.h"
#include "report/model/report_completeness.h"

#define COMPLETENESS_NOON_NS 1795348867000000000u /* 2026-11-22 12:01:07 UTC */

/* report_fixture_set_up() with times of UTC. */
int completeness_set_up(void **state);

/* Borrowed of the fixture. */
struct roster_process *completeness_process(uint32_t id);

/* An agent of a process's node that speaks of it, at noon. Borrowed of the fixture. */
struct agent_session *completeness_agent(uint8_t number, uint32_t process_id);

void completeness_kernels(uint64_t count);
void completeness_ledger(uint32_t id, enum ledger_reason reason, uint64_t count);

/* Builds the report, and compares what it says. */
void completeness_verdict(enum report_state state, const char *verdict);

#endif
