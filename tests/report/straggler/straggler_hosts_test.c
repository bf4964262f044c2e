/* A job on four hosts, some of which are late: how they are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#include "report/writers/straggler/straggler_text.h"
#include "straggler_fixture.h"

#define HOSTS 4u
#define LOCAL 4u
#define RANKS (HOSTS * LOCAL)
#define STEPS 200u
#define MS    1000000ull

struct job {
	const char *const *nodes; /* HOSTS of them */
	uint32_t late;            /* a bit for each host */
	uint32_t communicators;   /* of all ranks, one after the other; 0: one */
	bool at_once;             /* they are used in turn */
};

/* Ranks of late hosts need 12 ms a step, the others 10 ms, and each up to 0.2 ms more. Returns when it ends. */
static uint64_t play_step(const struct job *job, const uint32_t processes[static RANKS],
			  uint32_t communicator, uint64_t sequence, uint64_t now_ns, uint64_t *seed)
{
	uint64_t ready_ns[RANKS], last_ns = 0;

	for (uint32_t i = 0; i < RANKS; i++) {
		ready_ns[i] = now_ns + (job->late & 1u << i / LOCAL ? 12 : 10) * MS +
			      (uint64_t)(job_uniform(seed) * 0.2 * MS);
		last_ns = ready_ns[i] > last_ns ? ready_ns[i] : last_ns;
	}
	now_ns = last_ns + MS / 10;
	for (uint32_t i = 0; i < RANKS; i++) {
		const struct collective call = job_all_reduce(communicator, sequence, 0,
							      ready_ns[i], now_ns - ready_ns[i]);

		job_call(processes[i], &call);
	}
	return now_ns;
}

static void play(const struct job *job)
{
	const uint32_t communicators = job->communicators ? job->communicators : 1;
	uint32_t processes[RANKS];
	uint64_t now_ns = 1000 * MS, seed = 3;

	for (uint32_t i = 0; i < RANKS; i++) {
		if (i % LOCAL == 0)
			job_node(job->nodes[i / LOCAL]);
		processes[i] = job_process((int32_t)i);
		for (uint32_t j = 0; j < communicators; j++)
			job_communicator(processes[i], 1 + j, 0x10 + j, i, RANKS);
	}
	for (uint32_t i = 0; i < communicators * STEPS; i++)
		now_ns = play_step(
			job, processes, 1 + (job->at_once ? i % communicators : i / STEPS),
			1 + (job->at_once ? i / communicators : i % STEPS), now_ns, &seed);
	job_commit();
}

/* Asserts the beginning of the line, which names one group. */
static void assert_says(const struct job *job, const char *begin)
{
	char line[STRAGGLER_TEXT_SIZE];

	play(job);
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_groups, job->communicators ? job->communicators : 1);
	assert_int_equal(found->nr_named, 0);
	straggler_text_line(found, line, sizeof(line));
	assert_ptr_equal(strstr(line, begin), line);
	assert_null(strstr(line, "); "));
	report_straggler_destroy(found);
}

static void assert_named(const char *const nodes[static HOSTS], uint32_t late, const char *begin)
{
	assert_says(&(const struct job){.nodes = nodes, .late = late}, begin);
}

static const char *const plain[HOSTS] = {"node1", "node2", "node3", "node4"};

static const char *const numbered[HOSTS] = {
	"ip-10-0-1-5.us-west-2.compute.internal", "ip-10-0-1-6.us-west-2.compute.internal",
	"ip-10-0-2-7.us-west-2.compute.internal", "ip-10-0-2-8.us-west-2.compute.internal"};

static void a_host_keeps_its_name_where_its_domain_has_a_number(void **state)
{
	(void)state;
	assert_named(numbered, 1u << 1,
		     "late: ip-10-0-1-6.us-west-2.compute.internal (4 ranks: 4-7; ");
}

static void hosts_of_like_names_are_named_with_their_domain(void **state)
{
	(void)state;
	assert_named(numbered, 3u << 2,
		     "late: hosts ip-10-0-2-*.us-west-2.compute.internal (8 ranks: 8-15; ");
}

static void a_host_without_a_number_is_alone(void **state)
{
	static const char *const nodes[HOSTS] = {"alpha.dc1", "beta.dc1", "gpu1.dc1", "gpu2.dc1"};

	(void)state;
	assert_named(nodes, 1u << 1, "late: beta.dc1 (4 ranks: 4-7; ");
}

static void hosts_of_other_domains_are_not_alike(void **state)
{
	static const char *const nodes[HOSTS] = {"gpu1.dc1", "gpu2.dc1", "gpu3.dc2", "gpu4.dc2"};

	(void)state;
	assert_named(nodes, 3u << 2, "late: hosts gpu*.dc2 (8 ranks: 8-15; ");
}

/* The twelve others wait 2.06 ms in each of 199 steps: the last of four is late by 2.16 ms, and the mean by 0.1 ms. What
 * the four wait for one another does not count. */
static void the_ranks_outside_of_a_host_waited_for_it(void **state)
{
	(void)state;
	assert_named(plain, 1u << 1,
		     "late: node2 (4 ranks: 4-7; without it up to 410.605 ms less, 16.90 % of the "
		     "time, beyond chance by frequency)");
}

static void a_part_of_whole_hosts_has_their_names(void **state)
{
	static const char *const nodes[HOSTS] = {"red", "blue", "gray", "green"};

	(void)state;
	assert_named(nodes, 3u << 1, "late: the later of two groups, blue, gray (8 ranks: 4-11; ");
}

/* 2.06 ms in each of 2 x 199 steps. */
static void what_a_host_costs_on_one_communicator_after_another_adds_up(void **state)
{
	const struct job job = {.nodes = plain, .late = 1u << 1, .communicators = 2};

	(void)state;
	assert_says(&job, "late: node2 (4 ranks: 4-7; without it up to 820.563 ms less, 16.89 % of "
			  "the time, beyond chance by frequency)");
}

/* The costliest counts: one delay may be in both. */
static void a_host_late_on_two_communicators_at_once_is_told_once(void **state)
{
	const struct job job = {
		.nodes = plain, .late = 1u << 1, .communicators = 2, .at_once = true};

	(void)state;
	assert_says(&job, "late: node2 (4 ranks: 4-7; without it up to 410.407 ms less, 8.45 % of "
			  "the time, beyond chance by frequency)");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_host_keeps_its_name_where_its_domain_has_a_number),
		TEST(hosts_of_like_names_are_named_with_their_domain),
		TEST(a_host_without_a_number_is_alone),
		TEST(hosts_of_other_domains_are_not_alike),
		TEST(the_ranks_outside_of_a_host_waited_for_it),
		TEST(a_part_of_whole_hosts_has_their_names),
		TEST(what_a_host_costs_on_one_communicator_after_another_adds_up),
		TEST(a_host_late_on_two_communicators_at_once_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
