/* Processes that use one device are in one share; all others are spread. */
#include "tests/support/cmocka_test.h"

#include <string.h>

#include "aggregator/profile/roster.h"
#include "timeline/cells/process_shares.h"

static struct roster *roster_of(uint32_t nr_devices)
{
	struct roster *roster = roster_create();
	uint32_t host, id;

	assert_non_null(roster);
	assert_int_equal(roster_add_host(roster, &(struct roster_host){.node = 1}, &host), 0);
	for (uint32_t i = 1; i <= nr_devices; i++)
		assert_int_equal(roster_add_device(roster,
						   &(struct roster_device){.host = host,
									   .index = (int32_t)i,
									   .uuid = {(uint8_t)i}},
						   &id),
				 0);
	return roster;
}

/* Adds a process with those devices; 0: none, or one that is not described. */
static void add(struct roster *roster, uint32_t a, uint32_t b)
{
	const struct roster_ordinal devices[] = {{0, a}, {1, b}};
	const uint32_t nr = b ? 2 : a ? 1 : 0;
	uint32_t id;

	assert_int_equal(
		roster_add_process(roster,
				   &(struct roster_identity){
					   .host = 1, .pid = 1 + roster_size(roster).processes},
				   &id),
		0);
	assert_int_equal(roster_process_set_devices(roster_process(roster, id), devices, nr), 0);
}

/* Divides the roster, which goes, and asserts where its processes are. */
static void assert_shares(struct roster *roster, uint32_t nr, const uint8_t *of)
{
	struct process_shares shares;

	assert_int_equal(process_shares_init(&shares, roster), 0);
	assert_int_equal(shares.nr, nr);
	assert_memory_equal(shares.of, of, roster_size(roster).processes);
	process_shares_fini(&shares);
	roster_destroy(roster);
}

static void without_processes_there_is_one_share(void **state)
{
	(void)state;
	assert_shares(roster_of(0), 1, (const uint8_t[]){0});
}

static void few_processes_have_a_share_each(void **state)
{
	struct roster *roster = roster_of(3);

	(void)state;
	for (uint32_t i = 1; i <= 3; i++)
		add(roster, i, 0);
	assert_shares(roster, 3, (const uint8_t[]){0, 1, 2});
}

static void many_processes_are_spread_evenly(void **state)
{
	struct roster *roster = roster_of(0);
	uint8_t of[5 * PROCESS_SHARES_MOST];

	(void)state;
	for (uint32_t i = 0; i < sizeof(of); i++) {
		add(roster, 0, 0);
		of[i] = (uint8_t)(i / 5);
	}
	assert_shares(roster, PROCESS_SHARES_MOST, of);
}

static void processes_of_one_device_are_in_one_share(void **state)
{
	struct roster *roster = roster_of(2);

	(void)state;
	add(roster, 1, 0);
	add(roster, 2, 0);
	add(roster, 1, 0);
	add(roster, 0, 2);
	assert_shares(roster, 4, (const uint8_t[]){0, 1, 0, 1});
}

/* Process 3 joins two shares that were apart. */
static void devices_that_cannot_be_divided_are_in_one_share(void **state)
{
	struct roster *roster = roster_of(2);

	(void)state;
	add(roster, 1, 0);
	add(roster, 2, 0);
	add(roster, 1, 2);
	assert_shares(roster, 1, (const uint8_t[]){0, 0, 0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_processes_there_is_one_share),
		cmocka_unit_test(few_processes_have_a_share_each),
		cmocka_unit_test(many_processes_are_spread_evenly),
		cmocka_unit_test(processes_of_one_device_are_in_one_share),
		cmocka_unit_test(devices_that_cannot_be_divided_are_in_one_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
