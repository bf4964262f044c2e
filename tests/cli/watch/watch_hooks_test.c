#include "cli/watch/watch_hooks.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"

static char folder[64], warnings[4096];
static int32_t ranks[] = {5};

void __wrap_log_write(enum log_level level, const char *format, ...);
void __wrap_log_write(enum log_level level, const char *format, ...)
{
	const size_t used = strlen(warnings);
	va_list arguments;

	assert_int_equal(level, LOG_LEVEL_WARNING);
	va_start(arguments, format);
	vsnprintf(warnings + used, sizeof(warnings) - used, format, arguments);
	va_end(arguments);
	strncat(warnings, "\n", sizeof(warnings) - strlen(warnings) - 1);
}

static int set_up(void **state)
{
	(void)state;
	*warnings = '\0';
	snprintf(folder, sizeof(folder), "/tmp/flamegrid-hooks.XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	unlink("out");
	unlink("gate");
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static struct watch_event event_of(const char *name)
{
	return (struct watch_event){
		.kind = WATCH_EVENT_LATE,
		.finding = {.name = (char *)name,
			    .text = (char *)"by much",
			    .communicator = (char *)"all ranks",
			    .ranks = ranks,
			    .nr_ranks = 1,
			    .ground = STRAGGLER_FREQUENCY},
	};
}

static const char *output(void)
{
	static char text[4096];
	FILE *file = fopen("out", "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static void start(struct watch_hooks *hooks, const char *command, const char *name, uint64_t now_ns)
{
	const struct watch_event event = event_of(name);

	hooks->command = command;
	hooks->profile = "prof";
	watch_hooks_start(hooks, &event, now_ns);
}

static void a_command_reads_the_event(void **state)
{
	struct watch_hooks hooks = {0};

	(void)state;
	start(&hooks,
	      "echo \"$FLAMEGRID_WATCH_EVENT,$FLAMEGRID_WATCH_NAME,$FLAMEGRID_WATCH_PROFILE\" >out;"
	      " sed 's/.*\\(\"ranks\":[^]]*\\).*/\\1/' >>out",
	      "rank 5 on a", clock_now_ns());
	watch_hooks_finish(&hooks, UINT64_MAX / 2, -1);
	assert_string_equal(output(), "late,rank 5 on a,prof\n\"ranks\":[5\n");
	assert_string_equal(warnings, "");
}

static void no_shell_reads_a_name(void **state)
{
	struct watch_hooks hooks = {0};

	(void)state;
	start(&hooks, "echo \"$FLAMEGRID_WATCH_NAME\" >out",
	      "$(touch gate); `touch gate` \"; touch gate", clock_now_ns());
	watch_hooks_finish(&hooks, UINT64_MAX / 2, -1);
	assert_string_equal(output(), "$(touch gate); `touch gate` \"; touch gate\n");
	assert_int_not_equal(access("gate", F_OK), 0);
}

static void without_a_command_nothing_runs(void **state)
{
	struct watch_hooks hooks = {0};

	(void)state;
	start(&hooks, NULL, "rank 5 on a", 0);
	assert_int_equal(watch_hooks_look(&hooks, 0), 0);
}

static void a_failure_is_told(void **state)
{
	struct watch_hooks hooks = {0};

	(void)state;
	start(&hooks, "exit 3", "rank 5 on a", clock_now_ns());
	watch_hooks_finish(&hooks, UINT64_MAX / 2, -1);
	assert_string_equal(warnings, "the command ended with status 3\n");
}

static void a_command_that_hangs_is_killed_with_its_children(void **state)
{
	struct watch_hooks hooks = {0};

	(void)state;
	assert_int_equal(mkfifo("gate", 0600), 0);
	start(&hooks, "read line <gate | read line <gate", "rank 5 on a", 0);
	assert_int_equal(watch_hooks_look(&hooks, WATCH_HOOKS_NS - 1), 1);
	assert_string_equal(warnings, "");
	assert_int_equal(watch_hooks_look(&hooks, WATCH_HOOKS_NS), 0);
	assert_string_equal(warnings, "the command is killed, because it has not ended in 60 s\n");
}

static void what_stops_the_watch_ends_the_wait_for_commands(void **state)
{
	struct watch_hooks hooks = {0};
	int stop[2];

	(void)state;
	assert_int_equal(mkfifo("gate", 0600), 0);
	assert_int_equal(pipe(stop), 0);
	close(stop[1]);
	start(&hooks, "read line <gate", "rank 5 on a", clock_now_ns());
	watch_hooks_finish(&hooks, UINT64_MAX / 2, stop[0]);
	assert_string_equal(warnings, "the command is killed, because the watch ends\n");
	close(stop[0]);
}

static void no_more_run_than_have_room(void **state)
{
	struct watch_hooks hooks = {0};

	(void)state;
	assert_int_equal(mkfifo("gate", 0600), 0);
	for (uint32_t i = 0; i < WATCH_HOOKS_MAX; i++)
		start(&hooks, "read line <gate", "rank 5 on a", 0);
	assert_int_equal(watch_hooks_look(&hooks, 0), WATCH_HOOKS_MAX);
	start(&hooks, "echo >out", "rank 6 on a", 0);
	assert_non_null(strstr(warnings, "rank 6 on a: late: the command is not run, because 8"));
	watch_hooks_finish(&hooks, 0, -1);
	assert_int_equal(watch_hooks_look(&hooks, 0), 0);
	assert_int_not_equal(access("out", F_OK), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_command_reads_the_event),
		TEST(no_shell_reads_a_name),
		TEST(without_a_command_nothing_runs),
		TEST(a_failure_is_told),
		TEST(a_command_that_hangs_is_killed_with_its_children),
		TEST(what_stops_the_watch_ends_the_wait_for_commands),
		TEST(no_more_run_than_have_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
