#include "completeness_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "aggregator/profile/collection.h"
#include "report_fixture.h"

int completeness_set_up(void **state)
{
	setenv("TZ", "UTC", 1);
	tzset();
	return report_fixture_set_up(state);
}

struct roster_process *completeness_process(uint32_t id)
{
	return roster_process(report_fixture.collection->roster, id);
}

struct agent_session *completeness_agent(uint8_t number, uint32_t process_id)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {number};
	struct agent_session *session = collection_session(report_fixture.collection, epoch);

	assert_non_null(session);
	session->host = completeness_process(process_id)->identity.host;
	session->spoke_ns = COMPLETENESS_NOON_NS;
	assert_int_equal(agent_session_add_id(session, SESSION_PROCESSES, process_id), 0);
	return session;
}

void completeness_kernels(uint64_t count)
{
	report_fixture_add_row(report_fixture_key(report_fixture_stack("main", NULL), "k"), count,
			       1000, 0);
}

void completeness_verdict(enum report_state state, const char *verdict)
{
	report_fixture_build(DEMANGLE_FULL);
	assert_string_equal(report_fixture.tree->verdict, verdict);
	assert_int_equal(report_fixture.tree->state, state);
}

void completeness_ledger(uint32_t id, enum ledger_reason reason, uint64_t count)
{
	const struct ledger_entry entry = {LEDGER_DEVICE_NONE, reason, count, 0};

	assert_int_equal(roster_process_set_ledger(completeness_process(id), &entry, 1), 0);
}
