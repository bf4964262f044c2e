#include "cli/job/node_block.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/job/rendezvous_search.h"

static char folder[64], output[96];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/node_block_test.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(output, sizeof(output), "%s/prof", folder);
	return 0;
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* ---- numbers */

static struct job_step node(int32_t index, int32_t nr_nodes)
{
	return (struct job_step){.key = "7.0", .nr_nodes = nr_nodes, .node_index = index};
}

static void every_node_is_in_one_block_and_their_sizes_are_all_nodes(void **state)
{
	static const struct {
		int32_t nr_nodes;
		uint32_t fan_in;
	} cases[] = {{1, 1},   {2, 2},      {3, 2},       {6, 2}, {32, 32},
		     {33, 32}, {1000, 128}, {10000, 128}, {5, 9}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const int32_t nr_nodes = cases[i].nr_nodes;
		uint32_t *counts = calloc((size_t)nr_nodes, sizeof(*counts));

		assert_non_null(counts);
		for (int32_t k = 0; k < nr_nodes; k++) {
			const struct job_step step = node(k, nr_nodes);

			counts[node_block_of(&step, cases[i].fan_in)]++;
		}
		for (int32_t k = 0; k < nr_nodes; k++) {
			struct job_step step = node(0, nr_nodes);

			step.block = (uint32_t)k;
			assert_int_equal(node_block_size(&step, cases[i].fan_in), counts[k]);
		}
		free(counts);
	}
}

static void a_node_without_a_place_is_in_the_jobs_block(void **state)
{
	static const struct {
		int32_t index, nr_nodes;
	} cases[] = {{JOB_STEP_UNKNOWN, 100},
		     {JOB_STEP_UNKNOWN, JOB_STEP_UNKNOWN},
		     {100, 100},
		     {INT32_MAX, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct job_step step = node(cases[i].index, cases[i].nr_nodes);

		assert_int_equal(node_block_of(&step, 2), 0);
		assert_int_equal(node_block_size(&step, 2), cases[i].nr_nodes);
		assert_false(node_block_is_one_of_several(&step, 2));
	}
}

static void a_node_is_in_its_block_however_many_there_are(void **state)
{
	struct job_step step = node(50, JOB_STEP_UNKNOWN);

	(void)state;
	assert_int_equal(node_block_of(&step, 2), 25);
	assert_int_equal(node_block_size(&step, 2), JOB_STEP_UNKNOWN);
	assert_true(node_block_is_one_of_several(&step, 2));
	step.node_index = 0;
	assert_int_equal(node_block_of(&step, 2), 0);
	assert_true(node_block_is_one_of_several(&step, 2));
	step.nr_nodes = 2;
	assert_false(node_block_is_one_of_several(&step, 2));
	step.nr_nodes = 3;
	assert_true(node_block_is_one_of_several(&step, 2));
}

/* ---- files */

static void each_block_has_a_file_of_its_own(void **state)
{
	struct job_step step = node(0, 9);
	char job[PATH_MAX], one[PATH_MAX], two[PATH_MAX];

	(void)state;
	assert_int_equal(rendezvous_search_path("prof", &step, job), 0);
	step.block = 1;
	assert_int_equal(rendezvous_search_path("prof", &step, one), 0);
	step.block = 12;
	assert_int_equal(rendezvous_search_path("prof", &step, two), 0);
	assert_string_equal(job + strlen(job) - strlen(RENDEZVOUS_SUFFIX), RENDEZVOUS_SUFFIX);
	assert_string_equal(one + strlen(one) - strlen("-1" RENDEZVOUS_SUFFIX),
			    "-1" RENDEZVOUS_SUFFIX);
	assert_string_equal(two + strlen(two) - strlen("-12" RENDEZVOUS_SUFFIX),
			    "-12" RENDEZVOUS_SUFFIX);
	assert_memory_equal(job, one, strlen(job) - strlen(RENDEZVOUS_SUFFIX));
}

static void publish(const char *path, const char *first)
{
	struct rendezvous rendezvous = {.step = "7.0", .nr_endpoints = 1};
	struct rendezvous_file *file;

	memset(rendezvous.keys.server_public, 's', KEY_SET_TEXT - 1);
	memset(rendezvous.keys.client_public, 'c', KEY_SET_TEXT - 1);
	memset(rendezvous.keys.client_secret, 'k', KEY_SET_TEXT - 1);
	strcpy(rendezvous.first, first);
	strcpy(rendezvous.endpoints[0], "tcp://127.0.0.1:1");
	assert_int_equal(rendezvous_create(path, &file), 0);
	assert_int_equal(rendezvous_publish(file, &rendezvous), 0);
	rendezvous_close(file);
}

static void publish_block(uint32_t number, const char *first)
{
	struct job_step step = node(0, 9);
	char path[PATH_MAX];

	step.block = number;
	assert_int_equal(rendezvous_search_path(output, &step, path), 0);
	publish(path, first);
}

static int count(void *context, const char *path, const struct rendezvous *rendezvous)
{
	uint32_t *sum = context;
	const char *dash = strrchr(path, '-');

	assert_string_equal(rendezvous->step, "7.0");
	*sum += (uint32_t)atoi(dash + 1);
	return 0;
}

static int stop(void *context, const char *path, const struct rendezvous *rendezvous)
{
	(void)path;
	(void)rendezvous;
	++*(uint32_t *)context;
	return 7;
}

/* A first one's key, all of the same character. */
static const char *key(char character)
{
	static char text[KEY_SET_TEXT];

	memset(text, character, sizeof(text) - 1);
	return text;
}

static void blocks_of_this_attempt_alone_are_visited(void **state)
{
	char path[PATH_MAX];
	uint32_t sum = 0;

	(void)state;
	publish_block(0, key('a')); /* the job's own */
	publish_block(1, key('a'));
	publish_block(20, key('a'));
	publish_block(300, key('b')); /* an earlier attempt's */
	assert_int_equal(node_block_visit(output, "7.0", key('a'), count, &sum), 0);
	assert_int_equal(sum, 21);
	sum = 0;
	assert_int_equal(node_block_visit(output, "7.1", key('a'), count, &sum), 0);
	assert_int_equal(node_block_visit(output, "", key('a'), count, &sum), 0);
	assert_int_equal(sum, 0);
	assert_int_equal(node_block_visit(output, "7.0", key('a'), stop, &sum), 7);
	assert_int_equal(sum, 1);

	/* and from within the folder */
	assert_non_null(getcwd(path, sizeof(path)));
	assert_int_equal(chdir(folder), 0);
	sum = 0;
	assert_int_equal(node_block_visit("prof", "7.0", key('a'), count, &sum), 0);
	assert_int_equal(sum, 21);
	assert_int_equal(chdir(path), 0);
}

static void names_that_are_no_blocks_are_passed_over(void **state)
{
	static const char *const ends[] = {"-" RENDEZVOUS_SUFFIX, "-1" RENDEZVOUS_SUFFIX "x",
					   "-1x" RENDEZVOUS_SUFFIX, "-1",
					   "-1" RENDEZVOUS_SUFFIX RENDEZVOUS_CLAIM "0.0"};
	char start[PATH_MAX], path[PATH_MAX + 64];
	uint32_t sum = 0;

	(void)state;
	assert_int_equal(rendezvous_search_block_start(output, "7.0", start), 0);
	start[strlen(start) - 1] = '\0'; /* the ends have the dash */
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		snprintf(path, sizeof(path), "%s%s", start, ends[i]);
		publish(path, key('a'));
	}
	snprintf(path, sizeof(path), "%s-2" RENDEZVOUS_SUFFIX, start);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s-3" RENDEZVOUS_SUFFIX, start);
	int fd = open(path, O_CREAT | O_WRONLY, 0600); /* no rendezvous */
	assert_int_equal(write(fd, "endpoint", 8), 8);
	close(fd);
	snprintf(path, sizeof(path), "%s-4" RENDEZVOUS_SUFFIX, start);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(node_block_visit(output, "7.0", key('a'), count, &sum), 0);
	assert_int_equal(sum, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_node_is_in_one_block_and_their_sizes_are_all_nodes),
		cmocka_unit_test(a_node_is_in_its_block_however_many_there_are),
		cmocka_unit_test(a_node_without_a_place_is_in_the_jobs_block),
		cmocka_unit_test(each_block_has_a_file_of_its_own),
		cmocka_unit_test_setup_teardown(blocks_of_this_attempt_alone_are_visited, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(names_that_are_no_blocks_are_passed_over, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
