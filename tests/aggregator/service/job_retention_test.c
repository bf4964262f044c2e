#include "aggregator/service/job_retention.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW_S 1000000
#define DAY_S 86400
#define KIB   1024u

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/job_retention_test.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void name_in(char path[static PATH_MAX], const char *job, const char *name)
{
	assert_in_range(snprintf(path, PATH_MAX, "%s/%s/%s", folder, job, name), 1, PATH_MAX - 1);
}

static void make_file(const char *job, const char *name, uint32_t kib, int64_t written_s)
{
	const struct timespec times[2] = {{.tv_sec = written_s}, {.tv_sec = written_s}};
	char path[PATH_MAX], block[KIB];

	memset(block, 'x', sizeof(block));
	name_in(path, job, name);
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	for (uint32_t i = 0; i < kib; i++)
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(fsync(fd), 0); /* so that its blocks are counted */
	close(fd);
}

/* A complete job of 128 KiB, written so long ago. */
static void make_job(const char *job, int64_t days)
{
	char path[PATH_MAX];

	name_in(path, job, "");
	assert_int_equal(mkdir(path, 0750), 0);
	make_file(job, "profile.db", 64, NOW_S - days * DAY_S);
	make_file(job, "gpu.ns.folded", 64, NOW_S);
}

static bool is_there(const char *job)
{
	char path[PATH_MAX];

	name_in(path, job, "profile.db");
	return access(path, F_OK) == 0;
}

static struct job_retention_result apply(uint64_t bytes, int64_t days)
{
	const struct job_retention_limits limits = {bytes, (uint64_t)days * DAY_S * 1000000000u};
	struct job_retention_result result;

	assert_int_equal(job_retention_apply(folder, &limits, NOW_S, &result), 0);
	return result;
}

static void jobs_that_are_too_old_are_deleted_whole(void **state)
{
	char path[PATH_MAX];

	(void)state;
	make_job("old", 5);
	make_job("young", 2);
	make_job("just", 3);
	assert_int_equal(apply(0, 3).deleted, 1);
	name_in(path, "old", "");
	assert_int_equal(access(path, F_OK), -1);
	assert_true(is_there("young"));
	assert_true(is_there("just"));
}

static void the_oldest_go_until_the_rest_fits(void **state)
{
	(void)state;
	make_job("a", 2);
	make_job("b", 4);
	make_job("c", 3);
	uint64_t all = apply(UINT64_MAX, 0).bytes;

	assert_true(all >= 3 * 128 * KIB);
	assert_int_equal(apply(all, 0).deleted, 0);
	struct job_retention_result result = apply(all - 1, 0);
	assert_int_equal(result.deleted, 1);
	assert_false(is_there("b"));
	assert_int_equal(result.bytes, apply(UINT64_MAX, 0).bytes);
	assert_int_equal(apply(1, 0).deleted, 2);
}

static void open_jobs_count_and_stay(void **state)
{
	(void)state;
	make_job("open", 9);
	make_file("open", "job.open", 1, NOW_S);
	make_job("complete", 1);
	make_file("complete", "job.complete", 1, NOW_S);
	struct job_retention_result result = apply(1, 1);

	assert_int_equal(result.deleted, 1);
	assert_true(result.bytes >= 128 * KIB);
	assert_true(is_there("open"));
	assert_false(is_there("complete"));
}

static void what_is_no_job_stays(void **state)
{
	char path[PATH_MAX];

	(void)state;
	make_job("job", 9);
	make_job("other", 9);
	name_in(path, "other", "profile.db");
	assert_int_equal(unlink(path), 0); /* no profile */
	name_in(path, "link", "");
	path[strlen(path) - 1] = '\0';
	assert_int_equal(symlink("job", path), 0);
	make_file(".", "file", 1, NOW_S - 9 * DAY_S);
	assert_int_equal(apply(0, 1).deleted, 1); /* the job itself, not by its link */
	name_in(path, "other", "gpu.ns.folded");
	assert_int_equal(access(path, F_OK), 0);
	name_in(path, ".", "file");
	assert_int_equal(access(path, F_OK), 0);
}

static void a_job_that_cannot_be_deleted_stays_whole(void **state)
{
	char path[PATH_MAX];

	(void)state;
	make_job("user", 9);
	make_file("user", "job.complete", 1, NOW_S);
	make_file("user", "gpu.ns.folded", 1, NOW_S);
	name_in(path, "user", "notes");
	assert_int_equal(mkdir(path, 0700), 0);
	make_job("next", 8);
	struct job_retention_result result = apply(0, 1);

	assert_int_equal(result.stuck, 1);
	assert_int_equal(result.deleted, 1);
	assert_true(is_there("user"));
	name_in(path, "user", "job.complete");
	assert_int_equal(access(path, F_OK), 0);
	name_in(path, "user", "gpu.ns.folded");
	assert_int_equal(access(path, F_OK), 0);
	assert_false(is_there("next"));
}

static void a_directory_that_is_gone_is_an_error(void **state)
{
	const struct job_retention_limits limits = {1, 1};
	struct job_retention_result result;

	(void)state;
	assert_int_equal(job_retention_apply("/nonexistent/jobs", &limits, NOW_S, &result),
			 -ENOENT);
}

static void the_thread_looks_at_once(void **state)
{
	const struct job_retention_limits limits = {.bytes = 1};
	struct stat status;
	char path[PATH_MAX];

	(void)state;
	make_job("a", 2);
	struct job_retention *retention = job_retention_start(folder, &limits);

	assert_non_null(retention);
	job_retention_stop(retention);
	name_in(path, "a", "");
	assert_int_equal(stat(path, &status), -1);
	job_retention_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(jobs_that_are_too_old_are_deleted_whole, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_oldest_go_until_the_rest_fits, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(open_jobs_count_and_stay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_job_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_job_that_cannot_be_deleted_stays_whole, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_directory_that_is_gone_is_an_error, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_thread_looks_at_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
