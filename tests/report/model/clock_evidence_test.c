#include "report/profile/clock_evidence.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define S     1000000000ll
#define US    1000ll
#define HOSTS 3u
#define RANKS 6u
#define CALLS 100u
#define KEY   77u
#define CUPTI (400000 * S) /* CUPTI's clock - CLOCK_MONOTONIC */

/* By host, as far as it is ahead of the reference at 100 s of it, and how much it gains, ppm. */
static const int64_t planted[HOSTS] = {5 * S, -5 * S, 0};
static const int64_t gains_ppm[HOSTS] = {0, 40, -30};

static struct roster *roster;
static struct collective_log *log_of_calls;
static struct clock_map *map;
static struct clock_offset offsets[16];
static uint32_t used[16], nr_offsets;

static uint64_t next_random(void)
{
	static uint64_t state = 4711;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static int64_t ahead(uint32_t host, uint64_t true_ns)
{
	return planted[host] + ((int64_t)true_ns - 100 * S) / 1000000 * gains_ppm[host];
}

static uint64_t own_time(uint32_t host, uint64_t true_ns)
{
	return true_ns + (uint64_t)ahead(host, true_ns);
}

static int set_up(void **state)
{
	(void)state;
	roster = roster_create();
	log_of_calls = collective_log_create();
	memset(offsets, 0, sizeof(offsets));
	memset(used, 0, sizeof(used));
	nr_offsets = 0;
	map = NULL;
	for (uint32_t i = 0; i < HOSTS; i++) {
		const struct roster_host host = {.boot_id = 1, .node = i + 2};
		uint32_t id;

		assert_int_equal(roster_add_host(roster, &host, &id), 0);
	}
	for (uint32_t i = 0; i < RANKS; i++) {
		const struct roster_identity identity = {.host = i % HOSTS + 1, .pid = i + 1};
		const struct communicator communicator = {
			.communicator_id = 1, .key = KEY, .rank = i, .nr_ranks = RANKS};
		uint32_t id;

		assert_int_equal(roster_add_process(roster, &identity, &id), 0);
		assert_int_equal(collective_log_put(log_of_calls, id, &communicator), 0);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	clock_map_destroy(map);
	collective_log_destroy(log_of_calls);
	roster_destroy(roster);
	return 0;
}

/* The truth somewhere within the bound. By host and time, as a store has them. */
static void compare(uint32_t host, uint64_t true_ns, uint64_t bound_ns)
{
	int64_t off_ns = (int64_t)(next_random() % (2 * bound_ns + 1)) - (int64_t)bound_ns;

	offsets[nr_offsets++] = (struct clock_offset){
		.host = host + 1,
		.reference = 1,
		.time_ns = own_time(host, true_ns),
		.offset_ns = ahead(host, true_ns) + off_ns,
		.bound_ns = bound_ns,
		.round_trip_ns = 2 * bound_ns,
	};
}

static void load_call(uint32_t rank, uint32_t number, uint64_t begin_ns,
		      const struct collective_gpu *gpu)
{
	const struct collective_log_call call = {
		.process = rank + 1,
		.call = {.communicator_id = 1,
			 .sequence = number + 1,
			 .function_sequence = number + 1,
			 .function = COLLECTIVE_ALL_REDUCE,
			 .correlation_id = number + 1,
			 .start_ns = own_time(rank % HOSTS, begin_ns),
			 .duration_ns = 10},
		.gpu = *gpu,
	};

	assert_int_equal(collective_log_load_call(log_of_calls, &call), 0);
}

static void add_call(uint32_t rank, uint32_t number, uint64_t begin_ns, uint64_t end_ns)
{
	const uint32_t host = rank % HOSTS;
	const struct collective_gpu gpu = {
		.known = true,
		.clock_known = true,
		.start_ns = own_time(host, begin_ns) + (uint64_t)CUPTI,
		.ns = own_time(host, end_ns) - own_time(host, begin_ns),
		.clock_offset_ns = -CUPTI,
	};

	load_call(rank, number, begin_ns, &gpu);
}

/* CALLS collectives from one time to another, to each of which ranks come within 200 us. */
static void play(uint64_t from_ns, uint64_t to_ns)
{
	uint64_t begins_ns[RANKS];

	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t last_ns = 0;

		for (uint32_t j = 0; j < RANKS; j++) {
			begins_ns[j] = from_ns + (to_ns - from_ns) / CALLS * i +
				       next_random() % (uint64_t)(200 * US);
			last_ns = begins_ns[j] > last_ns ? begins_ns[j] : last_ns;
		}
		for (uint32_t j = 0; j < RANKS; j++)
			add_call(j, i, begins_ns[j], last_ns + (uint64_t)(20 * US));
	}
}

static int apply(void)
{
	map = clock_map_create(offsets, nr_offsets);
	return clock_evidence_apply(log_of_calls, roster, map, offsets, nr_offsets, used);
}

/* At any time of the run, by the map as it is now. */
static void assert_map_holds(uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t host = 0; host < HOSTS; host++)
		for (uint64_t now_ns = from_ns; now_ns <= to_ns; now_ns += (to_ns - from_ns) / 20) {
			struct clock_map_place place;

			assert_true(clock_map_find(map, host + 1, own_time(host, now_ns), &place));
			int64_t off_ns = place.offset_ns - ahead(host, now_ns);
			assert_true((off_ns < 0 ? -off_ns : off_ns) <= (int64_t)place.bound_ns + 1);
		}
}

static void a_slow_network_to_one_host_is_made_up_for(void **state)
{
	(void)state;
	compare(0, 100 * S, 20 * US);
	compare(1, 100 * S, 3000 * US);
	compare(2, 100 * S, 60 * US);
	play(100 * S + 1, 100 * S + S / 2);
	assert_int_equal(apply(), 0);
	/* Of host 0, which is known best, then there and back. */
	assert_true(offsets[1].bound_ns < (uint64_t)(100 * US));
	assert_true(offsets[0].bound_ns <= (uint64_t)(20 * US));
	assert_true(offsets[2].bound_ns <= (uint64_t)(60 * US));
	for (uint32_t i = 0; i < HOSTS; i++) {
		int64_t off_ns = offsets[i].offset_ns - planted[i];

		assert_true((off_ns < 0 ? -off_ns : off_ns) <= (int64_t)offsets[i].bound_ns);
		assert_int_equal(used[i], CALLS);
	}
}

static void each_belongs_to_the_comparison_that_is_nearest(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < HOSTS; host++)
		for (uint64_t i = 0; i < 3; i++)
			compare(host, (uint64_t)(100 * S) + i * (uint64_t)(30 * S),
				host ? 800 * US : 20 * US);
	/* From 100 to 160 s: a quarter, a half, a quarter. */
	play(100 * S, 160 * S);
	assert_int_equal(apply(), 0);
	for (uint32_t host = 0; host < HOSTS; host++) {
		assert_in_range(used[host * 3], CALLS / 4 - 2, CALLS / 4 + 2);
		assert_in_range(used[host * 3 + 1], CALLS / 2 - 2, CALLS / 2 + 2);
		assert_in_range(used[host * 3 + 2], CALLS / 4 - 2, CALLS / 4 + 2);
	}
	assert_true(offsets[3].bound_ns < (uint64_t)(800 * US));
	assert_map_holds(100 * S, 160 * S);
}

static void calls_of_one_host_say_nothing(void **state)
{
	(void)state;
	for (uint32_t host = 0; host < HOSTS; host++)
		compare(host, 100 * S, 500 * US);
	for (uint32_t i = 0; i < CALLS; i++)
		for (uint32_t rank = 0; rank < RANKS; rank += HOSTS)
			add_call(rank, i, (uint64_t)(100 * S) + i * (uint64_t)US,
				 (uint64_t)(100 * S) + (i + 1) * (uint64_t)US);
	assert_int_equal(apply(), 0);
	for (uint32_t i = 0; i < HOSTS; i++) {
		assert_int_equal(offsets[i].bound_ns, 500 * US);
		assert_int_equal(used[i], 0);
	}
}

static void clocks_that_were_set_are_not_believed(void **state)
{
	struct clock_offset before[16];

	(void)state;
	for (uint32_t host = 0; host < HOSTS; host++)
		compare(host, 100 * S, 50 * US);
	offsets[1].offset_ns += S;
	memcpy(before, offsets, sizeof(before));
	play(100 * S + 1, 100 * S + S);
	assert_int_equal(apply(), -ERANGE);
	assert_memory_equal(before, offsets, sizeof(before));
}

static void times_that_cannot_be_are_left_out(void **state)
{
	static const struct collective_gpu impossible[] = {
		{.known = true, .clock_known = true, .start_ns = 1, .clock_offset_ns = INT64_MIN},
		{.known = true, .clock_known = true, .start_ns = UINT64_MAX, .ns = UINT64_MAX},
		{.known = true, .clock_known = true, .start_ns = INT64_MAX, .ns = 1},
		{.known = true, .clock_known = false, .start_ns = 1, .ns = 1},
	};

	(void)state;
	for (uint32_t host = 0; host < HOSTS; host++)
		compare(host, 100 * S, 50 * US);
	for (uint32_t i = 0; i < CALLS; i++)
		for (uint32_t rank = 0; rank < RANKS; rank++)
			load_call(rank, i, 100 * S, &impossible[(i + rank) % 4]);
	assert_int_equal(apply(), 0);
	for (uint32_t i = 0; i < HOSTS; i++)
		assert_int_equal(used[i], 0);
}

static void without_comparisons_there_is_nothing_to_narrow(void **state)
{
	(void)state;
	play(100 * S, 101 * S);
	assert_int_equal(apply(), 0);
	assert_int_equal(used[0], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_slow_network_to_one_host_is_made_up_for),
		TEST(each_belongs_to_the_comparison_that_is_nearest),
		TEST(calls_of_one_host_say_nothing),
		TEST(clocks_that_were_set_are_not_believed),
		TEST(times_that_cannot_be_are_left_out),
		TEST(without_comparisons_there_is_nothing_to_narrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
