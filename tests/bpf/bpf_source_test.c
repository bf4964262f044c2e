#include "tests/support/cmocka_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf_fixture.h"
#include "node-agent/files/proc_file.h"

#define MS 1000000ull

static void cpu_samples_lie_in_the_function_that_works(void **state)
{
	const struct bpf_options options = {.cpu_hz = 997};
	struct victim_report report;
	struct bpf_fixture *fixture = bpf_fixture_capture(&options, "spin", 300 * MS, &report);
	struct bpf_fixture_process *process = bpf_fixture_process(fixture, 0, "bpf_victim spin");
	uint64_t inside = 0, outside = 0;

	(void)state;
	assert_non_null(process);
	assert_int_equal(process->pid, report.pid);
	assert_int_equal(process->state, PROCESS_ENDED);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		assert_int_equal(sample->kind, HOST_SAMPLE_CPU);
		assert_int_equal(sample->duration_ns, 1000000000u / 997);
		assert_int_equal(sample->tid, report.pid);
		if (sample->time_ns < report.begin_ns || sample->time_ns > report.end_ns)
			continue; /* the loader's */
		if (bpf_fixture_depth_of(fixture, sample, "victim_spin") >= 0)
			inside++;
		else
			outside++;
		if (bpf_fixture_depth_of(fixture, sample, "victim_spin") < 0)
			bpf_fixture_print(fixture, sample);
	}
	/* A tick that comes late stands for one period all the same. */
	assert_in_range(inside, 50, (report.end_ns - report.begin_ns) / (1000000000u / 997) + 1);
	assert_true(outside * 20 <= inside);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

static void waits_are_the_time_that_a_thread_did_not_run(void **state)
{
	const struct bpf_options options = {.off_cpu_min_ns = 1};
	struct victim_report report;
	struct bpf_fixture *fixture = bpf_fixture_capture(&options, "all", 60 * MS, &report);
	uint64_t wall_ns = report.end_ns - report.begin_ns;
	uint64_t cpu_ns = report.cpu_end_ns - report.cpu_begin_ns, waited_ns = 0;

	(void)state;
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		assert_int_equal(sample->kind, HOST_SAMPLE_OFF_CPU);
		if (sample->tid == report.pid && sample->time_ns > report.begin_ns &&
		    sample->time_ns < report.end_ns)
			waited_ns += sample->duration_ns;
	}
	/* Where a virtual machine's host takes the CPU away, a thread that works neither runs nor waits. */
	assert_true(wall_ns > cpu_ns);
	assert_true(report.waited_ns >= 2 * 60 * MS);
	assert_in_range(waited_ns, report.waited_ns * 95 / 100, (wall_ns - cpu_ns) * 105 / 100);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

static bool is_queued(const struct bpf_fixture *fixture, const struct host_sample *sample)
{
	return strcmp(bpf_fixture_text(fixture, sample->name_id), "run queue") == 0;
}

/* The reason of all waits of 30 ms and more with this function in their stack; and how many there are. */
static void check_reason(struct bpf_fixture *fixture, const char *function, const char *reason,
			 uint32_t count)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		if (bpf_fixture_depth_of(fixture, sample, function) < 0 ||
		    sample->duration_ns < 30 * MS || is_queued(fixture, sample))
			continue;
		if (strcmp(bpf_fixture_text(fixture, sample->name_id), reason) != 0) {
			bpf_fixture_print(fixture, sample);
			continue;
		}
		found++;
	}
	uint64_t no_stack =
		bpf_fixture_process(fixture, 0, "")->ledger[LEDGER_SAMPLE_NO_STACK].count;
	for (uint32_t i = 0; found < count && i < fixture->nr_samples; i++)
		bpf_fixture_print(fixture, &fixture->samples[i].sample);
	assert_in_range(found + no_stack, count, count + no_stack);
}

static void each_wait_has_its_reason_and_its_place(void **state)
{
	const struct bpf_options options = {.off_cpu_min_ns = 30 * MS};
	struct victim_report report;
	struct bpf_fixture *fixture = bpf_fixture_capture(&options, "all", 60 * MS, &report);

	(void)state;
	check_reason(fixture, "victim_lock", "futex", 1);
	check_reason(fixture, "victim_read", "pipe", 1);
	check_reason(fixture, "victim_sleep", "sleep", 3); /* two of the other thread's */
	check_reason(fixture, "victim_poll", "poll", 1);
	/* The kernel's functions are inside of the program's. */
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		int inner = bpf_fixture_depth_of(fixture, sample, "hrtimer_nanosleep_[k]");
		int outer = bpf_fixture_depth_of(fixture, sample, "victim_sleep");

		assert_int_equal(inner >= 0, outer >= 0);
		assert_true(inner < outer || inner < 0);
	}
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

/* The sample of the same stack that ends where this one begins. */
static const struct host_sample *before(const struct bpf_fixture *fixture,
					const struct host_sample *sample)
{
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *other = &fixture->samples[i].sample;

		if (other->tid == sample->tid && other->stack_id == sample->stack_id &&
		    other->time_ns == sample->time_ns - sample->duration_ns)
			return other;
	}
	return NULL;
}

static void a_thread_that_is_awake_without_a_cpu_does_not_sleep(void **state)
{
	const struct bpf_options options = {.off_cpu_min_ns = 1};
	struct victim_report report;
	struct bpf_fixture *fixture = bpf_fixture_capture(&options, "queue", 60 * MS, &report);
	const struct host_sample *longest = NULL, *sleep;

	(void)state;
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		if (sample->tid == report.pid && is_queued(fixture, sample) &&
		    (!longest || sample->duration_ns > longest->duration_ns))
			longest = sample;
	}
	/* It sleeps for 60 ms, and the other one works for 120 that begin meanwhile. */
	assert_non_null(longest);
	assert_true(longest->duration_ns >= 50 * MS);
	assert_true(bpf_fixture_depth_of(fixture, longest, "victim_sleep") >= 0);
	sleep = before(fixture, longest);
	assert_non_null(sleep);
	assert_string_equal(bpf_fixture_text(fixture, sleep->name_id), "sleep");
	assert_true(sleep->duration_ns >= 59 * MS);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

static void waits_below_the_minimum_are_counted_only(void **state)
{
	const struct bpf_options options = {.off_cpu_min_ns = 3600000 * MS};
	struct victim_report report;
	struct bpf_fixture *fixture = bpf_fixture_capture(&options, "burst", 500, &report);
	struct bpf_fixture_process *process = bpf_fixture_process(fixture, 0, "");

	(void)state;
	assert_int_equal(fixture->nr_samples, 0);
	assert_int_equal(fixture->nr_processes, 1);
	assert_true(process->ledger[LEDGER_WAIT_SHORT].count >= 450);
	assert_in_range(process->ledger[LEDGER_WAIT_SHORT].ns, 450 * 50000,
			report.end_ns - report.begin_ns + 60000 * MS);
	assert_int_equal(process->state, PROCESS_ENDED);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

static void what_has_no_room_is_counted(void **state)
{
	const struct bpf_options options = {.off_cpu_min_ns = 1, .ring_bytes = 4096};
	struct bpf_options mine = options;
	uint64_t produced = 0, lost = 0;

	(void)state;
	mine.watch_pid = getpid();
	struct bpf_fixture *fixture = bpf_fixture_create_loaded(&mine);
	pid_t pid = bpf_fixture_start(fixture, "burst", 5000);
	fixture->no_room = true;
	bpf_fixture_release(fixture);
	bpf_fixture_await(fixture, pid);
	fixture->no_room = false;
	bpf_fixture_stop(fixture);
	for (uint32_t id = 1; id <= fixture->nr_processes; id++) {
		produced += fixture->processes[id].ledger[LEDGER_SAMPLES].count;
		lost += fixture->processes[id].ledger[LEDGER_SAMPLE_RING_FULL].count;
	}
	/* The kernel has counted each of them on its own. */
	assert_true(produced >= 4000);
	assert_int_equal(produced, fixture->nr_samples + lost);
	assert_in_range(fixture->nr_samples, 1, 100);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

static void every_thread_is_seen(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499};
	struct victim_report report;
	struct bpf_fixture *fixture = bpf_fixture_capture(&options, "threads", 100 * MS, &report);
	uint32_t tids[16], nr_tids = 0;

	(void)state;
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		uint32_t at = 0;

		if (bpf_fixture_depth_of(fixture, sample, "play_spinner") < 0)
			continue;
		assert_true(sample->tid != report.pid);
		while (at < nr_tids && tids[at] != sample->tid)
			at++;
		assert_true(at < 16);
		tids[at] = sample->tid;
		nr_tids += at == nr_tids;
	}
	assert_int_equal(nr_tids, 3);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

/* CPU samples of processes that did what they are called. */
static uint32_t count_working(const struct bpf_fixture *fixture, const char *command)
{
	uint32_t found = 0;

	for (uint32_t id = 1; id <= fixture->nr_processes; id++) {
		const struct bpf_fixture_process *process = &fixture->processes[id];
		uint32_t inside = 0;

		assert_int_equal(process->state, PROCESS_ENDED);
		for (uint32_t i = 0; i < fixture->nr_samples; i++)
			inside += fixture->samples[i].process_id == id &&
				  bpf_fixture_depth_of(fixture, &fixture->samples[i].sample,
						       "victim_spin") >= 0;
		found += inside >= 10 && strstr(process->command, command);
	}
	return found;
}

static void processes_that_are_started_meanwhile_are_watched(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499, .off_cpu_min_ns = MS};
	struct victim_report report;
	struct bpf_fixture *fixture = bpf_fixture_capture(&options, "children", 150 * MS, &report);
	uint64_t short_waits = 0;

	(void)state;
	/* The child without exec; the one with it, which becomes what it then calls. */
	assert_int_equal(count_working(fixture, "bpf_victim children"), 1);
	assert_int_equal(count_working(fixture, " spin "), 1);
	for (uint32_t id = 1; id <= fixture->nr_processes; id++)
		short_waits += fixture->processes[id].ledger[LEDGER_WAIT_SHORT].count;
	assert_true(short_waits >= 1);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

static void a_process_from_before_is_watched_on_request(void **state)
{
	struct bpf_options options = {.cpu_hz = 499};

	(void)state;
	pid_t pid = bpf_fixture_start(NULL, "children", 100 * MS);
	options.watch_pid = pid;
	struct bpf_fixture *fixture = bpf_fixture_create_loaded(&options);
	bpf_fixture_release(fixture);
	bpf_fixture_await(fixture, pid);
	bpf_fixture_stop(fixture);
	assert_int_equal(count_working(fixture, " spin "), 1);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

static void nobody_else_is_watched(void **state)
{
	struct bpf_options options = {.cpu_hz = 499, .off_cpu_min_ns = 1};

	(void)state;
	options.watch_pid = getpid();
	pid_t pid = bpf_fixture_start(NULL, "spin", 50 * MS);
	struct bpf_fixture *fixture = bpf_fixture_create_loaded(&options);
	bpf_fixture_release(fixture);
	bpf_fixture_await(fixture, pid);
	bpf_fixture_stop(fixture);
	assert_int_equal(fixture->nr_samples, 0);
	assert_int_equal(fixture->nr_processes, 0);
	bpf_fixture_destroy(fixture);
}

/* It stands in read(). descriptor: "" is any. */
static bool reads_from(pid_t pid, const char *descriptor)
{
	char *text = NULL, call[32];
	size_t size;

	snprintf(call, sizeof(call), "0 0x%s", descriptor);
	bool is = proc_file_read(pid, "syscall", 256, &text, &size) == 0 &&
		  strncmp(text, call, strlen(call)) == 0;

	free(text);
	return is;
}

static void a_wait_that_does_not_end_is_closed_with_the_capture(void **state)
{
	const struct bpf_options options = {.off_cpu_min_ns = MS, .watch_pid = getpid()};
	int input[2], output = dup(STDIN_FILENO), status;
	const struct host_sample *last = NULL;

	(void)state;
	assert_int_equal(pipe(input), 0);
	dup2(input[0], STDIN_FILENO);
	struct bpf_fixture *fixture = bpf_fixture_create_loaded(&options);
	pid_t pid = bpf_fixture_start(fixture, "read", 0);
	dup2(output, STDIN_FILENO);
	bpf_fixture_release(fixture);
	while (!reads_from(pid, "0 "))
		bpf_fixture_pass(fixture, 1);
	for (int i = 0; i < 5; i++)
		bpf_fixture_pass(fixture, 10);
	bpf_fixture_stop(fixture);
	for (uint32_t i = 0; i < fixture->nr_samples; i++)
		if (bpf_fixture_depth_of(fixture, &fixture->samples[i].sample, "victim_read") >= 0)
			last = &fixture->samples[i].sample;
	assert_non_null(last);
	assert_string_equal(bpf_fixture_text(fixture, last->name_id), "pipe");
	assert_true(last->duration_ns >= 10 * MS);
	/* It runs on, and was not said to have ended. */
	assert_int_equal(bpf_fixture_process(fixture, pid, NULL)->state, PROCESS_RUNNING);
	bpf_fixture_check_accounts(fixture);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(input[0]);
	close(input[1]);
	close(output);
	bpf_fixture_destroy(fixture);
}

static const char *usual_victim, *bare_victim, *static_victim;

/* How many samples have all of main, victim_all and the function, in this order. */
static uint32_t count_whole(const struct bpf_fixture *fixture, const char *function)
{
	uint32_t whole = 0;

	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		int inner = bpf_fixture_depth_of(fixture, sample, function);
		int middle = bpf_fixture_depth_of(fixture, sample, "victim_all");

		whole += inner >= 0 && middle > inner &&
			 bpf_fixture_depth_of(fixture, sample, "main") > middle &&
			 bpf_fixture_depth_of(fixture, sample, "_start") > middle;
	}
	return whole;
}

static void copies_of_stacks_need_no_frame_pointers(void **state)
{
	struct bpf_options options = {.cpu_hz = 499, .off_cpu_min_ns = 30 * MS, .stack_pages = 4};
	struct victim_report report;

	(void)state;
	bpf_fixture_victim(bare_victim);
	struct bpf_fixture *fixture = bpf_fixture_capture(&options, "all", 60 * MS, &report);
	assert_in_range(count_whole(fixture, "victim_spin"), 30, 200);
	assert_in_range(count_whole(fixture, "victim_lock"), 1, 4);
	assert_in_range(count_whole(fixture, "victim_read"), 1, 4);
	assert_in_range(count_whole(fixture, "victim_sleep"), 1, 4);
	assert_in_range(count_whole(fixture, "victim_poll"), 1, 4);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
	bpf_fixture_victim(usual_victim);
}

/* Runs a victim that keeps no frame pointers; all samples of what it does lead from the function to _start. */
static void check_roots(const char *victim, const char *what, const char *function)
{
	const struct bpf_options options = {.cpu_hz = 499, .stack_pages = 4};
	struct victim_report report;
	uint32_t rooted = 0, others = 0;

	bpf_fixture_victim(victim);
	struct bpf_fixture *fixture = bpf_fixture_capture(&options, what, 150 * MS, &report);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		int inner = bpf_fixture_depth_of(fixture, sample, function);
		int root = bpf_fixture_depth_of(fixture, sample, "_start");

		if (sample->time_ns < report.begin_ns || sample->time_ns > report.end_ns)
			continue; /* the loader's */
		if (inner >= 0 && bpf_fixture_depth_of(fixture, sample, "main") > inner &&
		    root > inner)
			rooted++;
		else if (root < 0 && ++others)
			bpf_fixture_print(fixture, sample);
	}
	assert_int_equal(others, 0);
	assert_in_range(rooted, 30, 200);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
	bpf_fixture_victim(usual_victim);
}

static void the_kernels_code_in_a_process_has_callers(void **state)
{
	(void)state;
	check_roots(bare_victim, "clock", "victim_clock");
}

static void a_static_program_has_callers(void **state)
{
	(void)state;
	if (static_victim)
		check_roots(static_victim, "spin", "victim_spin");
}

static bool has_come(const struct bpf_fixture *fixture, const char *function)
{
	uint32_t i = 0;

	while (i < fixture->nr_samples &&
	       bpf_fixture_depth_of(fixture, &fixture->samples[i].sample, function) < 0)
		i++;
	return i < fixture->nr_samples;
}

/* Runs a victim to its end without a pass once the first sample of its work has come; the others wait in the
 * kernel's buffer. */
static struct bpf_fixture *leave_unread(const struct bpf_options *options, pid_t *pid)
{
	struct bpf_fixture *fixture = bpf_fixture_create_loaded(options);
	siginfo_t info;

	*pid = bpf_fixture_start(fixture, "spin", 400 * MS);
	bpf_fixture_release(fixture);
	while (!has_come(fixture, "victim_spin"))
		bpf_fixture_pass(fixture, 1);
	assert_int_equal(waitid(P_PID, (id_t)*pid, &info, WEXITED | WNOWAIT), 0);
	return fixture;
}

static void a_pass_ends_when_its_time_is_up_and_the_next_goes_on(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499, .watch_pid = getpid()};
	struct bpf_fixture *fixture;
	uint32_t full = 0, before;
	pid_t pid;

	(void)state;
	fixture = leave_unread(&options, &pid);
	bpf_fixture_step_clock(MS); /* the time of a sample */
	do {
		before = fixture->nr_samples;
		bpf_fixture_pass(fixture, 0);
		assert_true(fixture->nr_samples - before <= BPF_SOURCE_PASS_NS / MS);
		full += fixture->nr_samples - before == BPF_SOURCE_PASS_NS / MS;
	} while (fixture->nr_samples > before);
	assert_in_range(full, 3, 80);
	bpf_fixture_step_clock(0);
	bpf_fixture_await(fixture, pid);
	bpf_fixture_stop(fixture);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

static void in_a_crowded_buffer_stacks_are_their_leaf(void **state)
{
	const struct bpf_options options = {
		.cpu_hz = 499, .stack_pages = 4, .ring_bytes = 1u << 17, .watch_pid = getpid()};
	uint32_t whole = 0, leaves = 0;
	struct bpf_fixture *fixture;
	pid_t pid;

	(void)state;
	fixture = leave_unread(&options, &pid);
	uint32_t first = fixture->nr_samples;
	bpf_fixture_await(fixture, pid);
	bpf_fixture_stop(fixture);
	for (uint32_t i = first; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		bool has_root = bpf_fixture_depth_of(fixture, sample, "_start") >= 0;

		if (bpf_fixture_depth_of(fixture, sample, "victim_spin") < 0)
			continue; /* on its way there */
		whole += has_root;
		leaves += !has_root;
	}
	const struct bpf_fixture_process *process =
		bpf_fixture_process(fixture, pid, "bpf_victim spin");
	assert_non_null(process);
	assert_true(process->ledger[LEDGER_SAMPLE_RING_FULL].count > 0);
	assert_true(process->ledger[LEDGER_STACK_HURRIED].count >= leaves);
	assert_true(leaves > 0);
	assert_true(whole > leaves);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

/* All of its samples are read when it is gone. */
static void a_program_is_known_before_its_first_sample(void **state)
{
	const struct bpf_options options = {.cpu_hz = 97, .watch_pid = getpid()};
	struct bpf_fixture *fixture = bpf_fixture_create_loaded(&options);
	pid_t pid = bpf_fixture_start(fixture, "spin", 300 * MS);
	uint32_t inside = 0;
	siginfo_t info;

	(void)state;
	while (!reads_from(pid, ""))
		bpf_fixture_pass(fixture, 1);
	bpf_fixture_pass(fixture, 0);
	bpf_fixture_release(fixture);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	struct victim_report report = bpf_fixture_await(fixture, pid);
	bpf_fixture_stop(fixture);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		if (sample->time_ns < report.begin_ns || sample->time_ns > report.end_ns)
			continue; /* the loader's */
		assert_true(bpf_fixture_depth_of(fixture, sample, "victim_spin") >= 0);
		inside++;
	}
	assert_in_range(inside, 8, 40);
	bpf_fixture_check_accounts(fixture);
	bpf_fixture_destroy(fixture);
}

static void nothing_asked_for_is_nothing_done(void **state)
{
	const struct bpf_options options = {.watch_pid = getpid()};
	struct bpf_fixture *fixture = bpf_fixture_create(&options);

	(void)state;
	assert_null(fixture->source);
	assert_string_equal(fixture->notices, "");
	bpf_fixture_destroy(fixture);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_samples_lie_in_the_function_that_works),
		cmocka_unit_test(waits_are_the_time_that_a_thread_did_not_run),
		cmocka_unit_test(each_wait_has_its_reason_and_its_place),
		cmocka_unit_test(a_thread_that_is_awake_without_a_cpu_does_not_sleep),
		cmocka_unit_test(waits_below_the_minimum_are_counted_only),
		cmocka_unit_test(what_has_no_room_is_counted),
		cmocka_unit_test(every_thread_is_seen),
		cmocka_unit_test(processes_that_are_started_meanwhile_are_watched),
		cmocka_unit_test(a_process_from_before_is_watched_on_request),
		cmocka_unit_test(nobody_else_is_watched),
		cmocka_unit_test(a_wait_that_does_not_end_is_closed_with_the_capture),
		cmocka_unit_test(copies_of_stacks_need_no_frame_pointers),
		cmocka_unit_test(the_kernels_code_in_a_process_has_callers),
		cmocka_unit_test(a_static_program_has_callers),
		cmocka_unit_test(a_pass_ends_when_its_time_is_up_and_the_next_goes_on),
		cmocka_unit_test(in_a_crowded_buffer_stacks_are_their_leaf),
		cmocka_unit_test(a_program_is_known_before_its_first_sample),
		cmocka_unit_test(nothing_asked_for_is_nothing_done),
	};

	if (argc < 3)
		return 2;
	usual_victim = argv[1];
	bare_victim = argv[2];
	static_victim = argc > 3 ? argv[3] : NULL;
	bpf_fixture_victim(usual_victim);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
