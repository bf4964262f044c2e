/* The agent's side of a ring that a guest has filled as it likes. Whatever is there, each pass ends, every message
 * that is made of it can be encoded (the fixture's assertions end the process if not), and another agent can take
 * the ring. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/batch/message_seq.h"
#include "ring_edit.h"
#include "tests/node-agent/guests/ring_source_fixture.h"

#define EDITS_MAX      64u
#define BODY_MAX       4096u
#define NEAR_START     (64u << 10) /* header, counters and cursors */
#define READ_AT_ONCE   16u
#define LEDGER_ENTRIES ((RECORD_DEVICES_MAX + 1) * LEDGER_REASONS)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

/* The next bytes of the input, zeros behind its end. */
static void take(struct input *input, void *to, size_t size)
{
	size_t have = size < input->size ? size : input->size;

	memset(to, 0, size);
	memcpy(to, input->data, have);
	input->data += have;
	input->size -= have;
}

/* ---- the guest ---------------------------------------------------------------------------------- */

static void poke(int fd, const struct ring_edit *edit, struct input *input)
{
	uint64_t word, size = record_ring_bytes(&ring_source_fixture_sizes);
	uint64_t at = edit->type % 2 ? edit->where % size : edit->where % NEAR_START;

	take(input, &word, sizeof(word));
	if (pwrite(fd, &word, sizeof(word), (off_t)(at & ~(uint64_t)7)) != (ssize_t)sizeof(word))
		abort();
}

static void add_texts(struct record_ring *guest, const struct ring_edit *edit, struct input *input)
{
	uint64_t body[BODY_MAX / sizeof(uint64_t)];
	uint32_t size = edit->size % (BODY_MAX + 1),
		 file_size = edit->type < size ? edit->type : size;

	take(input, body, size);
	if (edit->kind % RING_EDIT_KINDS == RING_EDIT_DEFINITION)
		record_ring_define(guest, edit->type % 16u, body, size, NULL, 0);
	else if (edit->kind % RING_EDIT_KINDS == RING_EDIT_STACK)
		record_ring_add_stack(guest, body, size / 8 % (RECORD_STACK_DEPTH + 1));
	else
		record_ring_add_code(guest, (const char *)body, file_size % RECORD_CODE_TEXT_MAX,
				     (const char *)body + file_size,
				     (size - file_size) % RECORD_CODE_TEXT_MAX);
}

static void write_edit(struct record_ring *guest, const struct ring_edit *edit, struct input *input)
{
	struct collective_record collective;
	struct launch_record launch;
	struct gpu_record record;
	uint64_t numbers[2];

	switch (edit->kind % RING_EDIT_KINDS) {
	case RING_EDIT_LAUNCH:
		take(input, &launch, sizeof(launch));
		record_ring_push_launch(guest, edit->where % ring_source_fixture_sizes.launch_lanes,
					&launch);
		break;
	case RING_EDIT_RECORD:
		take(input, &record, sizeof(record));
		record_ring_push_activity(guest, &record, 1);
		break;
	case RING_EDIT_COLLECTIVE:
		take(input, &collective, sizeof(collective));
		record_ring_push_collective(guest, &collective);
		break;
	case RING_EDIT_COUNT:
		take(input, numbers, sizeof(numbers));
		record_ring_count(guest, edit->where, edit->type % LEDGER_REASONS, numbers[0],
				  numbers[1]);
		break;
	default:
		add_texts(guest, edit, input);
		break;
	}
}

/* ---- the agents --------------------------------------------------------------------------------- */

static void read_texts(struct record_ring *ring, const struct record_ring_snapshot *snapshot)
{
	static uint8_t body[DEFINITION_SIZE_MAX];
	static struct record_ring_code code;
	uint64_t frames[RECORD_STACK_DEPTH];
	uint32_t type, size;
	int r;

	while ((r = record_ring_read_definition(ring, snapshot, &type, body, sizeof(body),
						&size)) == 1 ||
	       r == -EMSGSIZE)
		if (r == 1 && size > sizeof(body))
			abort();
	for (uint32_t id = 0; id <= 4; id++) {
		if (record_ring_read_stack(ring, id, frames) > (int)RECORD_STACK_DEPTH)
			abort();
		if (record_ring_read_code(ring, id, &code) == 0 &&
		    (code.file_size > RECORD_CODE_TEXT_MAX ||
		     code.name_size > RECORD_CODE_TEXT_MAX))
			abort();
	}
}

static void read_records(struct record_ring *ring, const struct record_ring_snapshot *snapshot)
{
	struct collective_record collectives[READ_AT_ONCE];
	struct launch_record launches[READ_AT_ONCE];
	struct gpu_record records[READ_AT_ONCE];
	uint32_t nr_lost;
	int r;

	for (uint32_t lane = 0; lane < snapshot->lanes; lane++)
		while ((r = record_ring_read_launches(ring, snapshot, lane, launches,
						      READ_AT_ONCE)) > 0)
			if (r > (int)READ_AT_ONCE)
				abort();
	while (record_ring_read_activity(ring, snapshot, records, READ_AT_ONCE) > 0)
		;
	while (record_ring_read_collectives(ring, snapshot, true, collectives, READ_AT_ONCE,
					    &nr_lost) > 0)
		;
}

static void take_over(int fd, uint64_t durable_seq)
{
	static const uint8_t epoch[RECORD_RING_EPOCH] = {2};
	static struct record_ring_snapshot snapshot;
	static struct ledger_entry ledger[LEDGER_ENTRIES];
	uint8_t before[RECORD_RING_EPOCH];
	struct record_ring_position position;
	struct record_ring *ring;
	uint32_t nr_windows;

	if (record_ring_map(fd, &ring) != 0)
		return;
	record_ring_owner(ring, before);
	if (durable_seq % 4 == 3)
		record_ring_skip(ring);
	else
		record_ring_resume(ring, durable_seq);
	record_ring_own(ring, epoch);
	record_ring_snapshot(ring, &snapshot);
	read_texts(ring, &snapshot);
	read_records(ring, &snapshot);
	record_ring_capture(ring, &nr_windows);
	int nr = record_ring_ledger(ring, ledger, LEDGER_ENTRIES);
	for (int i = 0; i < nr; i++)
		if (ledger[i].count > LEDGER_COUNT_MAX * (RECORD_RING_LANES_MAX + 1))
			abort();
	if (record_ring_can_mark(ring) && record_ring_mark(ring, durable_seq + 1) != 0)
		abort();
	if (record_ring_position(ring, &position) != 0)
		abort();
	record_ring_release(ring, &position);
	free(position.launch);
	record_ring_unmark(ring, durable_seq + 1);
	record_ring_release_crowded(ring);
	record_ring_unmap(ring);
}

static void encode(struct ring_source_fixture *fixture, struct message *message)
{
	const uint8_t *frame;
	size_t size;

	message_seq_set(message, ++fixture->seq);
	if (batch_encode(fixture->encoder, message, &frame, &size) != 0)
		abort();
}

/* As guest_process.c has it: what was read is sent before more is. */
static void pass(struct ring_source_fixture *fixture)
{
	struct message message;
	int64_t clock_offset_ns;
	int r;

	ring_source_begin(fixture->source, true, 0);
	do {
		r = ring_source_read(fixture->source, fixture->builder);
		if (r < 0)
			abort();
		bool valid = ring_source_clock(fixture->source, &clock_offset_ns);
		if (batch_builder_flush(fixture->builder, 1, clock_offset_ns, valid) != 0)
			abort();
		if (ring_source_alone(fixture->source, 1, &message))
			encode(fixture, &message);
		if (ring_ownership_sent(&fixture->ownership, fixture->seq) != 0)
			abort();
	} while (r == 1);
	process_description_message(fixture->description, &message);
	encode(fixture, &message);
	if (ring_source_update_ledger(fixture->source) < 0)
		abort();
}

/* A file of the input's bytes, with the seals of a ring and without. */
static void map_file(const uint8_t *data, size_t size)
{
	struct record_ring *ring;
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    record_ring_map(fd, &ring) != -EPERM)
		abort();
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		abort();
	if (record_ring_map(fd, &ring) == 0)
		record_ring_unmap(ring);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ring_source_fixture *fixture = ring_source_fixture_create();
	struct input input = {data, size};
	struct ring_edit edit;
	bool poked = false;

	map_file(data, size);
	ring_ownership_take(&fixture->ownership);
	for (uint32_t lane = 0; lane < ring_source_fixture_sizes.launch_lanes; lane++)
		record_ring_claim_lane(fixture->guest);
	for (uint32_t i = 0; i < EDITS_MAX && input.size > 0; i++) {
		take(&input, &edit, sizeof(edit));
		switch (edit.kind % RING_EDIT_KINDS) {
		case RING_EDIT_POKE:
			poke(fixture->ring_fd, &edit, &input);
			poked = true;
			break;
		case RING_EDIT_PASS:
			pass(fixture);
			break;
		case RING_EDIT_TAKE_OVER:
			take_over(fixture->ring_fd, edit.where);
			break;
		default:
			if (!poked)
				write_edit(fixture->guest, &edit, &input);
			break;
		}
	}
	pass(fixture);
	ring_source_abandon(fixture->source);
	pass(fixture);
	take_over(fixture->ring_fd, 1);
	ring_source_fixture_destroy(fixture);
	return 0;
}
