#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/metrics_text.h"
#include "node-agent/agent_status.h"
#include "node-agent/metrics/agent_metrics.h"
#include "proto/ledger.h"

static void assert_has(const char *text, const char *line)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	assert_non_null(strstr(text, whole));
}

static void an_agent_tells_its_status(void **state)
{
	struct agent_status status = {
		.processes = 9,
		.processes_running = 4,
		.launches = UINT64_MAX,
		.records = 7,
		.sent_seq = 12,
		.acked_seq = 11,
		.connected = true,
		.oldest_ns = 1000000000,
		.lost[LEDGER_LAUNCH_RING_FULL] = 3,
		.lost[LEDGER_LAUNCHES] = 5, /* no loss: it is told nowhere */
	};
	struct metrics_text *text = metrics_text_create(true);
	char *bytes;
	size_t size;

	(void)state;
	agent_metrics_of(&status, 3500000000, text);
	assert_int_equal(metrics_text_take(text, &bytes, &size), 0);
	metrics_text_destroy(text);
	assert_has(bytes, "flamegrid_agent_accepted_processes_total 9");
	assert_has(bytes, "flamegrid_agent_running_processes 4");
	assert_has(bytes, "flamegrid_agent_launches_total 18446744073709551615");
	assert_has(bytes, "flamegrid_agent_gpu_records_total 7");
	assert_has(bytes, "flamegrid_agent_sent_frames_total 12");
	assert_has(bytes, "flamegrid_agent_acknowledged_frames_total 11");
	assert_has(bytes, "flamegrid_agent_connected 1");
	assert_has(bytes, "flamegrid_agent_behind_seconds 2.500000000");
	assert_has(bytes, "flamegrid_agent_lost_records_total{reason=\"launch_ring_full\"} 3");
	assert_has(bytes, "flamegrid_agent_lost_records_total{reason=\"record_ring_full\"} 0");
	assert_null(strstr(bytes, "\"launches\""));
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_tells_its_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
