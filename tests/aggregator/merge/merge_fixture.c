#include "merge_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/aggregator/store/report_text.h"
#include "tests/aggregator/store/scenario.h"

#include "aggregator/merge/profile_merge.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/message_log.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "proto/batch/batch_decode.h"

static char folder[64];
static struct scenario agents[MERGE_FIXTURE_AGENTS];
static struct batch_decoder *decoder;

int merge_fixture_set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/flamegrid_merge_XXXXXX");
	decoder = batch_decoder_create();
	for (uint32_t i = 0; i < MERGE_FIXTURE_AGENTS; i++)
		scenario_init(&agents[i], i);
	return decoder && mkdtemp(folder) ? 0 : -1;
}

int merge_fixture_tear_down(void **state)
{
	DIR *dir = opendir(folder);

	(void)state;
	for (struct dirent *entry; (entry = readdir(dir));)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	for (uint32_t i = 0; i < MERGE_FIXTURE_AGENTS; i++)
		scenario_fini(&agents[i]);
	batch_decoder_destroy(decoder);
	return rmdir(folder);
}

char *merge_fixture_path(const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

uint32_t merge_fixture_random(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % limit;
}

struct open_store {
	struct store *store;
	struct collection *collection;
	struct agent_session *sessions[MERGE_FIXTURE_AGENTS]; /* NULL: not in it */
};

static void open_store(struct open_store *open, const char *path, uint32_t set)
{
	char *error;

	*open = (struct open_store){.collection = collection_create()};
	assert_non_null(open->collection);
	if (store_open(path, NULL, &open->store, &error))
		fail_msg("%s", error);
	assert_int_equal(store_load(open->store, open->collection), 0);
	for (uint32_t i = 0; i < MERGE_FIXTURE_AGENTS; i++) {
		if (!(set >> i & 1))
			continue;
		open->sessions[i] = collection_session(open->collection, agents[i].epoch);
		assert_non_null(open->sessions[i]);
		if (!open->sessions[i]->host)
			assert_int_equal(
				agent_session_hello(open->sessions[i], open->collection->catalog,
						    open->collection->roster, &agents[i].hello),
				0);
	}
	assert_int_equal(store_commit(open->store, open->collection), 0);
}

/* messages_alone: the changes since then do not go to the tables. */
static void close_store(struct open_store *open, bool messages_alone)
{
	if (messages_alone ? store_commit_messages(open->store, open->collection)
			   : store_commit(open->store, open->collection))
		fail_msg("%s", store_error(open->store));
	collection_destroy(open->collection);
	store_close(open->store);
}

static void apply_next(struct open_store *open, uint32_t agent)
{
	struct agent_session *session = open->sessions[agent];
	const struct scenario_frame *frame = &agents[agent].frames[session->received_seq];
	struct message message;
	const char *reason;

	assert_int_equal(batch_decode(decoder, frame->bytes, frame->size, &message), 0);
	if (session_apply(session, open->collection, &message, &reason))
		fail_msg("agent %u: %s", agent, reason);
	assert_int_equal(
		message_log_add(open->collection->messages, session, frame->bytes, frame->size), 0);
}

/* Frames of all agents, one of a random agent after the other, up to a share of 256 of each one's. */
static void apply_share(struct open_store *open, uint32_t share, uint64_t *seed)
{
	uint32_t left = 1;

	while (left) {
		uint32_t chosen = UINT32_MAX;

		left = 0;
		for (uint32_t i = 0; i < MERGE_FIXTURE_AGENTS; i++)
			if (open->sessions[i] &&
			    open->sessions[i]->received_seq < agents[i].nr_frames * share / 256 &&
			    merge_fixture_random(seed, ++left) == 0)
				chosen = i;
		if (left)
			apply_next(open, chosen);
	}
}

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	char bytes[65536];
	size_t size;

	assert_true(in && out);
	while ((size = fread(bytes, 1, sizeof(bytes), in)) > 0)
		assert_int_equal(fwrite(bytes, 1, size, out), size);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

void merge_fixture_write_both(const char *path, const char *copy_path, uint32_t share, uint32_t set,
			      uint64_t seed)
{
	struct open_store open;

	open_store(&open, path, set);
	apply_share(&open, share, &seed);
	close_store(&open, merge_fixture_random(&seed, 2));
	if (copy_path)
		copy_file(path, copy_path);
	open_store(&open, path, set);
	apply_share(&open, 256, &seed);
	close_store(&open, merge_fixture_random(&seed, 2));
}

void merge_fixture_write(const char *path, uint32_t set, uint64_t seed)
{
	struct open_store open;

	open_store(&open, path, set);
	apply_share(&open, 256, &seed);
	close_store(&open, false);
}

void merge_fixture_continue(const char *path, uint32_t set)
{
	merge_fixture_write(path, set, 1);
}

void merge_fixture_merge(const char *const *paths, uint32_t nr_paths, const char *merged_path)
{
	struct merge_source *sources = calloc(nr_paths, sizeof(*sources));
	char *error;

	assert_non_null(sources);
	for (uint32_t i = 0; i < nr_paths; i++)
		sources[i].path = paths[i];
	if (profile_merge(sources, nr_paths, false, merged_path, &error))
		fail_msg("%s", error);
	assert_null(error);
	free(sources);
}

/* A row's values as SQL writes them, one a line. */
static int take_line(struct statement *row, void *out)
{
	uint32_t size;
	const char *bytes = statement_bytes(row, 0, &size);

	fwrite(bytes, 1, size, out);
	fputc('\n', out);
	return 0;
}

static int take_sql(struct statement *row, void *out)
{
	uint32_t size;
	const char *bytes = statement_bytes(row, 0, &size);

	fwrite(bytes, 1, size, out);
	fputc('\0', out);
	return 0;
}

/* A query for each table, which quotes all columns of it into one. */
#define QUERIES                                                                                    \
	"SELECT CAST('SELECT CAST(' || group_concat('quote(' || c.name || ')', ' || '','' || ')"   \
	" || ' AS BLOB) FROM ' || t.name || ' ORDER BY 1' AS BLOB)"                                \
	" FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"                \
	" GROUP BY t.name ORDER BY t.name"

char *merge_fixture_dump(const char *path)
{
	struct database *database;
	char *queries, *text, *error;
	size_t queries_size, size;
	FILE *list = open_memstream(&queries, &queries_size), *out = open_memstream(&text, &size);

	if (database_open(path, true, &database, &error))
		fail_msg("%s", error);
	assert_int_equal(database_rows(database, QUERIES, take_sql, list), 0);
	fclose(list);
	for (char *query = queries; query < queries + queries_size; query += strlen(query) + 1) {
		fprintf(out, "%s\n", query);
		assert_int_equal(database_rows(database, query, take_line, out), 0);
	}
	fclose(out);
	free(queries);
	database_close(database);
	return text;
}

char *merge_fixture_reports(const char *path)
{
	char *text = report_text_of(path), *json = report_json_of(path), *both;

	assert_true(asprintf(&both, "%s%s", text, json) > 0);
	free(text);
	free(json);
	return both;
}
