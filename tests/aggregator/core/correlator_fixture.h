/* A correlator of one process and the table that it folds into, made anew for each test. Fails the
 * running test on any error. */
#ifndef CORRELATOR_FIXTURE_H
#define CORRELATOR_FIXTURE_H

#include <stdint.h>

#include "aggregator/core/correlator.h"

#define CORRELATOR_FIXTURE_PROCESS 7u   /* process_id of all rows */
#define CORRELATOR_FIXTURE_TID     100u /* thread of all launches */

struct correlator_fixture {
	struct fold_table *table;      /* owns */
	struct correlator *correlator; /* owns */
};

/* For cmocka: *state is a struct correlator_fixture from set_up until tear_down. The correlator
 * has the default limits and tracks changes. */
int correlator_fixture_set_up(void **state);
int correlator_fixture_tear_down(void **state);

/* Replaces the correlator by an empty one with these options. The table stays. */
void correlator_fixture_replace(struct correlator_fixture *fixture,
				const struct correlator_options *options);

/* The same, tracking changes. */
void correlator_fixture_limit(struct correlator_fixture *fixture,
			      struct correlator_options options);

/* A launch; flags: RECORD_LAUNCH_... */
void correlator_fixture_launch_with(struct correlator_fixture *fixture, uint32_t correlation_id,
				    uint32_t stack_id, uint32_t flags, uint16_t window);

/* A plain one in window 1. */
void correlator_fixture_launch(struct correlator_fixture *fixture, uint32_t correlation_id,
			       uint32_t stack_id);

#endif
