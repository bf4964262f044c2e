/* A store in a folder of its own, and the scenario that fills it. Fails the running test on any error
 * that is not asked for. */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include <stdint.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/store/store.h"
#include "proto/batch/batch_decode.h"
#include "scenario.h"

struct store_fixture {
	char folder[64], path[96];
	struct scenario scenario;
	struct batch_decoder *decoder;
	struct store *store;           /* NULL: not open */
	struct collection *collection; /* likewise */
	struct agent_session *session; /* the scenario's, of the collection */
};

extern struct store_fixture store_fixture;

/* For cmocka. */
int store_fixture_set_up(void **state);
int store_fixture_tear_down(void **state);

/* Opens and loads; what is not there is made. */
void store_fixture_open_all_with(const struct store_options *options);
void store_fixture_open_all(void);

/* As the aggregator does when it ends. */
void store_fixture_close_all(void);

/* Applies the scenario's frames that were not yet, up to that sequence number. */
void store_fixture_apply_up_to(uint64_t last);
void store_fixture_commit(void);

/* The report of an undisturbed run. Owns: free(). */
char *store_fixture_undisturbed(void);

/* Deletes the files. */
void store_fixture_remove(void);

#endif
