#include "store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/profile/message_log.h"
#include "aggregator/profile/session_apply.h"
#include "report_text.h"

struct store_fixture store_fixture;

void store_fixture_remove(void)
{
	char name[128];

	unlink(store_fixture.path);
	snprintf(name, sizeof(name), "%s-wal", store_fixture.path);
	unlink(name);
	snprintf(name, sizeof(name), "%s-shm", store_fixture.path);
	unlink(name);
}

int store_fixture_set_up(void **state)
{
	(void)state;
	snprintf(store_fixture.folder, sizeof(store_fixture.folder), "/tmp/flamegrid_store_XXXXXX");
	if (!mkdtemp(store_fixture.folder))
		return -1;
	snprintf(store_fixture.path, sizeof(store_fixture.path), "%s/profile.db",
		 store_fixture.folder);
	scenario_init(&store_fixture.scenario, 1);
	store_fixture.decoder = batch_decoder_create();
	store_fixture.store = NULL;
	store_fixture.collection = NULL;
	return store_fixture.decoder ? 0 : -1;
}

int store_fixture_tear_down(void **state)
{
	(void)state;
	collection_destroy(store_fixture.collection);
	store_close(store_fixture.store);
	scenario_fini(&store_fixture.scenario);
	batch_decoder_destroy(store_fixture.decoder);
	store_fixture_remove();
	return rmdir(store_fixture.folder);
}

void store_fixture_open_all_with(const struct store_options *options)
{
	char *error;

	if (store_open(store_fixture.path, options, &store_fixture.store, &error))
		fail_msg("%s", error);
	store_fixture.collection = collection_create();
	assert_non_null(store_fixture.collection);
	assert_int_equal(store_load(store_fixture.store, store_fixture.collection), 0);
	store_fixture.session =
		collection_session(store_fixture.collection, store_fixture.scenario.epoch);
	assert_non_null(store_fixture.session);
	if (!store_fixture.session->host)
		assert_int_equal(agent_session_hello(store_fixture.session,
						     store_fixture.collection->catalog,
						     store_fixture.collection->roster,
						     &store_fixture.scenario.hello),
				 0);
}

void store_fixture_open_all(void)
{
	store_fixture_open_all_with(NULL);
}

void store_fixture_close_all(void)
{
	collection_destroy(store_fixture.collection);
	store_fixture.collection = NULL;
	store_close(store_fixture.store);
	store_fixture.store = NULL;
}

static void apply(uint64_t seq)
{
	struct message message;
	const char *reason;

	assert_int_equal(batch_decode(store_fixture.decoder,
				      store_fixture.scenario.frames[seq - 1].bytes,
				      store_fixture.scenario.frames[seq - 1].size, &message),
			 0);
	if (session_apply(store_fixture.session, store_fixture.collection, &message, &reason))
		fail_msg("frame %d: %s", (int)seq, reason);
	assert_int_equal(message_log_add(store_fixture.collection->messages, store_fixture.session,
					 store_fixture.scenario.frames[seq - 1].bytes,
					 store_fixture.scenario.frames[seq - 1].size),
			 0);
}

void store_fixture_apply_up_to(uint64_t last)
{
	while (store_fixture.session->received_seq < last)
		apply(store_fixture.session->received_seq + 1);
}

void store_fixture_commit(void)
{
	if (store_commit(store_fixture.store, store_fixture.collection))
		fail_msg("%s", store_error(store_fixture.store));
}

char *store_fixture_undisturbed(void)
{
	store_fixture_open_all();
	store_fixture_apply_up_to(store_fixture.scenario.nr_frames);
	store_fixture_commit();
	store_fixture_close_all();
	char *text = report_text_of(store_fixture.path);
	store_fixture_remove();
	return text;
}
