#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fleet/exporter.h"
#include "tests/support/cmocka_test.h"

#define RESTART_NS (EXPORTER_RESTART_S * 1000000000ull)

struct fixture {
	char folder[32], program[64];
	struct exporter exporter;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->folder, "/tmp/flamegrid-test.XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->program, sizeof(fixture->program), "%s/program", fixture->folder);
	exporter_init(&fixture->exporter, &(struct exporter_options){.program = fixture->program,
								     .target = "t",
								     .store_path = "s"});
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->program);
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	return 0;
}

static void write_program(const struct fixture *fixture, const char *script)
{
	FILE *file = fopen(fixture->program, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", script);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(fixture->program, 0700), 0);
}

/* Waits for the end of the process, which the exporter reaps. */
static siginfo_t wait_for_end(const struct exporter *exporter)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)exporter->pid, &info, WEXITED | WNOWAIT), 0);
	return info;
}

static void process_that_ends_starts_again(void **state)
{
	struct fixture *fixture = *state;
	struct exporter *exporter = &fixture->exporter;

	write_program(fixture, "[ \"$*\" = 'export --follow --to t s' ] && exit 3");
	exporter_step(exporter, 7);
	assert_int_not_equal(exporter->pid, 0);
	assert_int_equal(wait_for_end(exporter).si_status, 3);
	exporter_step(exporter, 8);
	assert_int_equal(exporter->pid, 0);
	exporter_step(exporter, 8 + RESTART_NS - 1);
	assert_int_equal(exporter->pid, 0);
	exporter_step(exporter, 8 + RESTART_NS);
	assert_int_not_equal(exporter->pid, 0);
	wait_for_end(exporter);
	exporter_step(exporter, 9 + RESTART_NS);
	assert_int_equal(exporter->pid, 0);
}

static void process_stays_on_sigterm(void **state)
{
	struct fixture *fixture = *state;
	struct exporter *exporter = &fixture->exporter;

	write_program(fixture, "read line");
	exporter_step(exporter, 7);
	const pid_t pid = exporter->pid;
	assert_int_equal(kill(pid, SIGTERM), 0);
	exporter_step(exporter, 8);
	assert_int_equal(exporter->pid, pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(wait_for_end(exporter).si_status, SIGKILL);
	exporter_step(exporter, 9);
	assert_int_equal(exporter->pid, 0);
	assert_int_equal(exporter->start_at_ns, 9 + RESTART_NS);
}

static void missing_program_is_tried_again(void **state)
{
	struct fixture *fixture = *state;
	struct exporter *exporter = &fixture->exporter;

	exporter_step(exporter, 7);
	assert_int_equal(exporter->pid, 0);
	assert_int_equal(exporter->start_at_ns, 7 + RESTART_NS);
	write_program(fixture, "exit 0");
	exporter_step(exporter, 7 + RESTART_NS);
	assert_int_not_equal(exporter->pid, 0);
	assert_int_equal(wait_for_end(exporter).si_code, CLD_EXITED);
	exporter_step(exporter, 8 + RESTART_NS);
	assert_int_equal(exporter->pid, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(process_that_ends_starts_again),
		TEST(process_stays_on_sigterm),
		TEST(missing_program_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
