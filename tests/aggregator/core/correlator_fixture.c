#include "correlator_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

int correlator_fixture_set_up(void **state)
{
	struct correlator_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	*state = fixture;
	fixture->table = fold_table_create();
	fixture->correlator = correlator_create(CORRELATOR_FIXTURE_PROCESS,
						&(struct correlator_options){.track_changes = true},
						fixture->table);
	return fixture->table && fixture->correlator ? 0 : -1;
}

int correlator_fixture_tear_down(void **state)
{
	struct correlator_fixture *fixture = *state;

	correlator_destroy(fixture->correlator);
	fold_table_destroy(fixture->table);
	free(fixture);
	return 0;
}

void correlator_fixture_replace(struct correlator_fixture *fixture,
				const struct correlator_options *options)
{
	correlator_destroy(fixture->correlator);
	fixture->correlator =
		correlator_create(CORRELATOR_FIXTURE_PROCESS, options, fixture->table);
	assert_non_null(fixture->correlator);
}

void correlator_fixture_limit(struct correlator_fixture *fixture, struct correlator_options options)
{
	options.track_changes = true;
	correlator_fixture_replace(fixture, &options);
}

void correlator_fixture_launch_with(struct correlator_fixture *fixture, uint32_t correlation_id,
				    uint32_t stack_id, uint32_t flags, uint16_t window)
{
	struct launch_record record = {
		.time_ns = 1,
		.correlation_id = correlation_id,
		.stack_id = stack_id,
		.tid = CORRELATOR_FIXTURE_TID,
		.window = window,
		.flags = flags,
	};

	assert_int_equal(correlator_launch(fixture->correlator, &record), 0);
}

void correlator_fixture_launch(struct correlator_fixture *fixture, uint32_t correlation_id,
			       uint32_t stack_id)
{
	correlator_fixture_launch_with(fixture, correlation_id, stack_id, 0, 1);
}
