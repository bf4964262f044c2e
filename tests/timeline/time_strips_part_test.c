/* The strips of a part of a time, and its single pieces. */
#include "strips_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/roster.h"
#include "timeline/cells/cell_file.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"

static void read_part_of(struct strips_fixture *f, uint64_t from_ns, uint64_t to_ns,
			 uint64_t reach_ns, const uint8_t *processes, struct time_strips *strips)
{
	const struct timeline_request request = {
		.from_ns = from_ns - reach_ns, .to_ns = to_ns, .processes = processes};
	struct timeline_events events;

	assert_int_equal(timeline_events_read(f->source, &request, false, &events), 0);
	const struct time_strips_part part = {.events = &events,
					      .request = &request,
					      .origin_ns = FIRST_NS,
					      .from_ns = from_ns,
					      .to_ns = to_ns};
	assert_int_equal(time_strips_make(f->source, &f->waits, &part, strips), 0);
	timeline_events_fini(&events);
}

/* Reads a part, with events of so long before it. */
static void read_part(struct strips_fixture *f, uint64_t from_ns, uint64_t to_ns, uint64_t reach_ns,
		      struct time_strips *strips)
{
	read_part_of(f, from_ns, to_ns, reach_ns, NULL, strips);
}

/* The strip of a device; NULL: it has no work there. Those that have none are left out. */
static const struct time_strip *strip_of(const struct time_strips *strips, uint32_t device)
{
	static const int32_t gpus[DEVICES] = {6, 7, STRIP_DEVICES_NO_GPU};

	for (uint32_t i = 0; i < strips->nr_strips; i++)
		if (strips->strips[i].device.gpu == gpus[device])
			return &strips->strips[i];
	return NULL;
}

static void a_part_has_what_ran_in_it_to_the_nanosecond(void **state)
{
	static const uint32_t spans[] = {1, 60, 777, 4000, SPAN_NS};
	struct strips_fixture *f = *state;
	uint64_t checked = 0;

	for (uint32_t i = 0; i < 100; i++) {
		const uint32_t span = spans[i % 5],
			       from = strips_fixture_some(f, SPAN_NS - span + 1);
		struct time_strips strips;

		read_part(f, FIRST_NS + from, FIRST_NS + from + span, i % 2 ? 0 : 2000, &strips);
		assert_int_equal(strips.origin_ns, FIRST_NS);
		assert_int_equal(strips.first_ns, FIRST_NS + from);
		assert_int_equal(strips.end_ns, FIRST_NS + from + span);
		assert_true(strips.is_part);
		for (uint32_t device = 0; device < DEVICES; device++) {
			const struct time_strip *strip = strip_of(&strips, device);
			uint64_t truth[TIME_STRIPS_BINS][STRIP_PARTS + 1] = {0};

			for (uint32_t at = 0; at < span; at++) {
				const uint32_t part = f->first[device][from + at];

				truth[at / strips.axis.bin_ns][part ? part - 1 : STRIP_PARTS]++;
				assert_true(strip || !part);
			}
			for (uint32_t bin = 0; strip && bin < strips.axis.nr_bins; bin++, checked++)
				assert_memory_equal(&strip->bins.ns[bin * STRIP_PARTS], truth[bin],
						    STRIP_PARTS * sizeof(**truth));
		}
		time_strips_fini(&strips);
	}
	assert_in_range(checked, 10000, UINT32_MAX);
}

static void bins_of_a_part_are_those_of_the_whole(void **state)
{
	struct strips_fixture *f = *state;
	struct time_strips whole, part;

	/* A bin of the whole is five of the part. */
	assert_int_equal(time_strips_read(f->source, &f->waits, 0, &whole), 0);
	read_part(f, FIRST_NS + 150 * whole.axis.bin_ns, FIRST_NS + 350 * whole.axis.bin_ns, 0,
		  &part);
	assert_int_equal(5 * part.axis.bin_ns, whole.axis.bin_ns);
	assert_int_equal(part.nr_strips, DEVICES);
	for (uint32_t i = 0; i < DEVICES * 200 * STRIP_PARTS; i++) {
		const uint32_t device = i / (200 * STRIP_PARTS), bin = i / STRIP_PARTS % 200;
		uint64_t sum_ns = 0;

		for (uint32_t j = 0; j < 5; j++)
			sum_ns += part.strips[device]
					  .bins.ns[(5 * bin + j) * STRIP_PARTS + i % STRIP_PARTS];
		assert_int_equal(
			sum_ns,
			whole.strips[device].bins.ns[(150 + bin) * STRIP_PARTS + i % STRIP_PARTS]);
	}
	time_strips_fini(&whole);
	time_strips_fini(&part);
}

static void a_part_has_the_step_that_runs_when_it_begins(void **state)
{
	static const uint64_t reaches[] = {0, 50, 2000};
	struct strips_fixture *f = *state;

	/* Step 7 began for both processes, for one of them, or just now. */
	for (uint32_t i = 0; i < 9; i++) {
		const uint64_t from_ns = FIRST_NS + 7 * 700 + (i % 3 == 0 ? 400 : i % 3);
		struct time_strips strips;

		read_part(f, from_ns, from_ns + 1500, reaches[i / 3], &strips);
		assert_int_equal(strips.ticks.apart, 1);
		assert_int_equal(strips.ticks.first, 7);
		for (uint32_t step = 7; step < 7 + STEP_TICKS_MOST; step++) {
			const uint64_t begin_ns = FIRST_NS + step * 700 + 1;

			assert_int_equal(strips.ticks.begins_ns[step - 7],
					 begin_ns < from_ns + 1500 ? begin_ns : 0);
		}
		time_strips_fini(&strips);
	}
}

static const struct time_box *box_of(const struct time_strips *strips, const struct truth *truth)
{
	const struct time_box *found = NULL;

	for (uint32_t i = 0; i < strips->boxes.nr_boxes; i++) {
		const struct time_box *box = &strips->boxes.boxes[i];

		/* The launch of a third of them has the same number. */
		if (box->key.process_id != truth->process_id ||
		    box->start_ns != truth->record.start_ns + OFFSET_NS ||
		    box->end_ns != truth->record.end_ns + OFFSET_NS ||
		    box->key.kind != truth->record.kind || box->wait_ns != truth->wait_ns ||
		    box->key.device_id != truth->record.device_id)
			continue;
		found = box;
	}
	return found;
}

static void boxes_are_the_pieces_of_a_part_and_each_as_a_whole(void **state)
{
	static const uint32_t spans[] = {1, 50, 3000, SPAN_NS};
	struct strips_fixture *f = *state;

	for (uint32_t i = 0; i < 40; i++) {
		const uint32_t span = spans[i % 4];
		const uint64_t from_ns = FIRST_NS + strips_fixture_some(f, SPAN_NS - span + 1),
			       to_ns = from_ns + span;
		struct time_strips strips;
		uint32_t nr = 0;

		read_part(f, from_ns, to_ns, 1500, &strips);
		for (uint32_t j = 0; j < f->nr_truths; j++) {
			const struct truth *truth = &f->truths[j];
			const uint32_t number = truth->record.correlation_id - 1000;
			const uint64_t start_ns = truth->record.start_ns + OFFSET_NS;

			if (start_ns >= to_ns ||
			    (truth->record.end_ns + OFFSET_NS <= from_ns && start_ns < from_ns))
				continue;
			const struct time_box *box = box_of(&strips, truth);
			assert_non_null(box);
			nr++;
			assert_ptr_equal(&strips.strips[box->device],
					 strip_of(&strips, truth->strip));
			if (number % 3 == 0) {
				assert_int_equal(
					box->launch_ns,
					strips_fixture_launch(number, start_ns - FIRST_NS));
				assert_int_equal(box->key.stack_id, 5 + number);
				assert_int_equal(box->key.tid, 77);
			} else {
				assert_int_equal(box->launch_ns, 0);
				assert_int_equal(box->key.matched, 0);
			}
		}
		assert_int_equal(strips.boxes.nr_boxes, nr);
		assert_false(strips.boxes.are_too_many);
		time_strips_fini(&strips);
	}
}

static void of_too_many_pieces_there_are_no_boxes(void **state)
{
	struct strips_fixture *f = *state;

	for (uint32_t more = 0; more < 2; more++) {
		struct timeline_work *work = calloc(TIME_BOXES_MOST + 1, sizeof(*work));
		const struct timeline_events events = {.work = work,
						       .nr_work = TIME_BOXES_MOST + more};
		const struct time_strips_part part = {.events = &events,
						      .request = &TIMELINE_REQUEST_ALL,
						      .origin_ns = FIRST_NS,
						      .from_ns = FIRST_NS,
						      .to_ns = FIRST_NS + SPAN_NS};
		struct time_strips strips;

		assert_non_null(work);
		for (uint32_t i = 0; i < events.nr_work; i++)
			work[i] = (struct timeline_work){.start_ns = FIRST_NS + i,
							 .end_ns = FIRST_NS + i + 1,
							 .process_id = 1,
							 .kind = RECORD_GPU_KERNEL,
							 .launch = TIMELINE_SOURCE_NONE};
		assert_int_equal(time_strips_make(f->source, NULL, &part, &strips), 0);
		assert_int_equal(strips.boxes.nr_boxes, more ? 0 : TIME_BOXES_MOST);
		assert_int_equal(strips.boxes.are_too_many, more);
		assert_int_equal(strips.nr_strips, 1);
		time_strips_fini(&strips);
		free(work);
	}
}

static void check_same(const struct time_strips *a, const struct time_strips *b)
{
	assert_int_equal(a->nr_strips, b->nr_strips);
	assert_int_equal(a->axis.first_ns, b->axis.first_ns);
	assert_int_equal(a->axis.bin_ns, b->axis.bin_ns);
	assert_int_equal(a->axis.nr_bins, b->axis.nr_bins);
	assert_int_equal(a->ticks.apart, b->ticks.apart);
	assert_int_equal(a->ticks.first, b->ticks.first);
	assert_memory_equal(a->ticks.begins_ns, b->ticks.begins_ns, sizeof(a->ticks.begins_ns));
	assert_int_equal(a->nr_left_out, b->nr_left_out);
	for (uint32_t i = 0; i < a->nr_strips; i++) {
		assert_memory_equal(&a->strips[i].device, &b->strips[i].device,
				    sizeof(a->strips[i].device));
		assert_memory_equal(a->strips[i].bins.ns, b->strips[i].bins.ns,
				    a->axis.nr_bins * STRIP_PARTS * sizeof(*a->strips[i].bins.ns));
	}
}

static void a_long_part_has_the_same_without_a_list_of_events(void **state)
{
	static const uint32_t spans[] = {60, 4000, SPAN_NS};
	struct strips_fixture *f = *state;

	for (uint32_t i = 0; i < 60; i++) {
		const uint32_t span = spans[i % 3];
		const uint64_t from_ns = FIRST_NS + strips_fixture_some(f, SPAN_NS - span + 1);
		const struct time_strips_part part = {.request = &TIMELINE_REQUEST_ALL,
						      .origin_ns = FIRST_NS,
						      .from_ns = from_ns,
						      .to_ns = from_ns + span};
		const struct timeline_counts counts = {0};
		const struct cell_file no_cells = {0};
		const struct time_strips_long more = {.counts = &counts, .cells = &no_cells};
		struct time_strips listed, strips;

		read_part(f, from_ns, from_ns + span, 2000, &listed);
		assert_int_equal(time_strips_read_long(f->source, &f->waits, &part, &more, &strips),
				 0);
		assert_int_equal(strips.boxes.nr_boxes, 0);
		assert_true(strips.boxes.are_too_many);
		check_same(&listed, &strips);
		time_strips_fini(&strips);
		time_strips_fini(&listed);
	}
}

static void a_part_without_time_or_work_has_no_strips(void **state)
{
	struct strips_fixture *f = *state;
	struct time_strips strips;

	read_part(f, FIRST_NS + 2 * SPAN_NS, FIRST_NS + 3 * SPAN_NS, 0, &strips);
	assert_int_equal(strips.nr_strips + strips.boxes.nr_boxes, 0);
	time_strips_fini(&strips);
	read_part(f, FIRST_NS + 5, FIRST_NS + 5, 5, &strips);
	assert_int_equal(strips.nr_strips + strips.axis.nr_bins, 0);
	time_strips_fini(&strips);
}

static void add_mark(struct event_packer *packer, enum record_mark mark, uint64_t time_ns)
{
	event_packer_launch(
		packer, &(struct launch_record){.time_ns = time_ns,
						.cbid = (uint16_t)mark,
						.flags = RECORD_LAUNCH_MARK | RECORD_LAUNCH_HOST});
}

/* Behind all work, process 1 was not captured for a time, and then had a kernel on its first device. */
static void add_pause(struct strips_fixture *f, uint64_t from_ns, uint64_t to_ns)
{
	struct event_log_options options = {.keeps = true};
	struct event_log *log;

	timeline_source_destroy(f->source);
	memcpy(options.profile, f->profile.timeline_id, sizeof(options.profile));
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	event_packer_begin(event_log_packer(log), 1, OFFSET_NS, true);
	add_mark(event_log_packer(log), RECORD_MARK_WINDOW_END, from_ns);
	add_mark(event_log_packer(log), RECORD_MARK_WINDOW, to_ns);
	event_packer_record(event_log_packer(log),
			    &(struct gpu_record){.start_ns = to_ns - OFFSET_NS,
						 .end_ns = to_ns - OFFSET_NS + 100,
						 .name_id = f->gemm,
						 .kind = RECORD_GPU_KERNEL});
	event_log_write(log, 2);
	event_log_close(log);
	f->source = timeline_source_create(f->store, &f->profile, NULL);
	assert_non_null(f->source);
}

/* How long the strip of a device has this in all of its bins. */
static uint64_t sum_of(const struct time_strips *strips, uint32_t device, enum strip_part part)
{
	const struct time_strip *strip = strip_of(strips, device);
	uint64_t sum_ns = 0;

	assert_non_null(strip);
	for (uint32_t bin = 0; bin < strips->axis.nr_bins; bin++)
		sum_ns += strip->bins.ns[bin * STRIP_PARTS + part];
	return sum_ns;
}

static void a_part_without_work_tells_what_was_not_captured(void **state)
{
	static const uint8_t second[2] = {0, 1};
	const uint64_t pause_ns = FIRST_NS + 2 * SPAN_NS, end_ns = pause_ns + SPAN_NS;
	struct strips_fixture *f = *state;
	struct time_strips strips;

	add_pause(f, pause_ns, end_ns);
	/* All of the part lies in the pause: both devices of the process have a strip, the other process has none. */
	read_part(f, pause_ns + 100, pause_ns + 1100, 0, &strips);
	assert_int_equal(strips.nr_strips, 2);
	assert_int_equal(strips.boxes.nr_boxes, 0);
	assert_int_equal(sum_of(&strips, 0, STRIP_PAUSES), 1000);
	assert_int_equal(sum_of(&strips, 1, STRIP_PAUSES), 1000);
	time_strips_fini(&strips);
	/* A half of it does. */
	read_part(f, pause_ns - 500, pause_ns + 500, 0, &strips);
	assert_int_equal(strips.nr_strips, 2);
	assert_int_equal(sum_of(&strips, 0, STRIP_PAUSES), 500);
	time_strips_fini(&strips);
	/* The process has work: only the device that had some is shown. */
	read_part(f, end_ns - 500, end_ns + 500, 0, &strips);
	assert_int_equal(strips.nr_strips, 1);
	assert_int_equal(sum_of(&strips, 1, STRIP_PAUSES), 500);
	assert_int_equal(sum_of(&strips, 1, STRIP_COMPUTE), 100);
	time_strips_fini(&strips);
	read_part(f, pause_ns - 500, pause_ns, 0, &strips);
	assert_int_equal(strips.nr_strips, 0);
	time_strips_fini(&strips);
	read_part_of(f, pause_ns + 100, pause_ns + 1100, 0, second, &strips);
	assert_int_equal(strips.nr_strips, 0);
	time_strips_fini(&strips);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, strips_fixture_set_up, strips_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_part_has_what_ran_in_it_to_the_nanosecond),
		TEST(bins_of_a_part_are_those_of_the_whole),
		TEST(a_part_has_the_step_that_runs_when_it_begins),
		TEST(boxes_are_the_pieces_of_a_part_and_each_as_a_whole),
		TEST(of_too_many_pieces_there_are_no_boxes),
		TEST(a_long_part_has_the_same_without_a_list_of_events),
		TEST(a_part_without_time_or_work_has_no_strips),
		TEST(a_part_without_work_tells_what_was_not_captured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
