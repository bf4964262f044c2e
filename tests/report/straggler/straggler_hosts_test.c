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

/* Ranks of the hosts that have a bit need 12 ms a step, the others 10 ms, and each up to 0.2 ms more. */
static void play(const char *const nodes[static HOSTS], uint32_t late)
{
	uint32_t processes[RANKS];
	uint64_t now_ns = 1000 * MS, seed = 3;

	for (uint32_t i = 0; i < RANKS; i++) {
		if (i % LOCAL == 0)
			job_node(nodes[i / LOCAL]);
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 0x10, i, RANKS);
	}
	for (uint32_t step = 0; step < STEPS; step++) {
		uint64_t ready_ns[RANKS], last_ns = 0;

		for (uint32_t i = 0; i < RANKS; i++) {
			ready_ns[i] = now_ns + (late & 1u << i / LOCAL ? 12 : 10) * MS +
				      (uint64_t)(job_uniform(&seed) * 0.2 * MS);
			last_ns = ready_ns[i] > last_ns ? ready_ns[i] : last_ns;
		}
		now_ns = last_ns + MS / 10;
		for (uint32_t i = 0; i < RANKS; i++) {
			const struct collective call =
				job_all_reduce(1, step + 1, 0, ready_ns[i], now_ns - ready_ns[i]);

			job_call(processes[i], &call);
		}
	}
	job_commit();
}

static void assert_named(const char *const nodes[static HOSTS], uint32_t late, const char *begin)
{
	char line[STRAGGLER_TEXT_SIZE];

	play(nodes, late);
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_groups, 1);
	assert_int_equal(found->nr_named, 0);
	straggler_text_line(found, line, sizeof(line));
	assert_ptr_equal(strstr(line, begin), line);
	report_straggler_destroy(found);
}

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
	static const char *const nodes[HOSTS] = {"node1", "node2", "node3", "node4"};

	(void)state;
	assert_named(nodes, 1u << 1,
		     "late: node2 (4 ranks: 4-7; without it up to 410.605 ms less, 16.90 % of the "
		     "time, beyond chance by frequency)");
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
