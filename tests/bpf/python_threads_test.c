#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "bpf/sample_event.h"
#include "bpf_fixture.h"
#include "kernel_map.h"

#define MS       1000000ull
#define STEPS    64u         /* states that a switch looks at */
#define AGAIN_NS (100u * MS) /* then a thread is searched for again */
#define COUNT    2000u       /* waits */
#define EDGES    4u          /* samples before its frame is there and after */

static const char *made_folder;

/* The kernel's half has its counters in maps. */
static uint64_t count_steps(void)
{
	struct sample_viewer viewer;
	uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(kernel_map_find("viewer"), &zero, &viewer), 0);
	return viewer.python_steps;
}

static bool has_python(const struct bpf_fixture *fixture, const struct host_sample *sample)
{
	const char *frame;

	for (int depth = 0; (frame = bpf_fixture_python(fixture, sample, depth)); depth++)
		if (strncmp(frame, "made.py:leaf", strlen("made.py:leaf")) == 0)
			return true;
	return false;
}

static bool has_come(const struct bpf_fixture *fixture)
{
	for (uint32_t i = fixture->nr_samples; i > 0; i--)
		if (has_python(fixture, &fixture->samples[i - 1].sample))
			return true;
	return false;
}

static struct bpf_fixture *create(const struct bpf_options *options)
{
	struct bpf_fixture *fixture = bpf_fixture_create(options);

	if (!fixture->source)
		fail_msg("BPF is needed here: %s", fixture->notices);
	return fixture;
}

/* Captures the waits of a thread that is hidden among states without end, and shows itself in the end. */
static struct bpf_fixture *capture(struct victim_report *report, uint64_t *steps)
{
	const struct bpf_options options = {.off_cpu_min_ns = 1, .watch_pid = getpid()};
	int input[2], before = dup(STDIN_FILENO);
	struct sample_python where;
	char what[4096];

	snprintf(what, sizeof(what), "%s/libpython3.11-made.so,11,11,hidden", made_folder);
	assert_int_equal(pipe(input), 0);
	dup2(input[0], STDIN_FILENO);
	struct bpf_fixture *fixture = create(&options);
	pid_t pid = bpf_fixture_start(fixture, what, COUNT);
	dup2(before, STDIN_FILENO);
	bpf_fixture_release(fixture);
	while (bpf_map_lookup_elem(kernel_map_find("pythons"), &pid, &where) || !where.start)
		bpf_fixture_pass(fixture, 1);
	assert_int_equal(write(input[1], "x", 1), 1);
	while (!has_come(fixture))
		bpf_fixture_pass(fixture, 1);
	assert_int_equal(write(input[1], "x", 1), 1);
	*report = bpf_fixture_await(fixture, pid);
	*steps = count_steps();
	bpf_fixture_stop(fixture);
	assert_string_equal(fixture->notices, "");
	close(input[0]);
	close(input[1]);
	close(before);
	return fixture;
}

static void a_thread_that_has_no_state_is_searched_for_now_and_then(void **state)
{
	struct victim_report report;
	uint64_t steps, start_ns = clock_now_ns();
	struct bpf_fixture *fixture = capture(&report, &steps);
	const uint64_t lasted_ns = clock_now_ns() - start_ns;
	uint32_t waits = 0;

	(void)state;
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		waits += sample->time_ns > report.begin_ns && sample->time_ns < report.end_ns;
	}
	assert_true(waits >= COUNT * 9 / 10);
	assert_in_range(steps, STEPS, STEPS * (2 + lasted_ns / AGAIN_NS));
	bpf_fixture_destroy(fixture);
}

static void a_thread_that_gets_a_state_has_frames_from_then_on(void **state)
{
	struct victim_report report;
	uint64_t steps;
	struct bpf_fixture *fixture = capture(&report, &steps);
	uint32_t inside = 0, outside = 0;

	(void)state;
	for (uint32_t i = 0; i < fixture->nr_samples; i++) {
		const struct host_sample *sample = &fixture->samples[i].sample;

		if (sample->time_ns > report.begin_ns && sample->time_ns < report.end_ns)
			assert_false(has_python(fixture, sample));
		if (sample->time_ns < report.cpu_begin_ns || sample->time_ns > report.cpu_end_ns)
			continue;
		if (has_python(fixture, sample)) {
			inside++;
			continue;
		}
		bpf_fixture_print(fixture, sample);
		outside++;
	}
	assert_true(outside <= EDGES);
	assert_true(inside > 0);
	bpf_fixture_destroy(fixture);
}

/* Its samples are read when it is gone. */
static void passes_come_sooner_for_a_while_where_code_was_gone(void **state)
{
	const struct bpf_options options = {.cpu_hz = 499, .watch_pid = getpid()};
	struct bpf_fixture *fixture = create(&options);
	struct sample_python where;
	char what[4096];
	siginfo_t info;

	(void)state;
	snprintf(what, sizeof(what), "%s/libpython3.11-made.so,11,11", made_folder);
	pid_t pid = bpf_fixture_start(fixture, what, 1000 * MS);
	bpf_fixture_release(fixture);
	while (bpf_map_lookup_elem(kernel_map_find("pythons"), &pid, &where) || !where.start)
		bpf_fixture_pass(fixture, 1);
	assert_false(bpf_source_misses_code(fixture->source, clock_now_ns()));
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	uint64_t now_ns = clock_now_ns();
	bpf_fixture_await(fixture, pid);
	assert_true(bpf_source_misses_code(fixture->source, now_ns));
	assert_false(bpf_source_misses_code(fixture->source, now_ns + 3600000 * MS));
	bpf_fixture_stop(fixture);
	bpf_fixture_destroy(fixture);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_has_no_state_is_searched_for_now_and_then),
		cmocka_unit_test(a_thread_that_gets_a_state_has_frames_from_then_on),
		cmocka_unit_test(passes_come_sooner_for_a_while_where_code_was_gone),
	};

	if (argc != 3)
		return 2;
	bpf_fixture_victim(argv[1]);
	made_folder = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
