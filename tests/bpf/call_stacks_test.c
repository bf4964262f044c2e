/* Whole stacks of calls in processes without a guest: Python frames, and native ones without frame pointers. */
#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_fixture.h"
#include "node-agent/calls/call_links.h"
#include "victim_orders.h"

#define ROUNDS      30u
#define NR_THREADS  4u
#define FILES_BOTH  2u /* the runtime and the driver */
#define SMALL_RING  65536u
#define BURST       3000u
#define CHAIN_SIZE  8192u
#define ALL_PAGES   BPF_OPTIONS_STACK_PAGES_MAX
#define THREADS_MAX (2u * NR_THREADS)

static const char *bare_path, *runtime_path, *python_path, *script_path;
static char notes_path[] = "/tmp/flamegrid-call-notes.XXXXXX";

/* ---- captures ----------------------------------------------------------------------------------- */

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

/* A victim that has mapped CUDA, and whose calls are timed from now on. */
static struct bpf_fixture *begin(struct victim *victim, const char *path,
				 const struct bpf_options *options)
{
	if (path == python_path)
		victim_begin_with(victim, path, script_path, notes_path);
	else
		victim_begin(victim, path);
	victim_order(NULL, victim, "load %s", runtime_path);
	struct bpf_fixture *fixture = watch(options, victim->pid);

	bpf_fixture_await_files(fixture, FILES_BOTH);
	return fixture;
}

static void stop(struct bpf_fixture *fixture, struct victim *victim)
{
	victim_end(victim);
	for (int i = 0; i < 3; i++)
		bpf_fixture_pass(fixture, 1);
	bpf_fixture_stop(fixture);
	assert_string_equal(fixture->notices, "");
}

/* Returns the calls received, of all that were made. */
static uint64_t check_account(const struct bpf_fixture *fixture, uint64_t fired)
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
	return received;
}

static uint64_t count_noted(const struct bpf_fixture *fixture, enum ledger_reason reason)
{
	uint64_t count = 0;

	for (uint32_t id = 1; id <= fixture->nr_processes; id++)
		count += fixture->processes[id].ledger[reason].count;
	return count;
}

/* ---- Python's frames ---------------------------------------------------------------------------- */

/* The sample's Python frames, leaf first; *nr_native: of its other frames. */
static void chain_of(const struct bpf_fixture *fixture, const struct host_sample *sample,
		     char chain[static CHAIN_SIZE], uint32_t *nr_native)
{
	const char *frame;
	size_t used = 0;

	chain[0] = '\0';
	*nr_native = 0;
	for (int depth = 0; (frame = bpf_fixture_python(fixture, sample, depth)); depth++) {
		if (*frame == '\0') {
			++*nr_native;
			continue;
		}
		used += (size_t)snprintf(chain + used, CHAIN_SIZE - used, "%s%s", used ? " " : "",
					 frame);
		assert_true(used < CHAIN_SIZE);
	}
}

/* The next sample of the thread, from *cursor on. */
static const struct host_sample *next_of(const struct bpf_fixture *fixture, uint32_t tid,
					 uint32_t *cursor)
{
	while (*cursor < fixture->nr_samples) {
		const struct host_sample *sample = &fixture->samples[(*cursor)++].sample;

		if (sample->tid == tid)
			return sample;
	}
	return NULL;
}

struct reader {
	uint32_t tid, cursor;
};

static struct reader *reader_of(struct reader *readers, uint32_t tid)
{
	for (uint32_t i = 0; i < THREADS_MAX; i++) {
		if (readers[i].tid == 0)
			readers[i].tid = tid;
		if (readers[i].tid == tid)
			return &readers[i];
	}
	fail_msg("more threads than there are");
	return NULL;
}

/* Every call's frames are those that the script has noted, in the thread's order. Returns the number of calls. */
static uint32_t check_notes(const struct bpf_fixture *fixture, uint32_t *nr_threads)
{
	struct reader readers[THREADS_MAX] = {0};
	char noted[CHAIN_SIZE], chain[CHAIN_SIZE];
	FILE *notes = fopen(notes_path, "r");
	uint32_t nr = 0, nr_native, tid;

	assert_non_null(notes);
	while (fscanf(notes, "%u %8191[^\n]", &tid, noted) == 2) {
		const struct host_sample *sample =
			next_of(fixture, tid, &reader_of(readers, tid)->cursor);

		assert_non_null(sample);
		chain_of(fixture, sample, chain, &nr_native);
		if (strcmp(chain, noted) != 0)
			bpf_fixture_print(fixture, sample);
		assert_string_equal(chain, noted);
		assert_true(nr_native >= 1);
		nr++;
	}
	fclose(notes);
	assert_int_equal(nr, fixture->nr_samples);
	for (*nr_threads = 0; *nr_threads < THREADS_MAX && readers[*nr_threads].tid;)
		++*nr_threads;
	return nr;
}

static void check_python(const struct bpf_options *options, const char *order, uint32_t threads)
{
	struct victim victim;
	uint32_t nr_threads;
	struct bpf_fixture *fixture = begin(&victim, python_path, options);

	victim_order(fixture, &victim, "%s %u", order, ROUNDS);
	/* A child that has made its calls is there until now. */
	victim_order(fixture, &victim, "reap 0");
	stop(fixture, &victim);
	assert_int_equal(check_account(fixture, victim.calls), victim.calls);
	assert_int_equal(check_notes(fixture, &nr_threads), victim.calls);
	assert_int_equal(nr_threads, threads);
	assert_int_equal(count_noted(fixture, LEDGER_PYTHON_OFF), 0);
	bpf_fixture_destroy(fixture);
}

static void every_call_has_the_python_frames_that_made_it(void **state)
{
	(void)state;
	check_python(&(struct bpf_options){.stack_pages = ALL_PAGES}, "rounds", 1);
}

static void python_frames_need_no_copy_of_the_stack(void **state)
{
	(void)state;
	check_python(&(struct bpf_options){.stack_pages = 0}, "rounds", 1);
}

static void older_ways_of_the_kernel_have_them_too(void **state)
{
	(void)state;
	check_python(&(struct bpf_options){.stack_pages = ALL_PAGES, .call_way = CALL_LINKS_MULTI},
		     "rounds", 1);
	check_python(&(struct bpf_options){.stack_pages = ALL_PAGES, .call_way = CALL_LINKS_SINGLE},
		     "rounds", 1);
}

static void each_thread_has_its_own_frames(void **state)
{
	(void)state;
	check_python(&(struct bpf_options){.stack_pages = ALL_PAGES}, "threads", NR_THREADS);
}

static void a_forked_child_has_them_from_its_first_call_on(void **state)
{
	(void)state;
	check_python(&(struct bpf_options){.stack_pages = ALL_PAGES}, "fork", 1);
}

static void full_stacks_have_native_frames_between_pythons(void **state)
{
	const struct bpf_options options = {.stack_pages = ALL_PAGES,
					    .stack_mode = STACK_MODE_FULL};
	struct victim victim;
	uint32_t found = 0;
	struct bpf_fixture *fixture = begin(&victim, python_path, &options);

	(void)state;
	victim_order(fixture, &victim, "rounds 1");
	stop(fixture, &victim);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		const char *frame;
		int inner = -1, outer = -1;

		for (int depth = 0; (frame = bpf_fixture_python(fixture, sample, depth)); depth++) {
			if (strncmp(frame, "call_victim.py:key_of:", 22) == 0)
				inner = depth;
			if (strncmp(frame, "call_victim.py:one_round:", 25) == 0)
				outer = depth;
		}
		if (inner < 0)
			continue;
		/* By list.sort(). */
		assert_true(outer > inner + 1);
		found++;
	}
	assert_int_equal(found, 2);
	assert_int_equal(count_noted(fixture, LEDGER_STACK_MISMATCH), 0);
	bpf_fixture_destroy(fixture);
}

static void native_stacks_have_no_python_frames(void **state)
{
	const struct bpf_options options = {.stack_pages = ALL_PAGES,
					    .stack_mode = STACK_MODE_NATIVE};
	struct victim victim;
	char chain[CHAIN_SIZE];
	uint32_t nr_native;
	struct bpf_fixture *fixture = begin(&victim, python_path, &options);

	(void)state;
	victim_order(fixture, &victim, "rounds 2");
	stop(fixture, &victim);
	assert_int_equal(check_account(fixture, victim.calls), victim.calls);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		chain_of(fixture, &fixture->samples[i].sample, chain, &nr_native);
		assert_string_equal(chain, "");
		/* The interpreter's own, to its start. */
		assert_true(bpf_fixture_depth_of(fixture, &fixture->samples[i].sample, "_start") >
			    5);
	}
	bpf_fixture_destroy(fixture);
}

/* ---- native frames ------------------------------------------------------------------------------ */

static bool is_chain(const struct bpf_fixture *fixture, const struct host_sample *sample,
		     const char *first, const char *second, const char *last)
{
	return bpf_fixture_depth_of(fixture, sample, first) == 0 &&
	       bpf_fixture_depth_of(fixture, sample, second) == 1 &&
	       bpf_fixture_depth_of(fixture, sample, last) >= 2;
}

static void check_native(enum call_links_way way, const char *order, const char *root)
{
	const struct bpf_options options = {.stack_pages = ALL_PAGES, .call_way = way};
	struct victim victim;
	struct bpf_fixture *fixture = begin(&victim, bare_path, &options);
	uint32_t nr[3] = {0};

	victim_order(fixture, &victim, "%s %u", order, ROUNDS);
	stop(fixture, &victim);
	assert_int_equal(check_account(fixture, victim.calls), victim.calls);
	assert_int_equal(fixture->nr_samples, victim.calls);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		bool launch = is_chain(fixture, sample, "victim_launch", "victim_rounds", root);
		bool copy = is_chain(fixture, sample, "victim_copy", "victim_rounds", root);
		bool wait = is_chain(fixture, sample, "victim_wait", "victim_rounds", root);

		if (launch + copy + wait != 1)
			bpf_fixture_print(fixture, sample);
		assert_int_equal(launch + copy + wait, 1);
		nr[0] += launch;
		nr[1] += copy;
		nr[2] += wait;
	}
	assert_int_equal(nr[0] * 4, victim.calls);
	assert_int_equal(nr[1] * 2, victim.calls);
	assert_int_equal(nr[2] * 4, victim.calls);
	bpf_fixture_destroy(fixture);
}

static void code_without_frame_pointers_has_its_whole_chain(void **state)
{
	(void)state;
	check_native(CALL_LINKS_BEST, "rounds", "main");
	check_native(CALL_LINKS_MULTI, "rounds", "main");
	check_native(CALL_LINKS_SINGLE, "rounds", "main");
}

/* The copy skips what lies between two frame pointers. */
static void frames_of_many_kib_do_not_end_the_chain(void **state)
{
	const struct bpf_options options = {.stack_pages = ALL_PAGES};
	struct victim victim;
	struct bpf_fixture *fixture = begin(&victim, bare_path, &options);

	(void)state;
	victim_order(fixture, &victim, "large %u", ROUNDS);
	stop(fixture, &victim);
	assert_int_equal(check_account(fixture, victim.calls), ROUNDS);
	assert_int_equal(fixture->nr_samples, ROUNDS);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		if (!is_chain(fixture, sample, "victim_launch", "victim_large", "main"))
			bpf_fixture_print(fixture, sample);
		assert_true(is_chain(fixture, sample, "victim_launch", "victim_large", "main"));
		assert_int_equal(bpf_fixture_depth_of(fixture, sample, "victim_larger"), 2);
		assert_int_equal(bpf_fixture_depth_of(fixture, sample, "victim_above"), 3);
	}
	bpf_fixture_destroy(fixture);
}

static void threads_have_their_chains_to_their_own_roots(void **state)
{
	(void)state;
	check_native(CALL_LINKS_BEST, "threads", "play_thread");
}

static void without_copies_only_the_caller_is_known(void **state)
{
	struct victim victim;
	uint32_t chains = 0;
	struct bpf_fixture *fixture =
		begin(&victim, bare_path, &(struct bpf_options){.stack_pages = 0});

	(void)state;
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	stop(fixture, &victim);
	assert_int_equal(check_account(fixture, victim.calls), victim.calls);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		assert_true(bpf_fixture_depth_of(fixture, sample, "victim_launch") == 0 ||
			    bpf_fixture_depth_of(fixture, sample, "victim_copy") == 0 ||
			    bpf_fixture_depth_of(fixture, sample, "victim_wait") == 0);
		chains += bpf_fixture_depth_of(fixture, sample, "main") >= 0;
	}
	assert_int_equal(chains, 0);
	bpf_fixture_destroy(fixture);
}

/* ---- losses and ends ---------------------------------------------------------------------------- */

static void check_burst(const char *path, const char *order)
{
	const struct bpf_options options = {.stack_pages = ALL_PAGES, .ring_bytes = SMALL_RING};
	struct victim victim;
	struct bpf_fixture *fixture = begin(&victim, path, &options);

	victim_order(NULL, &victim, "%s %u", order, BURST);
	stop(fixture, &victim);
	uint64_t received = check_account(fixture, victim.calls);
	assert_in_range(received, 1, victim.calls - 1);
	bpf_fixture_destroy(fixture);
}

static void a_burst_of_large_events_is_received_or_counted_as_lost(void **state)
{
	(void)state;
	check_burst(python_path, "many");
	check_burst(bare_path, "rounds");
	check_burst(bare_path, "threads");
}

/* Nothing is read before it is gone. */
static void a_process_that_exits_at_once_is_counted_whole(void **state)
{
	const char *const paths[] = {python_path, bare_path};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const struct bpf_options options = {.stack_pages = ALL_PAGES};
		struct victim victim;
		struct bpf_fixture *fixture = begin(&victim, paths[i], &options);

		victim_order(NULL, &victim, "rounds 2");
		stop(fixture, &victim);
		assert_int_equal(check_account(fixture, victim.calls), victim.calls);
		bpf_fixture_destroy(fixture);
	}
}

/* More threads, one after the other, than have room at once. */
static void threads_that_end_leave_their_room_to_others(void **state)
{
	const struct bpf_options options = {.stack_pages = 1};
	struct victim victim;
	uint32_t whole = 0;
	struct bpf_fixture *fixture = begin(&victim, bare_path, &options);

	(void)state;
	for (int i = 0; i < 300; i++)
		victim_order(fixture, &victim, "threads 1");
	stop(fixture, &victim);
	assert_int_equal(check_account(fixture, victim.calls), victim.calls);
	for (uint32_t i = 0; i < fixture->nr_samples; i++)
		whole += bpf_fixture_depth_of(fixture, &fixture->samples[i].sample, "play_thread") >
			 0;
	assert_int_equal(whole, victim.calls);
	bpf_fixture_destroy(fixture);
}

static int make_notes(void **state)
{
	int fd = mkstemp(notes_path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_notes(void **state)
{
	(void)state;
	return unlink(notes_path);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_has_the_python_frames_that_made_it),
		cmocka_unit_test(python_frames_need_no_copy_of_the_stack),
		cmocka_unit_test(older_ways_of_the_kernel_have_them_too),
		cmocka_unit_test(each_thread_has_its_own_frames),
		cmocka_unit_test(a_forked_child_has_them_from_its_first_call_on),
		cmocka_unit_test(full_stacks_have_native_frames_between_pythons),
		cmocka_unit_test(native_stacks_have_no_python_frames),
		cmocka_unit_test(code_without_frame_pointers_has_its_whole_chain),
		cmocka_unit_test(frames_of_many_kib_do_not_end_the_chain),
		cmocka_unit_test(threads_have_their_chains_to_their_own_roots),
		cmocka_unit_test(without_copies_only_the_caller_is_known),
		cmocka_unit_test(a_burst_of_large_events_is_received_or_counted_as_lost),
		cmocka_unit_test(a_process_that_exits_at_once_is_counted_whole),
		cmocka_unit_test(threads_that_end_leave_their_room_to_others),
	};

	if (argc != 5)
		return 2;
	bare_path = argv[1];
	runtime_path = argv[2];
	python_path = argv[3];
	script_path = argv[4];
	return cmocka_run_group_tests(tests, make_notes, remove_notes);
}
