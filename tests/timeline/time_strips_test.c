#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"
#include "timeline/strips/time_strips.h"

#define FIRST_NS  2000000000u
#define SPAN_NS   20000u
#define PIECES    400u /* of a process */
#define STEPS     20u
#define OFFSET_NS 5000
#define RANKS     600u
#define DEVICES                                                                                    \
	3u /* two of process 1; process 2 has the second one, too, and one that is not described */

struct truth { /* of a piece of GPU work that is no wait */
	struct gpu_record record;
	uint64_t wait_ns;
	uint32_t process_id, strip;
};

struct fixture {
	char store[64];
	struct profile profile;
	uint32_t gemm, nccl;
	uint32_t random;
	struct timeline_source *source;
	struct nccl_waits_kernel kernels[2 * PIECES];
	struct nccl_waits waits;
	struct truth truths[2 * PIECES];
	uint32_t nr_truths;
	/* By strip: the first part that runs in each nanosecond, + 1; 0: none. */
	uint8_t first[DEVICES][SPAN_NS];
};

static uint32_t some(struct fixture *f, uint32_t most)
{
	f->random = f->random * 1664525u + 1013904223u;
	return (f->random >> 8) % most;
}

static void note(struct fixture *f, uint32_t device, uint64_t start_ns, uint64_t end_ns,
		 enum strip_part part)
{
	for (uint64_t at = start_ns + OFFSET_NS - FIRST_NS; at < end_ns + OFFSET_NS - FIRST_NS;
	     at++)
		if (!f->first[device][at] || f->first[device][at] > part + 1)
			f->first[device][at] = (uint8_t)(part + 1);
}

/* Of each second kernel of NCCL it is known how long it waited, which is returned. Processes and correlation ids come in
 * order. */
static uint64_t note_nccl(struct fixture *f, uint32_t device, uint32_t process_id,
			  const struct gpu_record *record)
{
	const uint64_t ns = record->end_ns - record->start_ns, wait_ns = ns * some(f, 5) / 4;

	if (record->correlation_id % 2) {
		note(f, device, record->start_ns, record->end_ns, STRIP_NCCL);
		return 0;
	}
	f->kernels[f->waits.nr_kernels++] =
		(struct nccl_waits_kernel){ns, wait_ns, process_id, record->correlation_id};
	note(f, device, record->start_ns, record->start_ns + wait_ns, STRIP_NCCL_WAITS);
	note(f, device, record->start_ns + wait_ns, record->end_ns, STRIP_NCCL_MOVES);
	return wait_ns;
}

/* Each third piece has a launch, a little before it if that is within the time. */
static uint64_t launch_of(uint32_t i, uint64_t start_ns)
{
	return i % 3 ? 0 : FIRST_NS + (start_ns > 30 ? start_ns - 30 : 0);
}

/* The work of a process comes in any order. */
static void add_process(struct fixture *f, struct event_packer *packer, uint32_t process_id)
{
	static const enum record_gpu_kind kinds[] = {RECORD_GPU_KERNEL, RECORD_GPU_KERNEL,
						     RECORD_GPU_GRAPH,  RECORD_GPU_MEMCPY,
						     RECORD_GPU_MEMSET, RECORD_GPU_SYNC};
	static const enum strip_part parts[] = {STRIP_COMPUTE, STRIP_NCCL,   STRIP_GRAPHS,
						STRIP_COPIES,  STRIP_COPIES, STRIP_PARTS};

	event_packer_begin(packer, process_id, OFFSET_NS, true);
	for (uint32_t step = 1; step <= STEPS; step++)
		event_packer_launch(
			packer,
			&(struct launch_record){.time_ns = FIRST_NS + step * 700 + process_id,
						.correlation_id = step,
						.cbid = RECORD_MARK_STEP,
						.flags = RECORD_LAUNCH_MARK | RECORD_LAUNCH_HOST});
	for (uint32_t i = 0; i < PIECES; i++) {
		const uint32_t kind = some(f, 6), ordinal = some(f, 2);
		const uint64_t start_ns = some(f, SPAN_NS - 1000);
		const struct gpu_record record = {
			.start_ns = FIRST_NS - OFFSET_NS + start_ns,
			.end_ns = FIRST_NS - OFFSET_NS + start_ns + some(f, i % 50 ? 60 : 1000),
			.name_id = kind == 1 ? f->nccl : f->gemm,
			.device_id = ordinal,
			.correlation_id = 1000 + i,
			.kind = (uint8_t)kinds[kind],
		};

		event_packer_record(packer, &record);
		if (launch_of(i, start_ns))
			event_packer_launch(packer, &(struct launch_record){
							    .time_ns = launch_of(i, start_ns),
							    .correlation_id = record.correlation_id,
							    .tid = 77,
							    .stack_id = 5 + i});
		const uint32_t device = process_id == 1 ? 1 - ordinal : 2 * ordinal;
		uint64_t wait_ns = 0;
		if (kinds[kind] == RECORD_GPU_SYNC)
			continue;
		if (parts[kind] == STRIP_NCCL)
			wait_ns = note_nccl(f, device, process_id, &record);
		else
			note(f, device, record.start_ns, record.end_ns, parts[kind]);
		f->truths[f->nr_truths++] = (struct truth){record, wait_ns, process_id, device};
	}
	/* The whole time is known. */
	event_packer_record(packer, &(struct gpu_record){.start_ns = FIRST_NS - OFFSET_NS,
							 .end_ns = FIRST_NS - OFFSET_NS + SPAN_NS,
							 .kind = RECORD_GPU_SYNC});
}

/* Its second process knows the second device as its first one, and nothing of the other. */
static void add_devices(struct fixture *f, uint32_t host)
{
	struct roster *roster = f->profile.collection->roster;
	struct roster_ordinal ordinals[2] = {{.device_id = 0}, {.device_id = 1}};

	for (int32_t i = 0; i < 2; i++) {
		const struct roster_device device = {
			.host = host, .index = 7 - i, .uuid = {(uint8_t)(1 + i)}};

		assert_int_equal(roster_add_device(roster, &device, &ordinals[i].device), 0);
	}
	assert_int_equal(roster_process_set_devices(roster_process(roster, 1), ordinals, 2), 0);
	roster_process(roster, 1)->rank = 4;
	ordinals[1].device_id = 0;
	assert_int_equal(roster_process_set_devices(roster_process(roster, 2), &ordinals[1], 1), 0);
	roster_process(roster, 2)->rank = 5;
}

/* The store has stacks with the ids from 1 to nr. */
static void add_stacks(struct catalog *catalog, uint32_t nr)
{
	uint32_t frame, node;

	for (uint32_t i = 1; i <= nr; i++) {
		assert_int_equal(catalog_add_frame(catalog, 0, i, 1, &frame), 0);
		assert_int_equal(catalog_add_node(catalog, 0, frame, &node), 0);
	}
}

static int set_up(void **state)
{
	static const uint8_t id[EVENT_FORMAT_ID] = "a test's profile";
	static struct fixture made;
	struct fixture *f = &made;
	struct event_log_options options = {.keeps = true};
	struct event_log *log;
	uint32_t host, node, process;

	*f = (struct fixture){.store = "/tmp/flamegrid-strips.XXXXXX",
			      .profile.has_timeline = true};
	memcpy(f->profile.timeline_id, id, sizeof(id));
	memcpy(options.profile, id, sizeof(id));
	assert_non_null(mkdtemp(f->store));
	strcat(f->store, "/profile.db");
	f->profile.collection = collection_create();
	assert_non_null(f->profile.collection);
	struct catalog *catalog = f->profile.collection->catalog;
	struct roster *roster = f->profile.collection->roster;
	assert_int_equal(catalog_add_string(catalog, "node01", 6, &node), 0);
	assert_int_equal(catalog_add_string(catalog, "gemm", 4, &f->gemm), 0);
	assert_int_equal(catalog_add_string(catalog, "ncclDevKernel_AllReduce", 23, &f->nccl), 0);
	add_stacks(catalog, 5 + PIECES);
	assert_int_equal(roster_add_host(roster, &(struct roster_host){.node = node}, &host), 0);
	assert_int_equal(event_log_open(f->store, &options, &log), 0);
	for (uint32_t i = 1; i <= 2; i++) {
		const struct roster_identity identity = {.host = host, .pid = i};

		assert_int_equal(roster_add_process(roster, &identity, &process), 0);
		add_process(f, event_log_packer(log), process);
	}
	add_devices(f, host);
	event_log_write(log, 1);
	event_log_close(log);
	f->waits.kernels = f->kernels;
	f->source = timeline_source_create(f->store, &f->profile, NULL);
	assert_non_null(f->source);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	timeline_source_destroy(f->source);
	collection_destroy(f->profile.collection);
	*strrchr(f->store, '/') = '\0';
	snprintf(command, sizeof(command), "rm -r %s", f->store);
	assert_int_equal(system(command), 0);
	return 0;
}

static void check_strip(const struct fixture *f, const struct time_strips *strips, uint32_t device)
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
	struct fixture *f = *state;

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
	struct fixture *f = *state;
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
	struct fixture *f = *state;
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
	struct fixture *f = *state;
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
static void note_sum(struct fixture *f, uint32_t process_id, uint32_t device_id)
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
static void add_ranks(struct fixture *f, struct event_packer *packer, uint32_t first)
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
	struct fixture *f = *state;
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

/* Reads a part, with events of so long before it. */
static void read_part(struct fixture *f, uint64_t from_ns, uint64_t to_ns, uint64_t reach_ns,
		      struct time_strips *strips)
{
	const struct timeline_request request = {.from_ns = from_ns - reach_ns, .to_ns = to_ns};
	struct timeline_events events;

	assert_int_equal(timeline_events_read(f->source, &request, false, &events), 0);
	const struct time_strips_part part = {
		.events = &events, .origin_ns = FIRST_NS, .from_ns = from_ns, .to_ns = to_ns};
	assert_int_equal(time_strips_make(f->source, &f->waits, &part, strips), 0);
	timeline_events_fini(&events);
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
	struct fixture *f = *state;
	uint64_t checked = 0;

	for (uint32_t i = 0; i < 100; i++) {
		const uint32_t span = spans[i % 5], from = some(f, SPAN_NS - span + 1);
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
	struct fixture *f = *state;
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
	struct fixture *f = *state;

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
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 40; i++) {
		const uint32_t span = spans[i % 4];
		const uint64_t from_ns = FIRST_NS + some(f, SPAN_NS - span + 1),
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
				assert_int_equal(box->launch_ns,
						 launch_of(number, start_ns - FIRST_NS));
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
	struct fixture *f = *state;

	for (uint32_t more = 0; more < 2; more++) {
		struct timeline_work *work = calloc(TIME_BOXES_MOST + 1, sizeof(*work));
		const struct timeline_events events = {.work = work,
						       .nr_work = TIME_BOXES_MOST + more};
		const struct time_strips_part part = {.events = &events,
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

static void a_part_without_time_or_work_has_no_strips(void **state)
{
	struct fixture *f = *state;
	struct time_strips strips;

	read_part(f, FIRST_NS + 2 * SPAN_NS, FIRST_NS + 3 * SPAN_NS, 0, &strips);
	assert_int_equal(strips.nr_strips + strips.boxes.nr_boxes, 0);
	time_strips_fini(&strips);
	read_part(f, FIRST_NS + 5, FIRST_NS + 5, 5, &strips);
	assert_int_equal(strips.nr_strips + strips.axis.nr_bins, 0);
	time_strips_fini(&strips);
}

static void too_little_memory_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct time_strips strips;

	assert_int_equal(time_strips_read(f->source, NULL, 8, &strips), -EFBIG);
	time_strips_fini(&strips);
}

static void without_a_log_there_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct timeline_source *none =
		timeline_source_create("/nonexistent/profile.db", &f->profile, NULL);
	struct time_strips strips;

	assert_non_null(none);
	assert_int_equal(time_strips_read(none, NULL, 0, &strips), -ENOENT);
	time_strips_fini(&strips);
	timeline_source_destroy(none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_device_has_what_ran_to_the_nanosecond),
		TEST(without_waits_moves_are_not_told_apart),
		TEST(devices_come_by_rank_and_say_whose_they_are),
		TEST(steps_begin_with_their_first_process),
		TEST(many_devices_have_fewer_bins_and_the_last_ones_are_counted),
		TEST(a_part_has_what_ran_in_it_to_the_nanosecond),
		TEST(bins_of_a_part_are_those_of_the_whole),
		TEST(a_part_has_the_step_that_runs_when_it_begins),
		TEST(boxes_are_the_pieces_of_a_part_and_each_as_a_whole),
		TEST(of_too_many_pieces_there_are_no_boxes),
		TEST(a_part_without_time_or_work_has_no_strips),
		TEST(too_little_memory_is_an_error),
		TEST(without_a_log_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
