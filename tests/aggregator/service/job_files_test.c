#include "aggregator/service/job_files.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "job_folder.h"

#include "aggregator/store/database.h"

#define TOKEN 7u

static struct job_files *files;

static int set_up(void **state)
{
	return job_folder_set_up(state) || job_files_open(job_folder, &files) ? -1 : 0;
}

static int tear_down(void **state)
{
	job_files_close(files);
	return job_folder_tear_down(state);
}

static struct message_text text(const char *text)
{
	return (struct message_text){text, (uint32_t)strlen(text)};
}

static struct job_answer ask(const struct message_fetch *question)
{
	struct job_answer answer;

	job_files_answer(files, question, &answer);
	return answer;
}

static struct job_answer list(const char *user, const char *after)
{
	return ask(&(struct message_fetch){
		.kind = FETCH_LIST, .token = TOKEN, .user = text(user), .name = text(after)});
}

static struct job_answer read_from(const char *user, const char *name, enum fetch_file file,
				   uint64_t offset)
{
	return ask(&(struct message_fetch){.kind = FETCH_READ,
					   .token = TOKEN,
					   .user = text(user),
					   .name = text(name),
					   .file = file,
					   .offset = offset});
}

static void assert_text(const struct message_text *have, const char *want)
{
	assert_int_equal(have->size, strlen(want));
	assert_memory_equal(have->data, want, have->size);
}

static void assert_refused(struct job_answer answer, enum refuse_code code, const char *reason)
{
	assert_int_equal(answer.message.type, MESSAGE_REFUSE);
	assert_int_equal(answer.message.refuse.code, code);
	assert_non_null(strstr(answer.reason, reason));
	job_answer_fini(&answer);
}

static void a_user_sees_that_users_jobs_by_name(void **state)
{
	char path[PATH_MAX];

	(void)state;
	job_folder_make("alice", "9", JOB_DIR_IS_COMPLETE, "12345", 5, path);
	job_folder_write(path, JOB_DIR_NODES, "678", 3);
	job_folder_make("alice", "10", JOB_DIR_IS_OPEN, "", 0, path);
	job_folder_make("alice", "10", JOB_DIR_IS_CLOSED, "1", 1, path);
	job_folder_make("bob", "1", JOB_DIR_IS_COMPLETE, "1", 1, path);
	job_folder_make("", "alice-2", JOB_DIR_IS_COMPLETE, "1", 1, path);
	struct job_answer answer = list("alice", "");
	const struct message_fetch *fetch = &answer.message.fetch;

	assert_int_equal(answer.message.type, MESSAGE_FETCH);
	assert_int_equal(fetch->kind, FETCH_JOBS);
	assert_int_equal(fetch->token, TOKEN);
	assert_int_equal(fetch->nr_jobs, 3);
	assert_text(&fetch->jobs[0].name, "alice-10");
	assert_int_equal(fetch->jobs[0].state, FETCH_RUNNING);
	assert_text(&fetch->jobs[1].name, "alice-10.2");
	assert_text(&fetch->jobs[1].key, "10");
	assert_int_equal(fetch->jobs[1].state, FETCH_REPORTING);
	assert_text(&fetch->jobs[2].name, "alice-9");
	assert_text(&fetch->jobs[2].key, "9");
	assert_int_equal(fetch->jobs[2].state, FETCH_COMPLETE);
	assert_int_equal(fetch->jobs[2].size_bytes, 8);
	assert_true(fetch->jobs[2].written_ns > 1700000000000000000ull);
	job_answer_fini(&answer);
	answer = list("carol", "");
	assert_int_equal(answer.message.fetch.nr_jobs, 0);
	job_answer_fini(&answer);
}

static void names_that_two_users_could_have_are_told_apart(void **state)
{
	char path[PATH_MAX];

	(void)state;
	job_folder_make("a-b", "c", JOB_DIR_IS_COMPLETE, "1", 1, path);
	job_folder_make("a", "b-c", JOB_DIR_IS_COMPLETE, "22", 2, path);
	struct job_answer answer = list("a-b", "");

	assert_int_equal(answer.message.fetch.nr_jobs, 1);
	assert_text(&answer.message.fetch.jobs[0].name, "a-b-c");
	job_answer_fini(&answer);
	answer = list("a", "");
	assert_int_equal(answer.message.fetch.nr_jobs, 1);
	assert_text(&answer.message.fetch.jobs[0].name, "a-b-c.2");
	job_answer_fini(&answer);
	assert_refused(read_from("a", "a-b-c", FETCH_STORE, 0), REFUSE_UNDEFINED,
		       "user a has no such job");
	assert_refused(read_from("a-b", "a-b-c.2", FETCH_STORE, 0), REFUSE_UNDEFINED,
		       "user a-b has no such job");
}

static void a_long_list_comes_in_pieces(void **state)
{
	char path[PATH_MAX], last[MESSAGE_JOB_NAME_MAX + 1] = "";
	uint32_t found = 0;

	(void)state;
	for (uint32_t i = 0; i < WIRE_FETCH_JOBS_MAX + 10; i++)
		job_folder_make("alice", "4711", JOB_DIR_IS_COMPLETE, "1", 1, path);
	for (uint32_t piece = 0; piece < 2; piece++) {
		struct job_answer answer = list("alice", last);
		const struct message_fetch *fetch = &answer.message.fetch;

		assert_int_equal(fetch->nr_jobs, piece ? 10 : WIRE_FETCH_JOBS_MAX);
		for (uint32_t i = 0; i < fetch->nr_jobs; i++, found++) {
			const struct message_text *name = &fetch->jobs[i].name;

			assert_true(strcmp(last, name->data) < 0);
			strcpy(last, name->data);
		}
		job_answer_fini(&answer);
	}
	assert_int_equal(found, WIRE_FETCH_JOBS_MAX + 10);
}

static void a_complete_profile_is_read_block_by_block(void **state)
{
	static char bytes[WIRE_FETCH_BYTES_MAX + 10];
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i % 251);
	job_folder_make("alice", "1", JOB_DIR_IS_COMPLETE, bytes, sizeof(bytes), path);
	struct job_answer first = read_from("alice", "alice-1", FETCH_STORE, 0);
	struct job_answer last = read_from("alice", "alice-1", FETCH_STORE, WIRE_FETCH_BYTES_MAX);
	struct job_answer behind = read_from("alice", "alice-1", FETCH_STORE, UINT64_MAX);

	assert_int_equal(first.message.fetch.kind, FETCH_BYTES);
	assert_int_equal(first.message.fetch.total_bytes, sizeof(bytes));
	assert_int_equal(first.message.fetch.nr_bytes, WIRE_FETCH_BYTES_MAX);
	assert_memory_equal(first.message.fetch.bytes, bytes, WIRE_FETCH_BYTES_MAX);
	assert_int_equal(last.message.fetch.offset, WIRE_FETCH_BYTES_MAX);
	assert_int_equal(last.message.fetch.nr_bytes, 10);
	assert_memory_equal(last.message.fetch.bytes, bytes + WIRE_FETCH_BYTES_MAX, 10);
	assert_int_equal(behind.message.fetch.nr_bytes, 0);
	assert_memory_equal(first.message.fetch.identity, last.message.fetch.identity,
			    WIRE_FETCH_IDENTITY_SIZE);
	/* A file in its place is another one, even of the same bytes. */
	char file[PATH_MAX], other[PATH_MAX];
	assert_int_equal(job_dir_file(path, JOB_DIR_STORE, file), 0);
	assert_int_equal(job_dir_file(path, "other", other), 0);
	job_folder_write(path, "other", bytes, sizeof(bytes));
	assert_int_equal(rename(other, file), 0);
	struct job_answer changed = read_from("alice", "alice-1", FETCH_STORE, 0);
	assert_memory_not_equal(first.message.fetch.identity, changed.message.fetch.identity,
				WIRE_FETCH_IDENTITY_SIZE);
	job_answer_fini(&first);
	job_answer_fini(&last);
	job_answer_fini(&behind);
	job_answer_fini(&changed);
}

static void copy(const char *from, const char *path, const char *name)
{
	static char bytes[1u << 20];
	FILE *file = fopen(from, "r");

	assert_non_null(file);
	size_t size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_in_range(size, 1, sizeof(bytes) - 1);
	job_folder_write(path, name, bytes, size);
}

/* Somebody read the store while it was closed, so that its rows are in the log alone. */
static void a_log_beside_the_store_is_part_of_it(void **state)
{
	char path[PATH_MAX], store[PATH_MAX + 16], log[PATH_MAX + 32];
	struct database *database;
	int64_t rows;

	(void)state;
	job_folder_make("alice", "1", JOB_DIR_IS_COMPLETE, "", 0, path);
	snprintf(store, sizeof(store), "%s/original", path);
	snprintf(log, sizeof(log), "%s-wal", store);
	assert_int_equal(database_open(store, false, &database, NULL), 0);
	assert_int_equal(database_execute(database,
					  "PRAGMA journal_mode = WAL; CREATE TABLE t (a); "
					  "INSERT INTO t VALUES (1), (2), (3)"),
			 0);
	copy(store, path, JOB_DIR_STORE);
	copy(log, path, JOB_DIR_STORE "-wal");
	database_close(database);

	snprintf(store, sizeof(store), "%s/" JOB_DIR_STORE, path);
	assert_int_equal(database_open(store, true, &database, NULL), 0); /* a reader again */
	assert_int_equal(database_execute(database, "BEGIN; SELECT * FROM t"), 0);
	assert_refused(read_from("alice", "alice-1", FETCH_STORE, 0), REFUSE_STORE,
		       "somebody reads");
	database_close(database);

	struct job_answer answer = read_from("alice", "alice-1", FETCH_STORE, 0);
	assert_int_equal(answer.message.type, MESSAGE_FETCH);
	job_folder_write(path, "fetched", answer.message.fetch.bytes,
			 answer.message.fetch.nr_bytes);
	job_answer_fini(&answer);
	snprintf(store, sizeof(store), "%s/fetched", path);
	assert_int_equal(database_open(store, true, &database, NULL), 0);
	assert_int_equal(database_query_number(database, "SELECT count(*) FROM t", &rows), 0);
	assert_int_equal(rows, 3);
	database_close(database);
}

static void profiles_of_nodes_are_a_file_of_their_own(void **state)
{
	char path[PATH_MAX];

	(void)state;
	job_folder_make("alice", "1", JOB_DIR_IS_COMPLETE, "1", 1, path);
	struct job_answer answer = read_from("alice", "alice-1", FETCH_NODES, 0);
	assert_int_equal(answer.message.fetch.kind, FETCH_BYTES);
	assert_int_equal(answer.message.fetch.total_bytes, 0);
	job_answer_fini(&answer);
	job_folder_write(path, JOB_DIR_NODES, "nodes", 5);
	answer = read_from("alice", "alice-1", FETCH_NODES, 0);
	assert_int_equal(answer.message.fetch.total_bytes, 5);
	assert_memory_equal(answer.message.fetch.bytes, "nodes", 5);
	job_answer_fini(&answer);
}

static void jobs_that_are_not_complete_are_refused(void **state)
{
	char path[PATH_MAX];

	(void)state;
	job_folder_make("alice", "1", JOB_DIR_IS_OPEN, "1", 1, path);
	job_folder_make("alice", "2", JOB_DIR_IS_CLOSED, "1", 1, path);
	assert_refused(read_from("alice", "alice-1", FETCH_STORE, 0), REFUSE_UNDEFINED,
		       "is still running, since 20");
	assert_refused(read_from("alice", "alice-2", FETCH_STORE, 0), REFUSE_UNDEFINED,
		       "reports are still being made");
}

static void what_is_not_the_users_is_not_there(void **state)
{
	static const char *const names[] = {
		"", "alice-2", "../jobs/alice-1", "alice-1/../alice-1", "/", ".", "..", ".alice-1"};
	char path[PATH_MAX];

	(void)state;
	job_folder_make("alice", "1", JOB_DIR_IS_COMPLETE, "1", 1, path);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_refused(read_from("alice", names[i], FETCH_STORE, 0), REFUSE_UNDEFINED,
			       "user alice has no such job there");
	assert_refused(read_from("bob", "alice-1", FETCH_STORE, 0), REFUSE_UNDEFINED,
		       "user bob has no such job there");
	struct job_answer answer = ask(&(struct message_fetch){
		.kind = FETCH_READ, .token = 1, .user = text("alice"), .name = {"alice-1\0x", 9}});
	assert_refused(answer, REFUSE_MALFORMED, "impossible name");
}

static void a_directory_without_a_mark_is_an_older_versions(void **state)
{
	char path[PATH_MAX], file[PATH_MAX];

	(void)state;
	job_folder_make("alice", "1", JOB_DIR_IS_COMPLETE, "1", 1, path);
	assert_int_equal(job_dir_file(path, JOB_DIR_COMPLETE, file), 0);
	assert_int_equal(unlink(file), 0);
	assert_refused(read_from("alice", "alice-1", FETCH_STORE, 0), REFUSE_UNDEFINED,
		       "an older version kept this profile");
	assert_refused(read_from("bob", "alice-1", FETCH_STORE, 0), REFUSE_UNDEFINED,
		       "user bob has no such job");
	struct job_answer answer = list("alice", "");
	assert_int_equal(answer.message.fetch.nr_jobs, 0);
	job_answer_fini(&answer);
}

static void links_and_missing_files_are_not_read(void **state)
{
	char path[PATH_MAX], file[PATH_MAX];

	(void)state;
	job_folder_make("alice", "1", JOB_DIR_IS_COMPLETE, "1", 1, path);
	assert_int_equal(job_dir_file(path, JOB_DIR_STORE, file), 0);
	assert_int_equal(unlink(file), 0);
	assert_refused(read_from("alice", "alice-1", FETCH_STORE, 0), REFUSE_UNDEFINED,
		       "the job's profile is gone");
	assert_int_equal(symlink("/etc/passwd", file), 0);
	assert_refused(read_from("alice", "alice-1", FETCH_STORE, 0), REFUSE_STORE,
		       "cannot be read");
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_refused(read_from("alice", "alice-1", FETCH_STORE, 0), REFUSE_UNDEFINED, "is gone");
	struct job_answer answer = list("alice", "");
	assert_int_equal(answer.message.fetch.nr_jobs, 0);
	job_answer_fini(&answer);
}

static void a_directory_that_is_not_there_is_no_directory_of_jobs(void **state)
{
	struct job_files *none;

	(void)state;
	assert_int_equal(job_files_open("/proc/nowhere", &none), -ENOENT);
	assert_null(none);
	job_files_close(none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_user_sees_that_users_jobs_by_name),
		TEST(names_that_two_users_could_have_are_told_apart),
		TEST(a_long_list_comes_in_pieces),
		TEST(a_complete_profile_is_read_block_by_block),
		TEST(a_log_beside_the_store_is_part_of_it),
		TEST(profiles_of_nodes_are_a_file_of_their_own),
		TEST(jobs_that_are_not_complete_are_refused),
		TEST(what_is_not_the_users_is_not_there),
		TEST(a_directory_without_a_mark_is_an_older_versions),
		TEST(links_and_missing_files_are_not_read),
		TEST(a_directory_that_is_not_there_is_no_directory_of_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
