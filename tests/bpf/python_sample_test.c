#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_fixture.h"
#include "kernel_map.h"

#define MS 1000000ull

static const char *python_path, *script_path, *made_path, *made_folder;
static char lines[1 << 16]; /* the script */

/* The line on which the script has this text, which it has once. */
static unsigned line_of(const char *text)
{
	const char *found = strstr(lines, text);
	unsigned line = 1;

	assert_non_null(found);
	assert_null(strstr(found + 1, text));
	for (const char *c = lines; c < found; c++)
		line += *c == '\n';
	return line;
}

/* Until the agent has found the interpreter, however long it waits for a processor. What the process does before then
 * has no frames. */
static void await_interpreter(struct bpf_fixture *fixture, pid_t pid)
{
	int pythons = kernel_map_find("pythons");

	while (!kernel_map_has(pythons, (uint32_t)pid))
		bpf_fixture_pass(fixture, 1);
}

/* A script is an interpreter's before it begins; a program may come to be one later. */
static struct bpf_fixture *capture(const struct bpf_options *options, bool is_script,
				   const char *what, uint64_t amount, struct victim_report *report)
{
	struct bpf_options mine = *options;

	mine.watch_pid = getpid();
	mine.stack_pages = BPF_OPTIONS_STACK_PAGES_MAX;
	struct bpf_fixture *fixture = bpf_fixture_create(&mine);
	if (!fixture->source)
		fail_msg("BPF is needed here: %s", fixture->notices);
	pid_t pid = bpf_fixture_start(fixture, what, amount);
	if (is_script && options->stack_mode != STACK_MODE_NATIVE)
		await_interpreter(fixture, pid);
	bpf_fixture_release(fixture);
	*report = bpf_fixture_await(fixture, pid);
	bpf_fixture_stop(fixture);
	return fixture;
}

static struct bpf_fixture *capture_script(const struct bpf_options *options, const char *what,
					  uint64_t amount, struct victim_report *report)
{
	bpf_fixture_victim(python_path);
	bpf_fixture_script(script_path);
	struct bpf_fixture *fixture = capture(options, true, what, amount, report);
	assert_string_equal(fixture->notices, "");
	return fixture;
}

/* How deep the function of the script is, at any of its lines; -1: it is not there. */
static int find_function(const struct bpf_fixture *fixture, const struct host_sample *sample,
			 const char *function)
{
	char prefix[128];
	const char *frame;

	snprintf(prefix, sizeof(prefix), "python_victim.py:%s:", function);
	for (int depth = 0; (frame = bpf_fixture_python(fixture, sample, depth)); depth++)
		if (strncmp(frame, prefix, strlen(prefix)) == 0)
			return depth;
	return -1;
}

/* The frame so many frames from the leaf is this one, at this line. */
static bool is_frame(const struct bpf_fixture *fixture, const struct host_sample *sample, int depth,
		     const char *function, unsigned line)
{
	char wanted[128];
	const char *frame = bpf_fixture_python(fixture, sample, depth);

	snprintf(wanted, sizeof(wanted), "python_victim.py:%s:%u", function, line);
	return frame && strcmp(frame, wanted) == 0;
}

/* The part of a wait in which the thread was awake. */
static bool is_queued(const struct bpf_fixture *fixture, const struct host_sample *sample)
{
	return strcmp(bpf_fixture_text(fixture, sample->name_id), "run queue") == 0;
}

static bool in_report(const struct host_sample *sample, const struct victim_report *report)
{
	return sample->time_ns > report->begin_ns && sample->time_ns < report->end_ns;
}

/* Nearly all samples of the main thread's part have these callers, innermost first; what is between two functions is on
 * the native stack. Lines 0: any. A sample in ten may lie before or behind the first function's own work. */
struct caller {
	const char *function;
	unsigned line;
};

static void check_callers(const struct bpf_fixture *fixture, const struct victim_report *report,
			  const struct caller *callers, uint32_t nr, bool native_between)
{
	uint32_t right = 0, all = 0;

	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		bool fits = true;
		int depth = -1;

		if (sample->tid != report->pid || !in_report(sample, report))
			continue;
		for (uint32_t c = 0; c < nr && fits; c++) {
			int next = find_function(fixture, sample, callers[c].function);

			fits = next > depth && (c == 0 || native_between || next == depth + 1) &&
			       (!callers[c].line || is_frame(fixture, sample, next,
							     callers[c].function, callers[c].line));
			depth = next;
		}
		/* Outermost: there is nothing outside of the module. */
		fits &= native_between || !bpf_fixture_python(fixture, sample, depth + 1);
		/* The first may come before the agent has looked, which may be late. */
		if (!fits && right == 0)
			continue;
		all++;
		right += fits;
		if (!fits)
			bpf_fixture_print(fixture, sample);
	}
	assert_true(all >= 20);
	assert_true(right * 10 >= all * 9);
}

static void samples_lie_under_their_python_callers_with_their_lines(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499};
	const struct caller callers[] = {
		{"spin", 0},
		{"middle", line_of("return spin(seconds)\n\n\ndef generate")},
		{"outer", line_of("return middle(seconds)")},
		{"main", line_of("PARTS[what](seconds)")},
		{"<module>", line_of("\n    main()") + 1},
	};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, "outer", 300 * MS, &report);
	unsigned first = line_of("while time.thread_time() < end:\n        for"), inside = 0,
		 all = 0;

	(void)state;
	check_callers(fixture, &report, callers, 5, false);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		int depth = find_function(fixture, sample, "spin");

		if (depth < 0)
			continue;
		all++;
		for (unsigned line = first; line < first + 3; line++)
			inside += is_frame(fixture, sample, depth, "spin", line);
	}
	assert_true(inside * 10 >= all * 9);
	bpf_fixture_destroy(fixture);
}

static void waits_lie_under_the_python_function_that_waits(void **state)
{
	const struct bpf_options options = {.off_cpu_min_ns = 30 * MS};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, "nap", 40 * MS, &report);
	uint32_t found = 0;

	(void)state;
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		int depth = find_function(fixture, sample, "nap");

		if (depth < 0 || is_queued(fixture, sample))
			continue;
		assert_int_equal(sample->kind, HOST_SAMPLE_OFF_CPU);
		assert_true(is_frame(fixture, sample, depth, "nap", line_of("# naps")));
		assert_true(
			is_frame(fixture, sample, depth + 1, "naps", line_of("# twenty times")));
		assert_string_equal(bpf_fixture_text(fixture, sample->name_id), "sleep");
		found++;
	}
	/* When its first waits began, the agent did not know the process yet. */
	assert_in_range(found, 10, 20);
	bpf_fixture_destroy(fixture);
}

/* How many frames of the sample are of this function. */
static uint32_t count_function(const struct bpf_fixture *fixture, const struct host_sample *sample,
			       const char *function)
{
	char prefix[128];
	const char *frame;
	uint32_t nr = 0;

	snprintf(prefix, sizeof(prefix), "python_victim.py:%s:", function);
	for (int depth = 0; (frame = bpf_fixture_python(fixture, sample, depth)); depth++)
		nr += strncmp(frame, prefix, strlen(prefix)) == 0;
	return nr;
}

/* Runs a part of the script that calls deep() many times, of which each sample has min to max. Whether the samples are
 * whole. */
static void check_deep(const char *what, uint32_t min, uint32_t max, bool whole)
{
	const struct bpf_options options = {.cpu_hz = 499};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, what, 300 * MS, &report);
	uint32_t found = 0;

	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		if (find_function(fixture, sample, "spin") < 0)
			continue;
		assert_in_range(count_function(fixture, sample, "deep"), min, max);
		assert_int_equal(find_function(fixture, sample, "<module>") >= 0, whole);
		assert_int_equal(bpf_fixture_depth_of(fixture, sample, "[stack truncated]") < 0,
				 whole);
		found++;
	}
	assert_true(found >= 20);
	uint64_t truncated = bpf_fixture_process(fixture, (pid_t)report.pid, NULL)
				     ->ledger[LEDGER_STACK_TRUNCATED]
				     .count;
	assert_true(whole ? truncated == 0 : truncated >= found);
	bpf_fixture_destroy(fixture);
}

static void two_hundred_frames_are_whole(void **state)
{
	(void)state;
	check_deep("deep", 200, 200, true);
}

static void of_three_hundred_frames_those_nearest_to_the_leaf_are_kept(void **state)
{
	(void)state;
	check_deep("too deep", 248, 255, false); /* of 256, one is of what it calls */
}

static void generators_stand_between_their_callers(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499};
	const struct caller callers[] = {{"spin", 0},
					 {"generate", line_of("yield spin(seconds)")},
					 {"consume", line_of("return sum(generate(seconds))")},
					 {"main", 0},
					 {"<module>", 0}};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, "generator", 100 * MS, &report);

	(void)state;
	check_callers(fixture, &report, callers, 5, false);
	bpf_fixture_destroy(fixture);
}

static void calls_through_c_keep_their_callers(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499};
	const struct caller callers[] = {{"spin", 0},
					 {"key_of", 0},
					 {"through_c", line_of("return sorted(")},
					 {"main", 0},
					 {"<module>", 0}};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, "c", 300 * MS, &report);

	(void)state;
	check_callers(fixture, &report, callers, 5, false);
	bpf_fixture_destroy(fixture);
}

static void full_stacks_have_the_native_frames_between(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499, .stack_mode = STACK_MODE_FULL};
	const struct caller callers[] = {
		{"spin", 0}, {"key_of", 0}, {"through_c", 0}, {"main", 0}, {"<module>", 0}};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, "c", 300 * MS, &report);
	uint32_t between = 0, all = 0, differ = 0;

	(void)state;
	check_callers(fixture, &report, callers, 5, true);
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		int inner = find_function(fixture, sample, "key_of");
		int outer = find_function(fixture, sample, "through_c");

		if (inner < 0)
			continue;
		all++;
		between += outer > inner + 1;
		differ += bpf_fixture_depth_of(fixture, sample,
					       "[native and Python frames differ]") >= 0;
	}
	assert_true(all >= 20);
	assert_true(between * 10 >= all * 9);
	assert_true(differ * 20 <= all);
	bpf_fixture_destroy(fixture);
}

static void each_thread_has_its_own_frames(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499, .off_cpu_min_ns = 50 * MS};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, "threads", 200 * MS, &report);
	uint32_t spins = 0, naps = 0, joins = 0;

	(void)state;
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		int spin = find_function(fixture, sample, "spin");

		if (sample->tid == report.pid) {
			assert_int_equal(find_function(fixture, sample, "thread_spin"), -1);
			assert_int_equal(find_function(fixture, sample, "thread_nap"), -1);
			joins += find_function(fixture, sample, "with_threads") >= 0 &&
				 sample->kind == HOST_SAMPLE_OFF_CPU;
		} else if (spin >= 0) {
			assert_int_equal(find_function(fixture, sample, "thread_spin"), spin + 1);
			spins += sample->kind == HOST_SAMPLE_CPU;
		} else {
			naps += find_function(fixture, sample, "thread_nap") >= 0 &&
				sample->kind == HOST_SAMPLE_OFF_CPU && !is_queued(fixture, sample);
		}
	}
	assert_true(spins >= 20);
	assert_int_equal(naps, 1);
	assert_true(joins >= 1);
	bpf_fixture_destroy(fixture);
}

/* Workers have no guest; a forked one has its parent's interpreter. */
static void check_worker(const char *how)
{
	const struct bpf_options options = {.cpu_hz = 499};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, how, 200 * MS, &report);
	uint32_t found = 0;

	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		int depth = find_function(fixture, sample, "worker");

		if (depth < 0)
			continue;
		assert_int_not_equal(fixture->processes[fixture->samples[i].process_id].pid,
				     report.pid);
		found += find_function(fixture, sample, "spin") >= 0;
	}
	assert_true(found >= 20);
	bpf_fixture_destroy(fixture);
}

static void forked_workers_have_frames(void **state)
{
	(void)state;
	check_worker("fork");
}

static void spawned_workers_have_frames(void **state)
{
	(void)state;
	check_worker("spawn");
}

/* Code that is made and freed all the time, at the same addresses: it has its own name or none. */
static void code_at_old_addresses_has_its_own_names(void **state)
{
	const struct bpf_options options = {.cpu_hz = 997};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, "remake", 300 * MS, &report);
	uint32_t named = 0;

	(void)state;
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		const char *frame;
		unsigned name = 0, line = 0, inner = 99;

		for (int depth = 0; (frame = bpf_fixture_python(fixture, sample, depth)); depth++) {
			if (sscanf(frame, "made.py:made_%u:%u", &name, &line) == 2) {
				/*
				 * def is on line number + 2, so its body on the next. The first
				 * instruction of a function has the line of its def.
				 */
				assert_true(line == name + 3 || (depth == 0 && line == name + 2));
				inner = name;
				named++;
			} else if (inner != 99 &&
				   sscanf(frame, "made.py:<module>:%u", &line) == 1) {
				assert_int_equal(line, inner + 4);
				inner = 99;
			}
		}
	}
	assert_true(named >= 20);
	bpf_fixture_destroy(fixture);
}

static void without_python_frames_there_are_none(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499, .stack_mode = STACK_MODE_NATIVE};
	struct victim_report report;
	struct bpf_fixture *fixture = capture_script(&options, "spin", 100 * MS, &report);

	(void)state;
	assert_true(fixture->nr_samples >= 20);
	for (uint32_t i = 0; i < fixture->nr_samples; i++)
		assert_int_equal(find_function(fixture, &fixture->samples[i].sample, "spin"), -1);
	bpf_fixture_destroy(fixture);
}

/* ---- interpreters that only look like one -------------------------------------------------------- */

static struct bpf_fixture *capture_made(unsigned named, unsigned threads, unsigned frames,
					struct victim_report *report)
{
	const struct bpf_options options = {.cpu_hz = 997};
	char what[4096];

	bpf_fixture_victim(made_path);
	bpf_fixture_script(NULL);
	snprintf(what, sizeof(what), "%s/libpython3.%u-made.so,%u,%u", made_folder, named, threads,
		 frames);
	return capture(&options, false, what, 200 * MS, report);
}

static bool has_leaf_and_root(const struct bpf_fixture *fixture, const struct host_sample *sample,
			      int depth, unsigned minor)
{
	const char *leaf = minor >= 11 ? "made.py:leaf:104" : "made.py:leaf:";
	const char *root = minor >= 11 ? "made.py:root:204" : "made.py:root:";
	const char *frame = bpf_fixture_python(fixture, sample, depth + 1);

	if (!frame || strncmp(frame, leaf, strlen(leaf)) != 0)
		return false;
	frame = bpf_fixture_python(fixture, sample, depth + 2);
	return frame && strncmp(frame, root, strlen(root)) == 0 &&
	       !bpf_fixture_python(fixture, sample, depth + 3);
}

static void every_version_is_read_while_it_runs_and_not_before_or_after(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		struct victim_report report;
		struct bpf_fixture *fixture = capture_made(minor, minor, minor, &report);
		uint32_t inside = 0, all = 0, outside = 0;

		for (uint32_t i = 0; i < fixture->nr_samples; i++) {
			const struct host_sample *sample = &fixture->samples[i].sample;
			int depth = bpf_fixture_depth_of(fixture, sample, "made_inside");
			const char *frame;
			bool has_python = false;

			for (int d = 0; (frame = bpf_fixture_python(fixture, sample, d)); d++)
				has_python |= *frame != '\0';
			if (bpf_fixture_depth_of(fixture, sample, "made_outside") >= 0) {
				assert_false(has_python);
				outside++;
			}
			if (depth < 0 || !in_report(sample, &report))
				continue;
			inside += has_leaf_and_root(fixture, sample, depth, minor);
			all++;
		}
		/* The first may come before the agent has looked, which may be late. */
		if (inside < 20 || outside < 20)
			fail_msg("3.%u: %u of %u inside, %u outside; %s", minor, inside, all,
				 outside, fixture->notices);
		uint64_t unread = bpf_fixture_process(fixture, (pid_t)report.pid, NULL)
					  ->ledger[LEDGER_PYTHON_OFF]
					  .count;
		if (unread)
			fail_msg("3.%u: %u of %u inside, %u outside, %u unread", minor, inside, all,
				 outside, (unsigned)unread);
		assert_string_equal(fixture->notices, "");
		bpf_fixture_destroy(fixture);
	}
}

/* named: what its file says it is. */
static void check_wrong(unsigned named, unsigned threads, unsigned frames, const char *notice)
{
	struct victim_report report;
	struct bpf_fixture *fixture = capture_made(named, threads, frames, &report);
	uint32_t inside = 0;

	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;
		const char *frame;

		inside += bpf_fixture_depth_of(fixture, sample, "made_inside") >= 0;
		for (int d = 0; (frame = bpf_fixture_python(fixture, sample, d)); d++)
			assert_string_equal(frame, "");
	}
	assert_true(inside >= 20);
	assert_in_range(bpf_fixture_process(fixture, (pid_t)report.pid, NULL)
				->ledger[LEDGER_PYTHON_OFF]
				.count,
			20, fixture->nr_samples);
	assert_non_null(strstr(fixture->notices, notice));
	bpf_fixture_destroy(fixture);
}

static void frames_that_make_no_sense_are_none_and_counted(void **state)
{
	(void)state;
	check_wrong(12, 12, 0, "its frames are not where they should be");
	check_wrong(9, 9, 0, "its frames are not where they should be");
}

static void offsets_of_another_version_are_refused_and_counted(void **state)
{
	(void)state;
	check_wrong(13, 14, 14, "its _PyRuntime is not that of this version");
	check_wrong(13, 12, 12, "its _PyRuntime is not that of this version");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_lie_under_their_python_callers_with_their_lines),
		cmocka_unit_test(waits_lie_under_the_python_function_that_waits),
		cmocka_unit_test(two_hundred_frames_are_whole),
		cmocka_unit_test(of_three_hundred_frames_those_nearest_to_the_leaf_are_kept),
		cmocka_unit_test(generators_stand_between_their_callers),
		cmocka_unit_test(calls_through_c_keep_their_callers),
		cmocka_unit_test(full_stacks_have_the_native_frames_between),
		cmocka_unit_test(each_thread_has_its_own_frames),
		cmocka_unit_test(forked_workers_have_frames),
		cmocka_unit_test(spawned_workers_have_frames),
		cmocka_unit_test(code_at_old_addresses_has_its_own_names),
		cmocka_unit_test(without_python_frames_there_are_none),
		cmocka_unit_test(every_version_is_read_while_it_runs_and_not_before_or_after),
		cmocka_unit_test(frames_that_make_no_sense_are_none_and_counted),
		cmocka_unit_test(offsets_of_another_version_are_refused_and_counted),
	};

	if (argc != 5)
		return 2;
	python_path = argv[1];
	script_path = argv[2];
	made_path = argv[3];
	made_folder = argv[4];
	FILE *script = fopen(script_path, "r");
	if (!script || fread(lines, 1, sizeof(lines) - 1, script) == 0)
		return 2;
	fclose(script);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
