#include "strips_fixture.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"

#define RANKS 600u

/* The CPUs, and whether there is memory for one reader alone. */
static uint32_t nr_cpus = 2;
static bool has_no_source;

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
	(void)pid;
	(void)size;
	CPU_ZERO(cpus);
	for (uint32_t i = 0; i < nr_cpus; i++)
		CPU_SET(i, cpus);
	return 0;
}

struct timeline_source *__real_timeline_source_again(const struct timeline_source *source);
struct timeline_source *__wrap_timeline_source_again(const struct timeline_source *source);

struct timeline_source *__wrap_timeline_source_again(const struct timeline_source *source)
{
	return has_no_source ? NULL : __real_timeline_source_again(source);
}

static void check_strip(const struct strips_fixture *f, const struct time_strips *strips,
			uint32_t device)
{
	const struct strip_bins *bins = &strips->strips[device].bins;
	uint64_t union_ns = 0, sum_ns = 0;

	for (uint32_t bin = 0; bin < strips->axis.nr_bins; bin++) {
		uint64_t truth[STRIP_PARTS + 1] = {0};

		for (uint64_t at = bin * strips->axis.bin_ns;
		     at < (bin + 1) * strips->axis.bin_ns && at < SPAN_NS; at++)
			truth[f->first[device][at] ? f->first[device][at] - 1u : STRIP_PARTS]++;
		assert_memory_equal(&bins->ns[bin * STRIP_PARTS], truth,
				    STRIP_PARTS * sizeof(*truth));
	}
	for (uint32_t i = 0; i < strips->axis.nr_bins * STRIP_PARTS; i++)
		sum_ns += bins->ns[i];
	for (uint32_t at = 0; at < SPAN_NS; at++)
		union_ns += f->first[device][at] != 0;
	assert_int_equal(sum_ns, union_ns);
	assert_in_range(union_ns, SPAN_NS / 8, SPAN_NS);
}

static void each_device_has_what_ran_to_the_nanosecond(void **state)
{
	static const uint32_t memories[] = {0, 300, 90};
	struct strips_fixture *f = *state;

	for (uint32_t i = 0; i < sizeof(memories) / sizeof(*memories); i++) {
		struct time_strips strips;

		assert_int_equal(time_strips_read(f->source, &f->waits, memories[i], &strips), 0);
		assert_int_equal(strips.first_ns, FIRST_NS);
		assert_int_equal(strips.end_ns, FIRST_NS + SPAN_NS);
		assert_int_equal(strips.axis.nr_bins, TIME_STRIPS_BINS);
		assert_int_equal(strips.axis.bin_ns, SPAN_NS / TIME_STRIPS_BINS);
		assert_int_equal(strips.nr_strips, DEVICES);
		assert_int_equal(strips.nr_left_out, 0);
		for (uint32_t device = 0; device < DEVICES; device++)
			check_strip(f, &strips, device);
		time_strips_fini(&strips);
	}
}

static void without_waits_moves_are_not_told_apart(void **state)
{
	struct strips_fixture *f = *state;
	struct time_strips with, without;
	uint64_t with_ns[STRIP_PARTS] = {0}, without_ns[STRIP_PARTS] = {0};

	assert_int_equal(time_strips_read(f->source, &f->waits, 0, &with), 0);
	assert_int_equal(time_strips_read(f->source, NULL, 0, &without), 0);
	for (uint32_t i = 0; i < with.axis.nr_bins * STRIP_PARTS; i++) {
		with_ns[i % STRIP_PARTS] += with.strips[0].bins.ns[i];
		without_ns[i % STRIP_PARTS] += without.strips[0].bins.ns[i];
	}
	assert_int_not_equal(with_ns[STRIP_NCCL_WAITS], 0);
	assert_int_not_equal(with_ns[STRIP_NCCL_MOVES], 0);
	assert_int_equal(without_ns[STRIP_NCCL_WAITS] + without_ns[STRIP_NCCL_MOVES], 0);
	assert_int_equal(without_ns[STRIP_NCCL], with_ns[STRIP_NCCL] + with_ns[STRIP_NCCL_WAITS] +
							 with_ns[STRIP_NCCL_MOVES]);
	time_strips_fini(&with);
	time_strips_fini(&without);
}

static void devices_come_by_rank_and_say_whose_they_are(void **state)
{
	struct strips_fixture *f = *state;
	struct time_strips strips;

	/* GPU 6 is of both ranks, and comes first because its number is less. */
	assert_int_equal(time_strips_read(f->source, NULL, 0, &strips), 0);
	assert_int_equal(strips.strips[0].device.gpu, 6);
	assert_int_equal(strips.strips[0].device.rank, STRIP_DEVICES_NO_RANK);
	assert_int_equal(strips.strips[1].device.gpu, 7);
	assert_int_equal(strips.strips[1].device.rank, 4);
	assert_int_equal(strips.strips[2].device.gpu, STRIP_DEVICES_NO_GPU);
	assert_int_equal(strips.strips[2].device.rank, STRIP_DEVICES_NO_RANK);
	time_strips_fini(&strips);
}

static void steps_begin_with_their_first_process(void **state)
{
	struct strips_fixture *f = *state;
	struct time_strips strips;

	assert_int_equal(time_strips_read(f->source, NULL, 0, &strips), 0);
	assert_int_equal(strips.ticks.apart, 1);
	assert_int_equal(strips.ticks.first, 1);
	for (uint32_t step = 1; step <= STEPS; step++)
		assert_int_equal(strips.ticks.begins_ns[step - 1], FIRST_NS + step * 700 + 1);
	assert_int_equal(strips.ticks.begins_ns[STEPS], 0);
	time_strips_fini(&strips);
}

/* The profile's sums tell of work on a device. */
static void note_sum(struct strips_fixture *f, uint32_t process_id, uint32_t device_id)
{
	const struct fold_key key = {.process_id = process_id,
				     .device_id = device_id,
				     .name_id = f->gemm,
				     .kind = RECORD_GPU_KERNEL};
	struct fold_row *row =
		fold_table_append(f->profile.collection->totals, &key, fold_table_hash(&key));

	assert_non_null(row);
	assert_int_equal(fold_row_add_one(row, 1, 0), 0);
}

/* Of each rank a device, which works in its own nanoseconds. */
static void add_ranks(struct strips_fixture *f, struct event_packer *packer, uint32_t first)
{
	struct roster *roster = f->profile.collection->roster;
	struct roster_ordinal ordinal = {.device_id = 0};
	uint32_t process;

	for (uint32_t i = 0; i < RANKS; i++) {
		const struct roster_identity identity = {.host = 1, .pid = 100 + i};
		/* The last rank comes first. */
		const int32_t rank = (int32_t)(RANKS - 1 - i);
		const struct roster_device device = {
			.host = 1, .index = rank % 8, .uuid = {9, (uint8_t)(i >> 8), (uint8_t)i}};

		assert_int_equal(roster_add_process(roster, &identity, &process), 0);
		assert_int_equal(process, first + i);
		assert_int_equal(roster_add_device(roster, &device, &ordinal.device), 0);
		assert_int_equal(
			roster_process_set_devices(roster_process(roster, process), &ordinal, 1),
			0);
		roster_process(roster, process)->rank = 10 + rank;
		note_sum(f, process, 0);
		event_packer_begin(packer, process, OFFSET_NS, true);
		event_packer_record(
			packer,
			&(struct gpu_record){.start_ns = FIRST_NS - OFFSET_NS + (uint64_t)rank,
					     .end_ns = FIRST_NS - OFFSET_NS + SPAN_NS / 2,
					     .name_id = f->gemm,
					     .kind = RECORD_GPU_KERNEL});
	}
}

static void many_devices_have_fewer_bins_and_the_last_ones_are_counted(void **state)
{
	struct strips_fixture *f = *state;
	struct event_log_options options = {.keeps = true};
	struct store_note notes[] = {{.kind = STORE_NOTE_TIMELINE}, {.kind = STORE_NOTE_TIMELINE}};
	struct event_log *log;
	struct time_strips strips;

	timeline_source_destroy(f->source);
	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	add_ranks(f, event_log_packer(log), 3);
	note_sum(f, 2, 7); /* is not described */
	event_log_write(log, 2);
	event_log_close(log);
	f->profile.notes = notes;
	f->profile.nr_notes = 2;
	f->source = timeline_source_create(f->store, &f->profile, NULL);
	assert_non_null(f->source);
	assert_int_equal(time_strips_read(f->source, NULL, 0, &strips), 0);
	f->profile.nr_notes = 0;
	/* Without a rank is the device that is not described, which comes last. */
	assert_int_equal(strips.nr_strips, TIME_STRIPS_MOST);
	assert_int_equal(strips.nr_left_out, RANKS + DEVICES - TIME_STRIPS_MOST);
	assert_int_equal(strips.nr_missing, 2);
	assert_int_equal(strips.axis.nr_bins, TIME_STRIPS_BINS / 4);
	assert_int_equal(strips.axis.bin_ns, SPAN_NS / TIME_STRIPS_BINS * 4);
	for (uint32_t i = DEVICES - 1; i < TIME_STRIPS_MOST; i++) {
		const struct time_strip *strip = &strips.strips[i];
		const uint32_t rank = i - (DEVICES - 1);
		uint64_t sum_ns = 0;

		assert_int_equal(strip->device.rank, 10 + rank);
		assert_string_equal(strip->host, "node01");
		for (uint32_t j = 0; j < strips.axis.nr_bins * STRIP_PARTS; j++)
			sum_ns += strip->bins.ns[j];
		assert_int_equal(sum_ns, SPAN_NS / 2 - rank);
	}
	time_strips_fini(&strips);
}

static void one_reader_reads_all_where_memory_does_not_suffice_for_several(void **state)
{
	struct strips_fixture *f = *state;
	struct time_strips strips;

	has_no_source = true;
	for (nr_cpus = 1; nr_cpus < 4; nr_cpus++) {
		assert_int_equal(time_strips_read(f->source, &f->waits, 0, &strips), 0);
		assert_int_equal(strips.nr_strips, DEVICES);
		for (uint32_t device = 0; device < DEVICES; device++)
			check_strip(f, &strips, device);
		time_strips_fini(&strips);
	}
	nr_cpus = 2;
	has_no_source = false;
}

static void too_little_memory_is_an_error(void **state)
{
	struct strips_fixture *f = *state;
	struct time_strips strips;

	assert_int_equal(time_strips_read(f->source, NULL, 8, &strips), -EFBIG);
	time_strips_fini(&strips);
}

static void without_a_log_there_is_an_error(void **state)
{
	struct strips_fixture *f = *state;
	struct timeline_source *none =
		timeline_source_create("/nonexistent/profile.db", &f->profile, NULL);
	struct time_strips strips;

	assert_non_null(none);
	assert_int_equal(time_strips_read(none, NULL, 0, &strips), -ENOENT);
	time_strips_fini(&strips);
	timeline_source_destroy(none);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, strips_fixture_set_up, strips_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_device_has_what_ran_to_the_nanosecond),
		TEST(without_waits_moves_are_not_told_apart),
		TEST(devices_come_by_rank_and_say_whose_they_are),
		TEST(steps_begin_with_their_first_process),
		TEST(many_devices_have_fewer_bins_and_the_last_ones_are_counted),
		TEST(one_reader_reads_all_where_memory_does_not_suffice_for_several),
		TEST(too_little_memory_is_an_error),
		TEST(without_a_log_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
