#include "tests/support/cmocka_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf_fixture.h"
#include "collective_truth.h"
#include "base/clock.h"
#include "node-agent/calls/call_links.h"

#define FILES       3u /* NCCL, the runtime, the driver */
#define NR_RANKS    4u
#define BURST       3000u
#define SMALL_RING  4096u
#define PATH_SIZE   512
#define WORLD_CALLS 18u /* of each rank on the communicator of all */

static const char *victim_path;
static char folder[] = "/tmp/flamegrid-collectives.XXXXXX";

/* ---- the victims -------------------------------------------------------------------------------- */

struct victim {
	pid_t pid;
	FILE *orders, *answers;
};

static void begin(struct victim *victim)
{
	int orders[2], answers[2];
	char truth[PATH_SIZE];

	snprintf(truth, sizeof(truth), "%s/%%p", folder);
	assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	victim->pid = fork();
	if (victim->pid == 0) {
		dup2(orders[0], STDIN_FILENO);
		dup2(answers[1], STDOUT_FILENO);
		setenv("FAKE_NCCL_TRUTH", truth, 1);
		execl(victim_path, victim_path, NULL);
		_exit(1);
	}
	assert_true(victim->pid > 0);
	close(orders[0]);
	close(answers[1]);
	victim->orders = fdopen(orders[1], "w");
	victim->answers = fdopen(answers[0], "r");
}

static void tell(struct victim *victim, const char *order)
{
	fprintf(victim->orders, "%s\n", order);
	fflush(victim->orders);
}

/* Waits until it has done what it was told, while the fixture, if there is one, passes. */
static void await(struct bpf_fixture *fixture, struct victim *victim)
{
	struct pollfd answer = {fileno(victim->answers), POLLIN, 0};
	int value;

	while (fixture && poll(&answer, 1, 0) == 0)
		bpf_fixture_pass(fixture, 1);
	assert_int_equal(fscanf(victim->answers, "%d", &value), 1);
	assert_int_equal(fgetc(victim->answers), '\n');
	if (fixture)
		bpf_fixture_pass(fixture, 0);
}

static void order(struct bpf_fixture *fixture, struct victim *victim, const char *words)
{
	tell(victim, words);
	await(fixture, victim);
}

static void end(struct victim *victim)
{
	int status;

	tell(victim, "end");
	fclose(victim->orders);
	fclose(victim->answers);
	assert_int_equal(waitpid(victim->pid, &status, 0), victim->pid);
	assert_int_equal(WEXITSTATUS(status), 7);
}

/* Of a unique id that nobody else has, with its first word. */
static const char *with_id(const char *word, char text[static 64])
{
	uint64_t id[2];

	assert_int_equal(getrandom(id, sizeof(id), 0), sizeof(id));
	snprintf(text, 64, "%s %016" PRIx64 "%016" PRIx64, word, id[0], id[1]);
	return text;
}

/* ---- the source --------------------------------------------------------------------------------- */

static struct bpf_fixture *watch(const struct bpf_options *options, pid_t pid)
{
	struct bpf_options mine = *options;

	mine.host_calls = true;
	mine.watch_pid = pid;
	struct bpf_fixture *fixture = bpf_fixture_create(&mine);
	if (!fixture->source)
		fail_msg("BPF is needed here: %s", fixture->notices);
	return fixture;
}

static void stop(struct bpf_fixture *fixture)
{
	for (int i = 0; i < 3; i++)
		bpf_fixture_pass(fixture, 1);
	bpf_fixture_stop(fixture);
	assert_string_equal(fixture->notices, "");
}

static uint64_t sum_ledger(const struct bpf_fixture *fixture, enum ledger_reason reason)
{
	uint64_t sum = 0;

	for (uint32_t id = 1; id <= fixture->nr_processes; id++)
		sum += fixture->processes[id].ledger[reason].count;
	return sum;
}

/* All that was called since a time, nothing lost. */
static void check_all(const struct bpf_fixture *fixture, uint64_t from_ns, bool keys)
{
	struct collective_truth truth;

	collective_truth_read(&truth, folder);
	collective_truth_check(&truth, fixture, from_ns, keys);
	collective_truth_fini(&truth);
	assert_int_equal(sum_ledger(fixture, LEDGER_COLLECTIVES), fixture->nr_collectives);
	assert_int_equal(sum_ledger(fixture, LEDGER_COLLECTIVE_LOST), 0);
}

static const struct communicator *communicator_of(const struct bpf_fixture *fixture,
						  const struct bpf_fixture_collective *call)
{
	for (uint32_t i = 0; i < fixture->nr_communicators; i++)
		if (fixture->communicators[i].process_id == call->process_id &&
		    fixture->communicators[i].communicator.communicator_id ==
			    call->collective.communicator_id)
			return &fixture->communicators[i].communicator;
	return NULL;
}

/* ---- tests -------------------------------------------------------------------------------------- */

static void play_world(struct bpf_fixture *fixture, struct victim victims[2])
{
	char text[64], orders[80];

	with_id("world", text);
	for (int i = 0; i < 2; i++) {
		snprintf(orders, sizeof(orders), "%s %d", text, i);
		tell(&victims[i], orders);
	}
	for (int i = 0; i < 2; i++)
		await(fixture, &victims[i]);
}

/* The calls of the communicator of all ranks: each has every number once in each rank. */
static void check_world(const struct bpf_fixture *fixture)
{
	uint32_t seen[WORLD_CALLS + 1][NR_RANKS] = {{0}};
	uint64_t bytes[WORLD_CALLS + 1] = {0}, key = 0;

	for (uint32_t i = 0; i < fixture->nr_collectives; i++) {
		const struct bpf_fixture_collective *call = &fixture->collectives[i];
		const struct communicator *communicator = communicator_of(fixture, call);
		uint64_t sequence = call->collective.sequence;

		if (!communicator || communicator->nr_ranks != NR_RANKS)
			continue;
		assert_true(key == 0 || communicator->key == key);
		key = communicator->key;
		assert_in_range(sequence, 1, WORLD_CALLS);
		assert_true(bytes[sequence] == 0 || bytes[sequence] == call->collective.bytes);
		bytes[sequence] = call->collective.bytes;
		seen[sequence][communicator->rank]++;
	}
	assert_true(key != 0);
	for (uint32_t sequence = 1; sequence <= 15; sequence++)
		for (uint32_t rank = 0; rank < NR_RANKS; rank++)
			assert_int_equal(seen[sequence][rank], 1);
}

static uint32_t count_of(const struct bpf_fixture *fixture, enum communicator_origin origin)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < fixture->nr_communicators; i++)
		count += fixture->communicators[i].communicator.origin == origin;
	return count;
}

static void check_stacks(const struct bpf_fixture *fixture)
{
	for (uint32_t i = 0; i < fixture->nr_collectives; i++) {
		const struct collective *collective = &fixture->collectives[i].collective;
		const struct host_sample sample = {.stack_id = collective->stack_id};
		const char *caller = NULL;

		if (collective->function == COLLECTIVE_ALL_GATHER)
			caller = "victim_all_functions";
		else if (collective->function == COLLECTIVE_SEND)
			caller = "victim_exchange";
		if (caller && (bpf_fixture_depth_of(fixture, &sample, caller) != 0 ||
			       bpf_fixture_depth_of(fixture, &sample, "play_rank") != 1)) {
			bpf_fixture_print(fixture, &sample);
			fail_msg("%s is not its caller", caller);
		}
	}
}

static void check_way(enum call_links_way way)
{
	uint64_t from_ns = clock_now_ns();
	struct victim victims[2];

	struct bpf_fixture *fixture = watch(&(struct bpf_options){.call_way = way}, getpid());
	for (int i = 0; i < 2; i++)
		begin(&victims[i]);
	for (int i = 0; i < 2; i++)
		order(fixture, &victims[i], "probed");
	bpf_fixture_await_files(fixture, FILES);
	play_world(fixture, victims);
	for (int i = 0; i < 2; i++)
		end(&victims[i]);
	stop(fixture);
	check_all(fixture, from_ns, true);
	check_world(fixture);
	check_stacks(fixture);
	assert_int_equal(count_of(fixture, COMMUNICATOR_UNIQUE_ID), NR_RANKS);
	/* Three for each rank, and one that rank 0 is no part of. */
	assert_int_equal(count_of(fixture, COMMUNICATOR_SPLIT), 4 * NR_RANKS - 1);
	assert_int_equal(count_of(fixture, COMMUNICATOR_MIDDLE), 0);
	bpf_fixture_destroy(fixture);
}

static void calls_of_four_ranks_have_their_communicators_and_numbers(void **state)
{
	(void)state;
	check_way(CALL_LINKS_BEST);
}

static void older_ways_of_the_kernel_give_the_same(void **state)
{
	(void)state;
	check_way(CALL_LINKS_MULTI);
	check_way(CALL_LINKS_SINGLE);
}

/* Begins to watch one victim that is probed. */
static struct bpf_fixture *begin_one(struct victim *victim, const struct bpf_options *options)
{
	begin(victim);
	order(NULL, victim, "probed");
	struct bpf_fixture *fixture = watch(options, victim->pid);
	bpf_fixture_await_files(fixture, FILES);
	return fixture;
}

static void end_one(struct bpf_fixture *fixture, struct victim *victim)
{
	end(victim);
	stop(fixture);
}

static void ranks_of_one_process_have_one_key(void **state)
{
	uint64_t from_ns = clock_now_ns();
	struct victim victim;
	(void)state;
	struct bpf_fixture *fixture = begin_one(&victim, &(struct bpf_options){0});

	order(fixture, &victim, "local");
	order(fixture, &victim, "local");
	end_one(fixture, &victim);
	check_all(fixture, from_ns, true);
	assert_int_equal(fixture->nr_communicators, 4);
	assert_int_equal(count_of(fixture, COMMUNICATOR_INIT_ALL), 4);
	for (uint32_t i = 0; i < 4; i += 2) {
		const struct communicator *first = &fixture->communicators[i].communicator;
		const struct communicator *second = &fixture->communicators[i + 1].communicator;

		assert_true(first->key != 0 && first->key == second->key);
		assert_int_equal(first->rank, 0);
		assert_int_equal(second->rank, 1);
	}
	assert_true(fixture->communicators[0].communicator.key !=
		    fixture->communicators[2].communicator.key);
	bpf_fixture_destroy(fixture);
}

static void communicators_that_are_made_in_a_group_are_known(void **state)
{
	uint64_t from_ns = clock_now_ns();
	struct victim victim;
	char text[64];
	(void)state;
	struct bpf_fixture *fixture = begin_one(&victim, &(struct bpf_options){0});

	order(fixture, &victim, with_id("together", text));
	end_one(fixture, &victim);
	check_all(fixture, from_ns, true);
	assert_int_equal(count_of(fixture, COMMUNICATOR_UNIQUE_ID), 2);
	assert_int_equal(count_of(fixture, COMMUNICATOR_SPLIT), 2);
	bpf_fixture_destroy(fixture);
}

static void a_handle_that_is_used_again_is_another_communicator(void **state)
{
	uint64_t from_ns = clock_now_ns();
	struct victim victim;
	char text[64];
	(void)state;
	struct bpf_fixture *fixture = begin_one(&victim, &(struct bpf_options){0});

	order(fixture, &victim, with_id("reuse", text));
	end_one(fixture, &victim);
	check_all(fixture, from_ns, true);
	assert_int_equal(fixture->nr_communicators, 2);
	assert_int_equal(fixture->nr_collectives, 3);
	assert_true(fixture->collectives[2].collective.sequence == 1);
	assert_int_equal(fixture->collectives[2].collective.communicator_id, 2);
	bpf_fixture_destroy(fixture);
}

static void calls_that_fail_have_no_number(void **state)
{
	uint64_t from_ns = clock_now_ns();
	struct victim victim;
	char text[64];
	(void)state;
	struct bpf_fixture *fixture = begin_one(&victim, &(struct bpf_options){0});

	order(fixture, &victim, with_id("keep", text));
	order(fixture, &victim, "wrong");
	order(fixture, &victim, "split");
	end_one(fixture, &victim);
	check_all(fixture, from_ns, true);
	assert_int_equal(fixture->nr_collectives, 4);
	assert_int_equal(fixture->collectives[0].collective.result, 4);
	assert_int_equal(fixture->collectives[1].collective.communicator_id, 0);
	assert_true(fixture->collectives[2].collective.sequence == 1);
	bpf_fixture_destroy(fixture);
}

static void a_communicator_of_before_says_so(void **state)
{
	struct victim victim;
	char text[64];
	(void)state;
	begin(&victim);
	order(NULL, &victim, with_id("keep", text));
	order(NULL, &victim, "burst 5");
	uint64_t from_ns = clock_now_ns();
	struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, victim.pid);

	bpf_fixture_await_files(fixture, FILES);
	order(fixture, &victim, "burst 3");
	order(fixture, &victim, "split");
	end_one(fixture, &victim);
	check_all(fixture, from_ns, false);
	assert_int_equal(fixture->nr_collectives, 4);
	assert_int_equal(fixture->nr_communicators, 2);
	const struct communicator *kept = &fixture->communicators[0].communicator;
	assert_int_equal(kept->origin, COMMUNICATOR_MIDDLE);
	assert_true(kept->key == 0);
	assert_int_equal(kept->rank, COLLECTIVE_NOT_KNOWN);
	/* What comes of it has a number, and no key either. */
	const struct communicator *half = &fixture->communicators[1].communicator;
	assert_int_equal(half->origin, COMMUNICATOR_SPLIT);
	assert_true(half->key == 0 && half->parent_key == 0);
	assert_int_equal(half->split, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(fixture->collectives[i].collective.sequence == i + 1);
	bpf_fixture_destroy(fixture);
}

static void a_burst_is_received_or_counted_as_lost(void **state)
{
	struct victim victim;
	char text[64], burst[32];
	uint64_t last = 0;
	(void)state;
	struct bpf_fixture *fixture =
		begin_one(&victim, &(struct bpf_options){.ring_bytes = SMALL_RING});

	order(fixture, &victim, with_id("keep", text));
	snprintf(burst, sizeof(burst), "burst %u", BURST);
	order(NULL, &victim, burst);
	order(fixture, &victim, "burst 1");
	end_one(fixture, &victim);
	assert_int_equal(sum_ledger(fixture, LEDGER_COLLECTIVES), BURST + 1);
	assert_int_equal(fixture->nr_collectives + sum_ledger(fixture, LEDGER_COLLECTIVE_LOST),
			 BURST + 1);
	assert_true(sum_ledger(fixture, LEDGER_COLLECTIVE_LOST) > 0);
	assert_true(fixture->nr_collectives > 0);
	/* What is lost shifts nothing. */
	for (uint32_t i = 0; i < fixture->nr_collectives; i++) {
		assert_true(fixture->collectives[i].collective.sequence > last);
		last = fixture->collectives[i].collective.sequence;
	}
	assert_true(last <= BURST + 1);
	bpf_fixture_destroy(fixture);
}

static void empty_folder(void)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;
	char path[PATH_SIZE];

	while (directory && (entry = readdir(directory))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (*entry->d_name != '.')
			unlink(path);
	}
	if (directory)
		closedir(directory);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	empty_folder();
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_four_ranks_have_their_communicators_and_numbers),
		cmocka_unit_test(older_ways_of_the_kernel_give_the_same),
		cmocka_unit_test(ranks_of_one_process_have_one_key),
		cmocka_unit_test(communicators_that_are_made_in_a_group_are_known),
		cmocka_unit_test(a_handle_that_is_used_again_is_another_communicator),
		cmocka_unit_test(calls_that_fail_have_no_number),
		cmocka_unit_test(a_communicator_of_before_says_so),
		cmocka_unit_test(a_burst_is_received_or_counted_as_lost),
	};

	if (argc < 2)
		return 2;
	victim_path = argv[1];
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
