/* The division of kernels' time: exact for every launch, whatever the samples are, and in whichever order they came. */
#include "report/stalls/stall_split.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/profile/roster.h"
#include "proto/host_sample.h"
#include "report/model/report_plane.h"
#include "report/stalls/stall_account.h"
#include "report/statistics/exact_share.h"
#include "tests/report/model/report_fixture.h"

#define SEEDS     200u
#define PROCESSES 3u
#define KERNELS   5u
#define ROWS      40u
#define SAMPLES   120u
#define NAME_SIZE 64u

/* What a profile is made of. Ids follow from the order in which it is told. */
struct total {
	uint32_t process, device, stream, kernel, launch;
	uint64_t count, ns;
};

struct sample {
	uint32_t process, device, kernel, line, reason;
	uint64_t count;
};

struct content {
	struct total totals[ROWS];
	struct sample samples[SAMPLES];
};

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Small and large numbers, and now and then 0. */
static uint64_t amount(uint64_t *seed)
{
	return next(seed) % (1ull << next(seed) % 41);
}

static void make_content(struct content *content, uint64_t seed)
{
	for (uint32_t i = 0; i < ROWS; i++)
		content->totals[i] = (struct total){
			.process = (uint32_t)next(&seed) % PROCESSES,
			.device = (uint32_t)next(&seed) % 2,
			.stream = 7 + (uint32_t)next(&seed) % 2,
			.kernel = (uint32_t)next(&seed) % KERNELS,
			.launch = (uint32_t)next(&seed) % 4,
			.count = 1 + next(&seed) % 1000,
			.ns = amount(&seed),
		};
	for (uint32_t i = 0; i < SAMPLES; i++)
		content->samples[i] = (struct sample){
			.process = (uint32_t)next(&seed) % PROCESSES,
			.device = (uint32_t)next(&seed) % 2,
			.kernel = (uint32_t)next(&seed) % (KERNELS + 1),
			.line = (uint32_t)next(&seed) % 20,
			.reason = (uint32_t)next(&seed) % 6,
			.count = 1 + amount(&seed),
		};
}

static uint32_t launch_of(uint32_t number)
{
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "step%" PRIu32, number);
	return report_fixture_push(report_fixture_push(0, report_fixture_code("/t.py", "main", 3)),
				   report_fixture_code("/t.py", name, 8));
}

static const char *kernel_name(uint32_t number, char name[static NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "kernel%" PRIu32, number);
	return name;
}

static void tell_total(const struct total *total, const uint32_t processes[PROCESSES])
{
	char name[NAME_SIZE];
	struct fold_key key =
		report_fixture_key(launch_of(total->launch), kernel_name(total->kernel, name));

	key.process_id = processes[total->process];
	key.device_id = total->device;
	key.stream_id = total->stream;
	report_fixture_add_row(key, total->count, total->ns, 0);
}

static void tell_sample(const struct sample *sample, const uint32_t processes[PROCESSES])
{
	char name[NAME_SIZE];
	const uint32_t kernel = report_fixture_push(
		0, report_fixture_code(NULL, kernel_name(sample->kernel, name), 0));
	const uint32_t line =
		report_fixture_push(kernel, report_fixture_code("/hot.cu", name, 1 + sample->line));

	snprintf(name, sizeof(name), "reason%" PRIu32, sample->reason);
	const struct fold_key key = {
		.process_id = processes[sample->process],
		.tid = sample->device,
		.stack_id = line,
		.name_id = report_fixture_string(name),
		.kind = HOST_SAMPLE_KERNEL,
	};

	assert_int_equal(
		fold_table_add(report_fixture.collection->samples, &key, sample->count, 0, 0), 0);
}

/* Tells it from another place on, in steps of `step`, which has no divisor in common with the numbers. */
static void tell(const struct content *content, uint32_t first, uint32_t step)
{
	uint32_t processes[PROCESSES];

	for (uint32_t i = 0; i < PROCESSES; i++) {
		const uint32_t number = (first + i) % PROCESSES;
		char node[NAME_SIZE];

		snprintf(node, sizeof(node), "node%" PRIu32, number);
		processes[number] = report_fixture_process(node, 100 + number, (int32_t)number, 0);
	}
	for (uint32_t i = 0; i < SAMPLES; i++)
		tell_sample(&content->samples[(first + i * step) % SAMPLES], processes);
	for (uint32_t i = 0; i < ROWS; i++)
		tell_total(&content->totals[(first + i * step) % ROWS], processes);
}

static char *folded(const struct folded_options *options)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	report_fixture_build_with(&(struct report_options){.planes = 1u << REPORT_PLANE_STALLS});
	assert_non_null(out);
	assert_int_equal(folded_writer_write(out, report_fixture.tree, options), 0);
	fclose(out);
	return text;
}

/* The sum of all lines that begin with a path. */
static uint64_t sum_of(const char *text, const char *path)
{
	uint64_t sum = 0;

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		const char *end = strchr(line, '\n');
		const char *number = memrchr(line, ' ', (size_t)(end - line));

		if (strncmp(line, path, strlen(path)) == 0)
			sum += strtoull(number + 1, NULL, 10);
	}
	return sum;
}

static const struct folded_options all_ns = {
	.unit = FOLDED_NS,
	.by = {3, {REPORT_BY_RANK, REPORT_BY_GPU, REPORT_BY_STREAM}},
};

/* Each launch of each kernel has its own time. Device 1 is not known. */
static void assert_exact(const struct content *content, const char *text)
{
	uint64_t whole = 0, samples = 0;

	for (uint32_t i = 0; i < ROWS; i++) {
		const struct total *total = &content->totals[i];
		char path[256];
		uint64_t ns = 0;

		for (uint32_t j = 0; j < ROWS; j++) {
			const struct total *other = &content->totals[j];

			if (other->process == total->process && other->device == total->device &&
			    other->stream == total->stream && other->kernel == total->kernel &&
			    other->launch == total->launch)
				ns += other->ns;
		}
		snprintf(path, sizeof(path),
			 "rank%" PRIu32 ";GPU%s;stream%" PRIu32 ";t.py:main:3;t.py:step%" PRIu32
			 ":8;[GPU%s_Kernel]kernel%" PRIu32 ";",
			 total->process, total->device ? "?" : "0", total->stream, total->launch,
			 total->device ? "?" : "0", total->kernel);
		assert_int_equal(sum_of(text, path), ns);
		whole += total->ns;
	}
	for (uint32_t i = 0; i < SAMPLES; i++)
		samples += content->samples[i].count;
	assert_int_equal(sum_of(text, ""), whole);
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_STALLS].ns, whole);
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_STALLS].count, samples);
	char *counted = folded(&(struct folded_options){.weight = FOLDED_COUNT});
	assert_int_equal(sum_of(counted, ""), samples);
	free(counted);
}

static void every_launch_has_its_exact_time_in_whatever_order_it_came(void **state)
{
	struct content content;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		char *text[2][2];

		make_content(&content, seed * 7919);
		for (uint32_t order = 0; order < 2; order++) {
			report_fixture_set_up(state);
			tell(&content, order * 17, order ? 7 : 1);
			text[order][0] = folded(&all_ns);
			assert_exact(&content, text[order][0]);
			text[order][1] = folded(
				&(struct folded_options){.weight = FOLDED_COUNT, .by = all_ns.by});
			report_fixture_tear_down(state);
		}
		for (uint32_t weight = 0; weight < 2; weight++) {
			assert_string_equal(text[0][weight], text[1][weight]);
			free(text[0][weight]);
			free(text[1][weight]);
		}
	}
}

static void shares_sum_to_the_whole_for_any_numbers(void **state)
{
	const uint64_t wholes[] = {0, 1, 2, 999, 1000000000000ull, UINT64_MAX};
	const uint64_t totals[] = {1, 2, 3, 7, 1000003, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++)
		for (size_t j = 0; j < sizeof(totals) / sizeof(totals[0]); j++) {
			const exact_sum total = (exact_sum)totals[j] * (j + 1);
			uint64_t before = 0;

			for (uint32_t part = 0; part <= 100; part++) {
				const uint64_t share =
					exact_share(wholes[i], total / 100 * part, total);

				assert_true(share >= before && share <= wholes[i]);
				before = share;
			}
			assert_int_equal(exact_share(wholes[i], total, total), wholes[i]);
			assert_int_equal(exact_share(wholes[i], 0, total), 0);
		}
	assert_int_equal(exact_share(3, 1, 2), 2);
	assert_int_equal(exact_share(1, 1, 3), 0);
}

/* Counts the lines of a text that have a word. */
static uint32_t lines_with(const char *text, const char *word)
{
	uint32_t count = 0;

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		count++;
	return count;
}

static void add_samples(uint32_t nr_lines, uint32_t nr_reasons, uint64_t each)
{
	const struct content content = {.samples = {{0}}};
	const uint32_t processes[PROCESSES] = {report_fixture.process_id};

	for (uint32_t i = 0; i < nr_lines; i++)
		for (uint32_t reason = 0; reason < nr_reasons; reason++) {
			struct sample sample = content.samples[0];

			sample.line = i;
			sample.reason = reason;
			sample.count = each + i;
			tell_sample(&sample, processes);
		}
}

static void one_sample_takes_a_very_long_kernel_whole(void **state)
{
	(void)state;
	report_fixture_add_kernel(launch_of(0), "kernel0", 1000000000000ull);
	add_samples(1, 1, 1);
	char *text = folded(&(struct folded_options){.unit = FOLDED_NS});
	assert_string_equal(text, "t.py:main:3;t.py:step0:8;[GPU0_Kernel]kernel0;hot.cu:1;"
				  "[stall]reason0 1000000000000\n");
	free(text);
}

static void places_beyond_the_bound_are_one_for_each_reason(void **state)
{
	(void)state;
	report_fixture_add_kernel(launch_of(0), "kernel0", 1000000007);
	add_samples(1000, 3, 1000000);
	char *text = folded(&(struct folded_options){.unit = FOLDED_NS});
	assert_int_equal(lines_with(text, ";hot.cu:"), STALL_PLACES_MAX);
	assert_int_equal(lines_with(text, ";[other instructions];[stall]reason"), 3);
	assert_int_equal(sum_of(text, ""), 1000000007);
	free(text);
	text = folded(&(struct folded_options){.weight = FOLDED_COUNT});
	assert_int_equal(sum_of(text, ""), 3 * (1000000000ull + 1000 * 999 / 2));
	free(text);
}

static void reasons_beyond_the_bound_are_one(void **state)
{
	(void)state;
	report_fixture_add_kernel(launch_of(0), "kernel0", 1000000007);
	add_samples(2, 600, 100000);
	char *text = folded(&(struct folded_options){.unit = FOLDED_NS});
	assert_int_equal(lines_with(text, ";[other instructions];[stall]reason"),
			 STALL_REASONS_MAX);
	assert_int_equal(lines_with(text, ";[other instructions];[stall]other reasons"), 1);
	assert_int_equal(sum_of(text, ""), 1000000007);
	free(text);
}

/* Beside many others a short kernel has no part for each of its places. */
static void where_parts_are_too_many_those_without_weight_are_one(void **state)
{
	const uint32_t processes[PROCESSES] = {report_fixture.process_id};
	const uint32_t nr_kernels = STALL_PARTS_MAX / STALL_PLACES_MAX;
	char name[NAME_SIZE];

	(void)state;
	report_fixture_add_kernel(launch_of(0), "kernel0", 1000);
	add_samples(5, 2, 10);
	for (uint32_t i = 1; i <= nr_kernels; i++) {
		report_fixture_add_kernel(launch_of(0), kernel_name(i, name), 1000000000000ull);
		for (uint32_t j = 0; j < STALL_PLACES_MAX && i < nr_kernels; j++)
			tell_sample(&(struct sample){.kernel = i, .line = j, .count = 10 + j},
				    processes);
	}
	char *text = folded(&(struct folded_options){.unit = FOLDED_NS});
	assert_int_equal(lines_with(text, "kernel0;hot.cu:"), 10);
	assert_int_equal(lines_with(text, ";[other instructions]"), 0);
	free(text);
	for (uint32_t j = 0; j < STALL_PLACES_MAX; j++)
		tell_sample(&(struct sample){.kernel = nr_kernels, .line = j, .count = 10 + j},
			    processes);
	text = folded(&(struct folded_options){.unit = FOLDED_NS});
	assert_int_equal(lines_with(text, "kernel0;hot.cu:"), STALL_PLACES_LEAST);
	assert_int_equal(lines_with(text, "kernel0;[other instructions];[stall]reason"), 2);
	assert_in_range(lines_with(text, ";hot.cu:"), 1, STALL_PARTS_MAX);
	assert_int_equal(sum_of(text, "t.py:main:3;t.py:step0:8;[GPU0_Kernel]kernel0;"), 1000);
	assert_int_equal(sum_of(text, ""), 1000 + nr_kernels * 1000000000000ull);
	free(text);
}

static void sums_that_no_profile_has_do_not_wrap(void **state)
{
	(void)state;
	report_fixture_add_kernel(launch_of(0), "kernel0", UINT64_MAX);
	report_fixture_add_kernel(launch_of(1), "kernel0", UINT64_MAX);
	add_samples(3, 1, UINT64_MAX - 5);
	report_fixture_build_with(&(struct report_options){.planes = 1u << REPORT_PLANE_STALLS});
	unsigned __int128 sum = 0;
	for (uint32_t i = 0; i < report_fixture.tree->nr_leaves; i++)
		sum += report_fixture.tree->leaves[i].ns;
	assert_true(sum == (unsigned __int128)UINT64_MAX * 2);
}

static void the_account_tells_what_is_missing(void **state)
{
	struct roster_process *process =
		roster_process(report_fixture.collection->roster, report_fixture.process_id);
	struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_KERNEL_SAMPLES, 100, 0},
		{0, LEDGER_KERNEL_SAMPLE_OTHER, 10, 0},
		{0, LEDGER_KERNEL_SAMPLE_LOST, 3, 0},
	};
	const uint64_t lost[] = {3, 5, 1}, differ[] = {0, 2, 2};

	(void)state;
	add_samples(1, 1, 87);
	for (int i = 0; i < 3; i++) {
		entries[2].count = lost[i];
		assert_int_equal(roster_process_set_ledger(process, entries, 3), 0);
		uint64_t *differing = stall_account_make(&report_fixture.profile);
		assert_non_null(differing);
		assert_int_equal(differing[report_fixture.process_id], differ[i]);
		free(differing);
	}
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_launch_has_its_exact_time_in_whatever_order_it_came),
		cmocka_unit_test(shares_sum_to_the_whole_for_any_numbers),
		TEST(one_sample_takes_a_very_long_kernel_whole),
		TEST(places_beyond_the_bound_are_one_for_each_reason),
		TEST(reasons_beyond_the_bound_are_one),
		TEST(where_parts_are_too_many_those_without_weight_are_one),
		TEST(sums_that_no_profile_has_do_not_wrap),
		TEST(the_account_tells_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
