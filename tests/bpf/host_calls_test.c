#include "tests/support/cmocka_test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf_fixture.h"
#include "node-agent/calls/call_links.h"
#include "victim_orders.h"

#define ROUNDS      50u
#define NR_KINDS    4u /* of calls in a round */
#define SMALL_RING  4096u
#define BURST       3000u
#define PATH_SIZE   512
#define NR_THREADS  4u
#define FILES_BOTH  2u /* the runtime and the driver */
#define BUFFER_SIZE 65536

static const char *victim_path, *static_victim_path, *runtime_path;
static char folder[] = "/tmp/flamegrid-host-calls.XXXXXX";

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

/* Ends the capture and then the victim. */
static void stop(struct bpf_fixture *fixture, struct victim *victim)
{
	victim_end(victim);
	for (int i = 0; i < 3; i++)
		bpf_fixture_pass(fixture, 1);
	bpf_fixture_stop(fixture);
}

struct sums {
	uint64_t calls, ns;
};

/* Received calls of a function, NULL: of all; their stacks must hold `caller`, NULL: anything. */
static struct sums sum_of(const struct bpf_fixture *fixture, const char *function,
			  const char *caller)
{
	struct sums sums = {0};

	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		const char *name = bpf_fixture_text(fixture, sample->name_id);

		assert_int_equal(sample->kind, HOST_SAMPLE_CALL);
		if (function && strcmp(name, function) != 0)
			continue;
		sums.calls++;
		sums.ns += sample->duration_ns;
		if (caller && (bpf_fixture_depth_of(fixture, sample, caller) != 0 ||
			       bpf_fixture_depth_of(fixture, sample, "main") <= 0)) {
			bpf_fixture_print(fixture, sample);
			fail_msg("%s is not called by %s", name, caller);
		}
	}
	return sums;
}

static void check_account(const struct bpf_fixture *fixture, uint64_t fired)
{
	uint64_t produced = 0, lost = 0, received = 0;

	for (uint32_t id = 1; id <= fixture->nr_processes; id++) {
		const struct bpf_fixture_process *process = &fixture->processes[id];

		produced += process->ledger[LEDGER_SAMPLES].count;
		lost += process->ledger[LEDGER_SAMPLE_RING_FULL].count;
		received += process->nr_samples[HOST_SAMPLE_CALL];
		assert_int_equal(process->ledger[LEDGER_SAMPLES].ns,
				 process->ns[HOST_SAMPLE_CALL] +
					 process->ledger[LEDGER_SAMPLE_RING_FULL].ns);
	}
	assert_int_equal(produced, fired);
	assert_int_equal(received + lost, fired);
}

/* All of it was received. */
static void check_all(const struct bpf_fixture *fixture, const struct victim *victim)
{
	struct sums all = sum_of(fixture, NULL, NULL);

	assert_string_equal(fixture->notices, "");
	assert_int_equal(all.calls, victim->calls);
	check_account(fixture, victim->calls);
}

static void check_rounds(const struct bpf_fixture *fixture, uint64_t rounds)
{
	assert_int_equal(sum_of(fixture, "cudaLaunchKernel", "victim_launch").calls, rounds);
	assert_int_equal(sum_of(fixture, "cudaMemcpyAsync", "victim_copy").calls, rounds);
	assert_int_equal(sum_of(fixture, "cudaMemsetAsync", "victim_copy").calls, rounds);
	assert_int_equal(sum_of(fixture, "cudaDeviceSynchronize", "victim_wait").calls, rounds);
}

static void copy_file(const char *from, const char *to)
{
	static char bytes[BUFFER_SIZE];
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	size_t size;

	assert_non_null(in);
	assert_non_null(out);
	while ((size = fread(bytes, 1, sizeof(bytes), in)) > 0)
		assert_int_equal(fwrite(bytes, 1, size, out), size);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

/* Another file with the same runtime in it. */
static const char *copy_of_runtime(const char *name, char path[static PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "%s/%s", folder, name);
	copy_file(runtime_path, path);
	return path;
}

/* ---- tests -------------------------------------------------------------------------------------- */

static void check_way(enum call_links_way way)
{
	struct victim victim;
	victim_begin(&victim, victim_path);
	victim_order(NULL, &victim, "load %s", runtime_path);
	struct bpf_fixture *fixture = watch(&(struct bpf_options){.call_way = way}, victim.pid);

	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	stop(fixture, &victim);
	check_all(fixture, &victim);
	check_rounds(fixture, ROUNDS);
	struct sums all = sum_of(fixture, NULL, NULL);
	assert_in_range(all.ns, all.calls, victim.ns);
	bpf_fixture_destroy(fixture);
}

static void calls_are_counted_once_with_their_callers(void **state)
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

static void calls_of_the_driver_count_where_no_runtime_makes_them(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	victim_order(NULL, &victim, "load %s", runtime_path);
	struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, victim.pid);

	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "driver %u", ROUNDS);
	victim_order(fixture, &victim, "rounds 1");
	stop(fixture, &victim);
	check_all(fixture, &victim);
	check_rounds(fixture, 1);
	assert_int_equal(sum_of(fixture, "cuLaunchKernel", "victim_driver").calls, ROUNDS);
	assert_int_equal(sum_of(fixture, "cuStreamSynchronize", "victim_driver").calls, ROUNDS);
	bpf_fixture_destroy(fixture);
}

static void threads_do_not_mix(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	victim_order(NULL, &victim, "load %s", runtime_path);
	struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, victim.pid);

	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "threads %u", ROUNDS);
	stop(fixture, &victim);
	check_all(fixture, &victim);
	uint32_t tids[NR_THREADS + 1] = {0}, nr_tids = 0;
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		uint32_t j = 0;

		while (j < nr_tids && tids[j] != fixture->samples[i].sample.tid)
			j++;
		if (j == nr_tids) {
			assert_true(nr_tids < NR_THREADS);
			tids[nr_tids++] = fixture->samples[i].sample.tid;
		}
	}
	assert_int_equal(nr_tids, NR_THREADS);
	bpf_fixture_destroy(fixture);
}

static void a_runtime_that_is_loaded_late_is_found(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, victim.pid);

	bpf_fixture_await_files(fixture, 0);
	victim_order(fixture, &victim, "load %s", runtime_path);
	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	stop(fixture, &victim);
	check_all(fixture, &victim);
	bpf_fixture_destroy(fixture);
}

static void two_copies_at_once_are_both_seen(void **state)
{
	char path[PATH_SIZE];
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, victim.pid);

	victim_order(fixture, &victim, "load %s", runtime_path);
	victim_order(fixture, &victim, "load %s",
		     copy_of_runtime("libcudart-d0da41ae.so.11.0", path));
	bpf_fixture_await_files(fixture, FILES_BOTH + 1);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	victim_order(fixture, &victim, "unload");
	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	stop(fixture, &victim);
	check_all(fixture, &victim);
	check_rounds(fixture, 2 * ROUNDS);
	bpf_fixture_destroy(fixture);
}

static void a_runtime_in_the_executable_is_found(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, static_victim_path);
	victim_order(NULL, &victim, "load -");
	struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, victim.pid);

	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	stop(fixture, &victim);
	check_all(fixture, &victim);
	check_rounds(fixture, ROUNDS);
	bpf_fixture_destroy(fixture);
}

static void a_runtime_of_another_mount_namespace_is_found(void **state)
{
	char inside[PATH_SIZE], path[PATH_SIZE];
	struct victim victim;
	(void)state;
	snprintf(inside, sizeof(inside), "%s/inside", folder);
	assert_int_equal(mkdir(inside, 0700), 0);
	snprintf(inside, sizeof(inside), "%s/outside", folder);
	assert_int_equal(mkdir(inside, 0700), 0);
	copy_of_runtime("inside/libcudart.so.13", path);
	victim_begin(&victim, victim_path);
	struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, victim.pid);

	/* Where it is for the victim, there is nothing for the agent. */
	victim_order(fixture, &victim, "mount %s/inside %s/outside", folder, folder);
	victim_order(fixture, &victim, "load %s/outside/libcudart.so.13", folder);
	snprintf(path, sizeof(path), "%s/outside/libcudart.so.13", folder);
	assert_int_not_equal(access(path, F_OK), 0);
	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	/* Its files cannot be opened any more once it has ended. */
	while (sum_of(fixture, NULL, NULL).calls < victim.calls)
		bpf_fixture_pass(fixture, 1);
	bpf_fixture_await_names(fixture);
	stop(fixture, &victim);
	check_all(fixture, &victim);
	check_rounds(fixture, ROUNDS);
	bpf_fixture_destroy(fixture);
}

static void a_child_is_seen_from_its_first_call_on(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	victim_order(NULL, &victim, "load %s", runtime_path);
	struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, victim.pid);

	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "fork %u", ROUNDS);
	stop(fixture, &victim);
	check_all(fixture, &victim);
	assert_int_equal(sum_of(fixture, "cudaDeviceSynchronize", NULL).calls, ROUNDS);
	for (uint32_t i = 0; i < fixture->nr_samples; i++)
		assert_int_not_equal(fixture->processes[fixture->samples[i].process_id].pid,
				     victim.pid);
	bpf_fixture_destroy(fixture);
}

static void a_burst_is_received_or_counted_as_lost(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	victim_order(NULL, &victim, "load %s", runtime_path);
	struct bpf_fixture *fixture =
		watch(&(struct bpf_options){.ring_bytes = SMALL_RING}, victim.pid);

	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(NULL, &victim, "rounds %u", BURST / NR_KINDS);
	stop(fixture, &victim);
	struct sums all = sum_of(fixture, NULL, NULL);
	assert_true(all.calls > 0);
	assert_true(all.calls < victim.calls);
	check_account(fixture, victim.calls);
	bpf_fixture_destroy(fixture);
}

static void a_process_is_left_as_it_was(void **state)
{
	struct victim victim, other;
	(void)state;
	victim_begin(&victim, victim_path);
	victim_order(NULL, &victim, "load %s", runtime_path);
	victim_order(NULL, &victim, "rounds %u", ROUNDS);
	victim_begin(&other, victim_path);
	victim_order(NULL, &other, "load %s", runtime_path);
	for (int i = 0; i < 2; i++) {
		struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, victim.pid);

		/* It was there before, and so were its files. */
		assert_int_equal(bpf_source_probed_files(fixture->source), FILES_BOTH);
		uint64_t calls = victim_order(fixture, &victim, "rounds %u", ROUNDS);
		victim_order(fixture, &other, "rounds %u",
			     ROUNDS); /* the same files, and nobody's business */
		bpf_fixture_stop(fixture);
		victim_order(fixture, &victim, "rounds %u", ROUNDS);
		assert_int_equal(sum_of(fixture, NULL, NULL).calls, calls);
		check_account(fixture, calls);
		bpf_fixture_destroy(fixture);
	}
	victim_end(&other);
	victim_end(&victim);
}

static void probes_go_with_the_last_process(void **state)
{
	struct victim first, second;
	(void)state;
	struct bpf_fixture *fixture = watch(&(struct bpf_options){0}, getpid());
	victim_begin(&first, victim_path);
	victim_order(fixture, &first, "load %s", runtime_path);
	victim_begin(&second, victim_path);
	victim_order(fixture, &second, "load %s", runtime_path);

	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &first, "rounds %u", ROUNDS);
	victim_end(&first);
	for (int i = 0; i < 50; i++)
		bpf_fixture_pass(fixture, 10);
	assert_int_equal(bpf_source_probed_files(fixture->source), FILES_BOTH);
	victim_order(fixture, &second, "rounds %u", ROUNDS);
	victim_end(&second);
	bpf_fixture_await_files(fixture, 0);
	bpf_fixture_stop(fixture);
	assert_int_equal(sum_of(fixture, NULL, NULL).calls, first.calls + second.calls);
	check_account(fixture, first.calls + second.calls);
	bpf_fixture_destroy(fixture);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"libcudart-d0da41ae.so.11.0", "inside/libcudart.so.13",
					    "inside", "outside", ""};
	char path[PATH_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		remove(path);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_counted_once_with_their_callers),
		cmocka_unit_test(older_ways_of_the_kernel_give_the_same),
		cmocka_unit_test(calls_of_the_driver_count_where_no_runtime_makes_them),
		cmocka_unit_test(threads_do_not_mix),
		cmocka_unit_test(a_runtime_that_is_loaded_late_is_found),
		cmocka_unit_test(two_copies_at_once_are_both_seen),
		cmocka_unit_test(a_runtime_in_the_executable_is_found),
		cmocka_unit_test(a_runtime_of_another_mount_namespace_is_found),
		cmocka_unit_test(a_child_is_seen_from_its_first_call_on),
		cmocka_unit_test(a_burst_is_received_or_counted_as_lost),
		cmocka_unit_test(a_process_is_left_as_it_was),
		cmocka_unit_test(probes_go_with_the_last_process),
	};

	if (argc < 4)
		return 2;
	victim_path = argv[1];
	static_victim_path = argv[2];
	runtime_path = argv[3];
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
