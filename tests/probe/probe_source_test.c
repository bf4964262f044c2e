#include "tests/support/cmocka_test.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/guests/probe_stacks.h"
#include "node-agent/probe/probe_source.h"

#define THREADS     4u
#define VICTIMS_MAX 2

struct victim {
	pid_t pid;
	FILE *in, *out;
	int tids[THREADS];
	uint32_t count;
};

struct fixture {
	struct probe_source *source;
	struct victim victims[VICTIMS_MAX];
	uint64_t now_ns;
	char notice[512];
};

static const char *program;

static void on_notice(void *context, const char *line)
{
	struct fixture *fixture = context;

	snprintf(fixture->notice, sizeof(fixture->notice), "%s", line);
}

static void open_source(struct fixture *fixture, uint32_t ring_bytes)
{
	const struct probe_source_options options = {.source = STACK_SOURCE_UPROBE,
						     .ring_bytes = ring_bytes};

	assert_int_equal(probe_source_create(&options, on_notice, fixture, &fixture->source), 0);
	if (!fixture->source)
		fail_msg("%s", fixture->notice);
}

static void read_tids(struct victim *victim)
{
	char line[256];

	assert_non_null(fgets(line, sizeof(line), victim->out));
	assert_int_equal(sscanf(line, "%d %d %d %d", &victim->tids[0], &victim->tids[1],
				&victim->tids[2], &victim->tids[3]),
			 THREADS);
}

/* Each thread of it fires so often. */
static struct victim *start_victim(struct fixture *fixture, uint32_t index, uint32_t count)
{
	struct victim *victim = &fixture->victims[index];
	int to[2], from[2];
	char number[16];

	snprintf(number, sizeof(number), "%u", count);
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	victim->pid = fork();
	if (victim->pid == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		execl(program, program, "4", number, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	victim->in = fdopen(to[1], "w");
	victim->out = fdopen(from[0], "r");
	victim->count = count;
	read_tids(victim);
	return victim;
}

static void tell(struct victim *victim, char step)
{
	fputc(step, victim->in);
	fflush(victim->in);
}

/* How many watch the probe, as the process sees. */
static uint32_t await(struct victim *victim, const char *what)
{
	char line[64], word[16];
	uint32_t watchers;

	assert_non_null(fgets(line, sizeof(line), victim->out));
	assert_int_equal(sscanf(line, "%15s %u", word, &watchers), 2);
	assert_string_equal(word, what);
	return watchers;
}

static void end_victim(struct victim *victim)
{
	int status;

	if (victim->pid == 0)
		return;
	fclose(victim->in);
	fclose(victim->out);
	assert_int_equal(waitpid(victim->pid, &status, 0), victim->pid);
	assert_int_equal(status, 0);
	victim->pid = 0;
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < VICTIMS_MAX; i++)
		end_victim(&fixture->victims[i]);
	probe_source_destroy(fixture->source);
	free(fixture);
	return 0;
}

static void pass(struct fixture *fixture)
{
	int r;

	do
		r = probe_source_pass(fixture->source, fixture->now_ns);
	while (r == 1);
	assert_int_equal(r, 0);
}

/* Until the process has answered. */
static uint32_t pass_until(struct fixture *fixture, struct victim *victim, const char *what)
{
	fd_set set;
	struct timeval none = {0};
	int fd = fileno(victim->out);

	do {
		pass(fixture);
		FD_ZERO(&set);
		FD_SET(fd, &set);
	} while (select(fd + 1, &set, NULL, NULL, &none) == 0);
	pass(fixture);
	return await(victim, what);
}

static bool is_alike(const struct probe_stacks *stacks, uint32_t a, uint32_t b)
{
	uint32_t depth, other_depth;
	const uint64_t *words = probe_stacks_words(stacks, a, &depth);
	const uint64_t *others = probe_stacks_words(stacks, b, &other_depth);

	return depth == other_depth && memcmp(words, others, depth * sizeof(*words)) == 0;
}

/* How many of a round's launches have their stack; all of one thread are made in one place, so they have the same, also
 * when the kernel makes a call of the probe after its first use. */
static uint32_t join(const struct victim *victim, struct probe_stacks *stacks)
{
	uint32_t found = 0;

	for (uint32_t thread = 0; thread < THREADS; thread++) {
		uint32_t first = PROBE_STACKS_NONE, wrong = 0;

		for (uint32_t i = 1; i <= victim->count; i++) {
			uint32_t number = probe_stacks_take(stacks, (uint32_t)victim->tids[thread],
							    thread * victim->count + i);

			if (number == PROBE_STACKS_NONE)
				continue;
			found++;
			first = first ? first : number;
			wrong += number != first && !is_alike(stacks, number, first);
		}
		assert_int_equal(wrong, 0);
	}
	return found;
}

static void every_launch_of_every_thread_has_its_stack(void **state)
{
	struct fixture *fixture = *state;
	struct probe_source_counts counts;
	uint32_t depth;

	open_source(fixture, 0);
	struct victim *victim = start_victim(fixture, 0, 5000); /* of four: a round has room */
	struct probe_stacks *stacks = probe_source_attach(fixture->source, victim->pid);
	assert_non_null(stacks);
	for (int round = 0; round < 10; round++) {
		tell(victim, 'f');
		assert_int_equal(pass_until(fixture, victim, "fired"), 1);
		probe_source_counts(fixture->source, stacks, &counts);
		assert_int_equal(join(victim, stacks), THREADS * victim->count);
		assert_int_equal(counts.lost, 0);
		assert_int_equal(probe_stacks_waiting(stacks), 0);
	}
	const uint64_t *words = probe_stacks_words(stacks, 1, &depth);
	assert_true(depth >= 4); /* the probe, the library, fire(), run() */
	assert_true(words[0] != 0);
	assert_int_equal(probe_stacks_take(stacks, (uint32_t)victim->tids[0], 1),
			 PROBE_STACKS_NONE);
}

static void of_a_million_launches_each_has_come_or_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct probe_source_counts counts;
	uint64_t before = 0;

	open_source(fixture, 65536);
	struct victim *victim = start_victim(fixture, 0, 50000);
	struct probe_stacks *stacks = probe_source_attach(fixture->source, victim->pid);
	for (int round = 0; round < 5; round++) {
		tell(victim, 'f');
		pass_until(fixture, victim, "fired");
		probe_source_counts(fixture->source, stacks, &counts);
		assert_int_equal(counts.received - before, join(victim, stacks));
		before = counts.received;
	}
	print_message("a small ring: %llu came, %llu were lost\n",
		      (unsigned long long)counts.received, (unsigned long long)counts.lost);
	assert_int_equal(counts.received + counts.lost, 5 * THREADS * victim->count);
	assert_int_equal(probe_stacks_waiting(stacks), 0);
}

static void a_ring_that_is_not_read_keeps_the_first(void **state)
{
	struct fixture *fixture = *state;
	struct probe_source_counts counts;

	open_source(fixture, 65536);
	struct victim *victim = start_victim(fixture, 0, 10000);
	struct probe_stacks *stacks = probe_source_attach(fixture->source, victim->pid);
	tell(victim, 'f');
	await(victim, "fired");
	pass(fixture);
	probe_source_counts(fixture->source, stacks, &counts);
	assert_true(counts.received > 0 && counts.lost > 0);
	assert_int_equal(counts.received + counts.lost, THREADS * victim->count);
	assert_int_equal(join(victim, stacks), counts.received);
}

static void processes_are_told_apart(void **state)
{
	struct fixture *fixture = *state;
	struct probe_stacks *stacks[VICTIMS_MAX];

	open_source(fixture, 0);
	for (uint32_t i = 0; i < VICTIMS_MAX; i++) {
		start_victim(fixture, i, 3000);
		stacks[i] = probe_source_attach(fixture->source, fixture->victims[i].pid);
		assert_non_null(stacks[i]);
	}
	for (uint32_t i = 0; i < VICTIMS_MAX; i++)
		tell(&fixture->victims[i], 'f');
	for (uint32_t i = 0; i < VICTIMS_MAX; i++)
		pass_until(fixture, &fixture->victims[i], "fired");
	for (uint32_t i = 0; i < VICTIMS_MAX; i++)
		assert_int_equal(join(&fixture->victims[i], stacks[i]), THREADS * 3000);
	probe_source_detach(fixture->source, stacks[0]);
	tell(&fixture->victims[0], 'w');
	tell(&fixture->victims[1], 'w');
	assert_int_equal(await(&fixture->victims[0], "watched"), 0);
	assert_int_equal(await(&fixture->victims[1], "watched"), 1);
	tell(&fixture->victims[1], 'f');
	pass_until(fixture, &fixture->victims[1], "fired");
	assert_int_equal(join(&fixture->victims[1], stacks[1]), THREADS * 3000);
}

static void a_forked_child_is_not_watched(void **state)
{
	struct fixture *fixture = *state;
	struct probe_source_counts counts;

	open_source(fixture, 0);
	struct victim *victim = start_victim(fixture, 0, 2000);
	struct probe_stacks *stacks = probe_source_attach(fixture->source, victim->pid);
	tell(victim, 'c');
	assert_int_equal(pass_until(fixture, victim, "forked"), 1);
	probe_source_counts(fixture->source, stacks, &counts);
	assert_int_equal(counts.received + counts.lost, 0);
	tell(victim, 'f');
	pass_until(fixture, victim, "fired");
	assert_int_equal(join(victim, stacks), THREADS * 2000);
}

static void after_exec_the_next_guest_has_what_comes(void **state)
{
	struct fixture *fixture = *state;

	open_source(fixture, 0);
	struct victim *victim = start_victim(fixture, 0, 2000);
	struct victim before = *victim;
	struct probe_stacks *earlier = probe_source_attach(fixture->source, victim->pid);
	tell(victim, 'f');
	await(victim, "fired");
	tell(victim, 'x');
	read_tids(victim);
	struct probe_stacks *stacks = probe_source_attach(fixture->source, victim->pid);
	assert_ptr_not_equal(stacks, earlier);
	tell(victim, 'f');
	assert_int_equal(pass_until(fixture, victim, "fired"), 1);
	assert_int_equal(join(&before, earlier), THREADS * 2000);
	assert_int_equal(join(victim, stacks), THREADS * 2000);
	probe_source_detach(fixture->source, earlier);
	tell(victim, 'w');
	assert_int_equal(await(victim, "watched"), 1);
}

static void who_has_no_probe_is_told_of(void **state)
{
	struct fixture *fixture = *state;

	open_source(fixture, 0);
	assert_null(probe_source_attach(fixture->source, getpid()));
	assert_non_null(strstr(fixture->notice, "cannot be watched"));
	assert_null(probe_source_attach(fixture->source, 0));
}

static void nothing_is_there_unless_it_is_asked_for(void **state)
{
	struct fixture *fixture = *state;
	const struct probe_source_options guest = {.source = STACK_SOURCE_GUEST};
	const struct probe_source_options best = {.source = STACK_SOURCE_AUTO};

	assert_int_equal(probe_source_create(&guest, on_notice, fixture, &fixture->source), 0);
	assert_null(fixture->source);
	assert_int_equal(probe_source_create(&best, on_notice, fixture, &fixture->source), 0);
	assert_null(fixture->source);
	assert_null(probe_source_attach(NULL, getpid()));
	assert_int_equal(probe_source_pass(NULL, 0), 0);
	probe_source_detach(NULL, NULL);
	assert_string_equal(fixture->notice, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(every_launch_of_every_thread_has_its_stack),
		TEST(of_a_million_launches_each_has_come_or_is_counted),
		TEST(a_ring_that_is_not_read_keeps_the_first),
		TEST(processes_are_told_apart),
		TEST(a_forked_child_is_not_watched),
		TEST(after_exec_the_next_guest_has_what_comes),
		TEST(who_has_no_probe_is_told_of),
		TEST(nothing_is_there_unless_it_is_asked_for),
	};

	if (argc < 2)
		return 2;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
