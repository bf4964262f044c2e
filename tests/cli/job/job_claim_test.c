/* Which of several nodes may take over a lost aggregator. */
#include "cli/job/job_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define BEGIN_NS 1000000000000u

static char folder[] = "/tmp/job_claim_test.XXXXXX", rendezvous[64];

static int make(struct job_claim *claim, uint64_t now_ns, char path[static PATH_MAX])
{
	return job_claim_make(claim, rendezvous, "the lost one's key", now_ns, path);
}

static void one_process_has_the_claim(void **state)
{
	struct job_claim one = {.number = 0}, other = {.number = 0};
	char path[PATH_MAX], others[PATH_MAX];

	(void)state;
	assert_int_equal(make(&one, BEGIN_NS, path), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(make(&other, BEGIN_NS, others), -EEXIST);
	assert_string_equal(others, path);
	/* after another aggregator there is another one */
	assert_int_equal(job_claim_make(&other, rendezvous, "a key", BEGIN_NS, others), 0);
	assert_string_not_equal(others, path);
	unlink(others);
	unlink(path);
	assert_int_equal(make(&other, BEGIN_NS, others), 0);
	unlink(others);
}

static void a_claim_that_is_not_renewed_is_a_dead_nodes(void **state)
{
	struct job_claim one = {.number = 0}, other = {.number = 0};
	char dead[PATH_MAX], path[PATH_MAX];

	(void)state;
	assert_int_equal(make(&one, BEGIN_NS, dead), 0);
	assert_int_equal(make(&other, BEGIN_NS, path), -EEXIST);
	assert_int_equal(make(&other, BEGIN_NS + JOB_CLAIM_DEAD_NS, path), -EEXIST);
	assert_int_equal(make(&other, BEGIN_NS + JOB_CLAIM_DEAD_NS + 1, path), 0);
	assert_string_not_equal(path, dead);
	job_claim_remove_dead(&other, rendezvous);
	assert_int_equal(access(dead, F_OK), -1);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
}

/* Its node waits as long as it may for the store, and a second node looks each second. */
static void a_claim_that_is_renewed_stays(void **state)
{
	struct job_claim one = {.number = 0}, other = {.number = 0};
	char path[PATH_MAX], others[PATH_MAX];
	const uint64_t second_ns = 1000000000u, end_ns = BEGIN_NS + JOB_CLAIM_STORE_NS;
	uint64_t renewed_ns = BEGIN_NS, now_ns = BEGIN_NS;
	uint32_t nr_renewed = 0;

	(void)state;
	assert_int_equal(make(&one, now_ns, path), 0);
	for (; now_ns <= end_ns; now_ns += second_ns) {
		const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = (time_t)nr_renewed + 1}};

		assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
		const uint64_t before_ns = renewed_ns;
		job_claim_renew(path, now_ns, &renewed_ns);
		nr_renewed += renewed_ns != before_ns;
		struct stat status;
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_mtim.tv_sec != old[1].tv_sec, renewed_ns != before_ns);
		assert_int_equal(make(&other, now_ns, others), -EEXIST);
	}
	assert_int_equal(nr_renewed, JOB_CLAIM_STORE_NS / JOB_CLAIM_RENEW_NS);
	assert_int_equal(other.number, 0);
	unlink(path);
}

static void a_claim_without_room_for_its_name_is_refused(void **state)
{
	struct job_claim claim = {.number = 0};
	char path[PATH_MAX], longest[PATH_MAX];

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(job_claim_make(&claim, longest, "key", BEGIN_NS, path), -ENAMETOOLONG);
	assert_int_equal(
		job_claim_make(&claim, "/nowhere/at all/rendezvous", "key", BEGIN_NS, path),
		-ENOENT);
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(rendezvous, sizeof(rendezvous), "%s/prof.1.rendezvous", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_process_has_the_claim),
		cmocka_unit_test(a_claim_that_is_not_renewed_is_a_dead_nodes),
		cmocka_unit_test(a_claim_that_is_renewed_stays),
		cmocka_unit_test(a_claim_without_room_for_its_name_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
