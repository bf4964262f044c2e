#include "strips_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"

uint32_t strips_fixture_some(struct strips_fixture *f, uint32_t most)
{
	f->random = f->random * 1664525u + 1013904223u;
	return (f->random >> 8) % most;
}

static void note(struct strips_fixture *f, uint32_t device, uint64_t start_ns, uint64_t end_ns,
		 enum strip_part part)
{
	for (uint64_t at = start_ns + OFFSET_NS - FIRST_NS; at < end_ns + OFFSET_NS - FIRST_NS;
	     at++)
		if (!f->first[device][at] || f->first[device][at] > part + 1)
			f->first[device][at] = (uint8_t)(part + 1);
}

/* Of each second kernel of NCCL it is known how long it waited, which is returned. Processes and correlation ids come in
 * order. */
static uint64_t note_nccl(struct strips_fixture *f, uint32_t device, uint32_t process_id,
			  const struct gpu_record *record)
{
	const uint64_t ns = record->end_ns - record->start_ns,
		       wait_ns = ns * strips_fixture_some(f, 5) / 4;

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

uint64_t strips_fixture_launch(uint32_t i, uint64_t start_ns)
{
	return i % 3 ? 0 : FIRST_NS + (start_ns > 30 ? start_ns - 30 : 0);
}

/* The work of a process comes in any order. */
static void add_process(struct strips_fixture *f, struct event_packer *packer, uint32_t process_id)
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
		const uint32_t kind = strips_fixture_some(f, 6),
			       ordinal = strips_fixture_some(f, 2);
		const uint64_t start_ns = strips_fixture_some(f, SPAN_NS - 1000);
		const struct gpu_record record = {
			.start_ns = FIRST_NS - OFFSET_NS + start_ns,
			.end_ns = FIRST_NS - OFFSET_NS + start_ns +
				  strips_fixture_some(f, i % 50 ? 60 : 1000),
			.name_id = kind == 1 ? f->nccl : f->gemm,
			.device_id = ordinal,
			.correlation_id = 1000 + i,
			.kind = (uint8_t)kinds[kind],
		};

		event_packer_record(packer, &record);
		if (strips_fixture_launch(i, start_ns))
			event_packer_launch(packer,
					    &(struct launch_record){
						    .time_ns = strips_fixture_launch(i, start_ns),
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
static void add_devices(struct strips_fixture *f, uint32_t host)
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

int strips_fixture_set_up(void **state)
{
	static const uint8_t id[EVENT_FORMAT_ID] = "a test's profile";
	static struct strips_fixture made;
	struct strips_fixture *f = &made;
	struct event_log_options options = {.keeps = true};
	struct event_log *log;
	uint32_t host, node, process;

	*f = (struct strips_fixture){.store = "/tmp/flamegrid-strips.XXXXXX",
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

int strips_fixture_tear_down(void **state)
{
	struct strips_fixture *f = *state;
	char command[128];

	timeline_source_destroy(f->source);
	collection_destroy(f->profile.collection);
	*strrchr(f->store, '/') = '\0';
	snprintf(command, sizeof(command), "rm -r %s", f->store);
	assert_int_equal(system(command), 0);
	return 0;
}
