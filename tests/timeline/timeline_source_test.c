/* Times that cannot be, in a log whose checksums are right. */
#include "strips_fixture.h"

#include <string.h>

#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/trace/timeline_source.h"

struct sums {
	uint32_t nr_launches, nr_work;
	uint64_t last_ns;
};

static int count_launch(void *context, const struct timeline_launch *launch)
{
	struct sums *sums = context;

	sums->nr_launches++;
	sums->last_ns = launch->time_ns > sums->last_ns ? launch->time_ns : sums->last_ns;
	return 0;
}

static int count_work(void *context, const struct timeline_work *work)
{
	struct sums *sums = context;

	sums->nr_work++;
	sums->last_ns = work->end_ns > sums->last_ns ? work->end_ns : sums->last_ns;
	return 0;
}

static struct sums read_all(struct strips_fixture *f, const struct timeline_request *request,
			    struct timeline_counts *counts)
{
	struct sums sums = {0};
	const struct timeline_sink sink = {count_launch, count_work, &sums};

	assert_int_equal(timeline_source_read(f->source, request, &sink, counts), 0);
	return sums;
}

static void add_work(struct event_packer *packer, uint64_t start_ns, uint64_t end_ns)
{
	event_packer_record(packer, &(struct gpu_record){.start_ns = start_ns,
							 .end_ns = end_ns,
							 .kind = RECORD_GPU_KERNEL});
}

/* A block with a kernel that lasts 10 ns behind all others, and what cannot be. */
static void add_block(struct strips_fixture *f, bool has_impossible)
{
	const uint64_t sound_ns = FIRST_NS - OFFSET_NS + SPAN_NS;
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	struct event_packer *packer = event_log_packer(log);
	event_packer_begin(packer, 1, OFFSET_NS, true);
	add_work(packer, sound_ns, sound_ns + 10);
	if (has_impossible) {
		event_packer_launch(packer, &(struct launch_record){.time_ns = UINT64_MAX - 5});
		event_packer_launch(packer,
				    &(struct launch_record){.time_ns = TIMELINE_SOURCE_NS_MAX + 1});
		add_work(packer, UINT64_MAX - OFFSET_NS - 20, UINT64_MAX - OFFSET_NS - 10);
		add_work(packer, sound_ns, sound_ns + TIMELINE_SOURCE_NS_MAX + 1);
	}
	assert_int_equal(event_log_write(log, 2), 0);
	event_log_close(log);
}

static void times_that_cannot_be_are_damage(void **state)
{
	const struct timeline_request behind = {.from_ns = FIRST_NS + SPAN_NS + 1,
						.to_ns = FIRST_NS + SPAN_NS + 5};
	struct strips_fixture *f = *state;
	struct timeline_counts counts;
	uint64_t first_ns, last_ns;
	const struct sums before = read_all(f, &TIMELINE_REQUEST_ALL, &counts);

	assert_int_equal(counts.log.damaged, 0);
	add_block(f, true);
	const struct sums after = read_all(f, &TIMELINE_REQUEST_ALL, &counts);
	assert_int_equal(after.nr_launches, before.nr_launches);
	assert_int_equal(after.nr_work, before.nr_work + 1);
	assert_int_equal(after.last_ns, FIRST_NS + SPAN_NS + 10);
	assert_int_equal(counts.log.damaged, 5); /* and the time of the block */
	assert_int_equal(timeline_source_extent(f->source, &first_ns, &last_ns), 0);
	assert_int_equal(first_ns, FIRST_NS);
	assert_int_equal(last_ns, FIRST_NS + SPAN_NS + 10);
	/* What is sound in that block is found by its time, too. */
	assert_int_equal(read_all(f, &behind, &counts).nr_work, 1);
	assert_int_equal(counts.log.damaged, 5);
}

static void times_at_the_bound_are_sound(void **state)
{
	struct strips_fixture *f = *state;
	struct event_log_options options = {.keeps = true};
	struct event_log *log;
	struct timeline_counts counts;
	uint64_t first_ns, last_ns;

	add_block(f, false);
	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	event_packer_begin(event_log_packer(log), 1, OFFSET_NS, true);
	event_packer_launch(event_log_packer(log),
			    &(struct launch_record){.time_ns = TIMELINE_SOURCE_NS_MAX});
	assert_int_equal(event_log_write(log, 2), 0);
	event_log_close(log);
	assert_int_equal(read_all(f, &TIMELINE_REQUEST_ALL, &counts).last_ns,
			 TIMELINE_SOURCE_NS_MAX);
	assert_int_equal(counts.log.damaged, 0);
	assert_int_equal(timeline_source_extent(f->source, &first_ns, &last_ns), 0);
	assert_int_equal(last_ns, TIMELINE_SOURCE_NS_MAX);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, strips_fixture_set_up, strips_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(times_that_cannot_be_are_damage),
		TEST(times_at_the_bound_are_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
