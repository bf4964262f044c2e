/* Writes a small corpus for ring_fuzz: a ring with one of everything, and for each of the control pages' first words a
 * ring in which it is forged.
 *	ring_corpus DIRECTORY	(which exists) */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/collective_record.h"
#include "proto/definition.h"
#include "proto/ledger.h"
#include "proto/record.h"
#include "proto/stack_word.h"
#include "ring_edit.h"
#include "seed.h"
#include "tests/node-agent/cubin/cubin_fixture.h"

#define HEADER_WORDS                                                                               \
	32u /* of the control pages' first: each is forged, of those behind it every other one */

static struct seed ring;

static void add(uint8_t kind, uint8_t type, uint32_t where, const void *body, size_t body_size)
{
	const struct ring_edit edit = {kind, type, (uint16_t)body_size, where};

	seed_add(&ring, &edit, sizeof(edit));
	seed_add(&ring, body, body_size);
}

/* A definition of a type: its head, and a name behind it. */
static void define(uint8_t type, const void *head, size_t head_size)
{
	uint8_t body[512];

	memcpy(body, head, head_size);
	memcpy(body + head_size, "/a name", 7);
	add(RING_EDIT_DEFINITION, type, 0, body, head_size + 7);
}

static void add_definitions(void)
{
	const struct definition_name name = {.name_id = 1};
	const struct definition_module module = {0x1000, 0x9000, 0x1000, 1, DEFINITION_MODULE_MAIN,
						 {7},    9};
	const struct definition_unload unload = {0x1000, 0x9000, 1, 0};
	const struct definition_device device = {.device_id = 0, .pci_bus = 0x17};
	const struct definition_clock clock = {100, 1000, 50, 1};
	const struct definition_notice notice = {.code = NOTICE_NO_CUPTI};
	const struct definition_window window = {.begin_ns = 1, .window = 1};
	const struct definition_api_statistic call = {
		.domain = 1, .cbid = 307, .count = 2, .total_ns = 9, .min_ns = 4, .max_ns = 5};
	const struct definition_kernel_config config = {
		.config = {0, 1, 1, 1, 1, 128, 1, 1, 0, 0, 32, 0},
		.count = 1,
		.total_ns = 3,
		.min_ns = 3,
		.max_ns = 3};
	const struct definition_stream stream = {
		1, 7, -1, DEFINITION_STREAM_PRIORITY | DEFINITION_STREAM_NAMED};
	const struct definition_communicator communicator = {
		.key = 5, .communicator_id = 1, .nr_ranks = 2};
	const struct definition_context context = {2, 1, 0, 8, DEFINITION_CONTEXT_GREEN};

	define(DEFINITION_NAME, &name, sizeof(name));
	define(DEFINITION_MODULE, &module, sizeof(module));
	add(RING_EDIT_DEFINITION, DEFINITION_UNLOAD, 0, &unload, sizeof(unload));
	define(DEFINITION_DEVICE, &device, sizeof(device));
	add(RING_EDIT_DEFINITION, DEFINITION_CLOCK, 0, &clock, sizeof(clock));
	define(DEFINITION_NOTICE, &notice, sizeof(notice));
	add(RING_EDIT_DEFINITION, DEFINITION_WINDOW, 0, &window, sizeof(window));
	define(DEFINITION_API_STATISTIC, &call, sizeof(call));
	add(RING_EDIT_DEFINITION, DEFINITION_KERNEL_CONFIG, 0, &config, sizeof(config));
	define(DEFINITION_STREAM, &stream, sizeof(stream));
	add(RING_EDIT_DEFINITION, DEFINITION_COMMUNICATOR, 0, &communicator, sizeof(communicator));
	add(RING_EDIT_DEFINITION, DEFINITION_CONTEXT, 0, &context, sizeof(context));
}

/* A reason, a cubin in two pieces, and samples of its kernel, with and without a known line. */
static void add_samples(void)
{
	static struct cubin_fixture cubin;
	const struct definition_stall_reason reason = {.index = 1};
	struct {
		struct definition_kernel_samples head;
		struct definition_kernel_sample entries[3];
		char kernel[1];
	} samples = {{100, 7, 0, 3}, {{0, 1, 5}, {16, 0, 2}, {80, 1, 1}}, "a"};
	struct definition_cubin piece = {.crc = 7};
	uint8_t body[4096];
	size_t size;

	cubin = (struct cubin_fixture){0};
	fixture_symbol_add(&cubin, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(&cubin);
	fixture_address(&cubin, 0, 0);
	fixture_row(&cubin, 0, 9);
	fixture_end_sequence(&cubin, 64);
	fixture_end(&cubin);
	uint8_t *image = fixture_image(&cubin, &size);

	define(DEFINITION_STALL_REASON, &reason, sizeof(reason));
	piece.size = (uint32_t)size;
	for (uint32_t half = 0; half < 2; half++) {
		uint32_t count = half ? piece.size - piece.size / 2 : piece.size / 2;

		piece.offset = half ? piece.size / 2 : 0;
		memcpy(body, &piece, sizeof(piece));
		memcpy(body + sizeof(piece), image + piece.offset, count);
		add(RING_EDIT_DEFINITION, DEFINITION_CUBIN, 0, body, sizeof(piece) + count);
	}
	add(RING_EDIT_DEFINITION, DEFINITION_KERNEL_SAMPLES, 0, &samples,
	    offsetof(__typeof__(samples), kernel) + 1);
	free(image);
}

static void add_records(void)
{
	const uint64_t frames[] = {0x2000, 0x3000, 0x12345678}, counts[] = {3, 400};
	const uint64_t backward[] = {0x2000, stack_word_origin(1, 1, false)};
	const struct launch_record launch = {.time_ns = 5,
					     .correlation_id = 9,
					     .stack_id = 2,
					     .tid = 4,
					     .cbid = 307,
					     .window = 1};
	const struct gpu_record record = {
		.start_ns = 100, .end_ns = 200, .correlation_id = 9, .name_id = 1, .window = 1};
	const struct collective_record collective = {.start_ns = 50,
						     .duration_ns = 5,
						     .sequence = 1,
						     .communicator_id = 1,
						     .correlation_id = 9};

	add(RING_EDIT_STACK, 0, 0, frames, sizeof(frames));
	add(RING_EDIT_STACK, 0, 0, backward, sizeof(backward));
	add(RING_EDIT_CODE, 6, 0, "run.pymain", 10);
	add(RING_EDIT_LAUNCH, 0, 1, &launch, sizeof(launch));
	add(RING_EDIT_COLLECTIVE, 0, 0, &collective, sizeof(collective));
	add(RING_EDIT_RECORD, 0, 0, &record, sizeof(record));
	add(RING_EDIT_COUNT, LEDGER_RECORD_RING_FULL, 0, counts, sizeof(counts));
}

int main(int argc, char **argv)
{
	int failed = argc != 2;

	add_definitions();
	add_samples();
	add_records();
	size_t written = ring.size;
	add(RING_EDIT_PASS, 0, 0, NULL, 0);
	add(RING_EDIT_TAKE_OVER, 0, 0, NULL, 0);
	add_definitions();
	add(RING_EDIT_TAKE_OVER, 0, 1, NULL, 0);
	failed = failed || seed_write(argv[1], "all", 0, ring.bytes, ring.size) != 0;
	for (uint32_t word = 0; word < 64 && !failed; word++) {
		const uint64_t forged = word % 2 ? UINT64_MAX : 1u << word % 30;

		ring.size = written;
		add(RING_EDIT_POKE, 0, word < HEADER_WORDS ? word * 8 : word * 16, &forged,
		    sizeof(forged));
		failed = seed_write(argv[1], "forged", word, ring.bytes, ring.size) != 0;
	}
	if (failed)
		fprintf(stderr, "ring_corpus: give a directory that can be written to\n");
	return failed;
}
