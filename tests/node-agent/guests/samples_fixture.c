#include "samples_fixture.h"

#include "tests/support/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "proto/batch/message.h"
#include "tests/node-agent/cubin/cubin_fixture.h"

#define CRC        SAMPLES_FIXTURE_CRC
#define PIECE      SAMPLES_FIXTURE_PIECE
#define CUBIN_SIZE SAMPLES_FIXTURE_CUBIN_SIZE

void samples_fixture_reason(struct ring_source_fixture *fixture, uint32_t index, const char *name)
{
	const struct definition_stall_reason head = {.index = index};

	assert_true(record_ring_define(fixture->guest, DEFINITION_STALL_REASON, &head, sizeof(head),
				       name, (uint32_t)strlen(name)));
}

void samples_fixture_raw(struct ring_source_fixture *fixture, uint64_t crc, uint32_t device_id,
			 uint32_t nr_entries, const void *tail, uint32_t size)
{
	const struct definition_kernel_samples head = {.time_ns = 1000,
						       .cubin_crc = crc,
						       .device_id = device_id,
						       .nr_entries = nr_entries};

	assert_true(record_ring_define(fixture->guest, DEFINITION_KERNEL_SAMPLES, &head,
				       sizeof(head), tail, size));
}

void samples_fixture_define(struct ring_source_fixture *fixture, uint64_t crc, uint32_t device_id,
			    const char *kernel, const struct definition_kernel_sample *entries,
			    uint32_t nr_entries)
{
	uint8_t *tail = malloc(nr_entries * sizeof(*entries) + strlen(kernel));

	assert_non_null(tail);
	memcpy(tail, entries, nr_entries * sizeof(*entries));
	memcpy(tail + nr_entries * sizeof(*entries), kernel, strlen(kernel));
	samples_fixture_raw(fixture, crc, device_id, nr_entries, tail,
			    (uint32_t)(nr_entries * sizeof(*entries) + strlen(kernel)));
	free(tail);
}

void samples_fixture_piece(struct ring_source_fixture *fixture, uint64_t crc, uint32_t size,
			   uint32_t offset, const void *bytes, uint32_t nr_bytes)
{
	const struct definition_cubin head = {.crc = crc, .size = size, .offset = offset};

	assert_true(record_ring_define(fixture->guest, DEFINITION_CUBIN, &head, sizeof(head), bytes,
				       nr_bytes));
}

uint8_t *samples_fixture_image(void)
{
	static const char strings[] = "leaf";
	static struct cubin_fixture cubin;
	size_t size;

	memset(&cubin, 0, sizeof(cubin));
	cubin.strings = strings;
	cubin.strings_size = sizeof(strings);
	fixture_symbol_add(&cubin, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_symbol_add(&cubin, "b", FIXTURE_TEXT_B, 0, 64);
	fixture_begin(&cubin);
	fixture_address(&cubin, 0, 0);
	fixture_row(&cubin, 0, 9);
	fixture_inline(&cubin, 1, 0);
	fixture_byte(&cubin, 4);
	fixture_byte(&cubin, 2);
	fixture_row(&cubin, 16, 1);
	fixture_end_sequence(&cubin, 48);
	fixture_address(&cubin, 1, 0);
	fixture_row(&cubin, 0, 49);
	fixture_end_sequence(&cubin, 64);
	fixture_end(&cubin);
	uint8_t *image = fixture_image(&cubin, &size);
	assert_true(size <= CUBIN_SIZE);
	image = realloc(image, CUBIN_SIZE);
	assert_non_null(image);
	memset(image + size, 0, CUBIN_SIZE - size);
	return image;
}

void samples_fixture_cubin(struct ring_source_fixture *fixture)
{
	uint8_t *image = samples_fixture_image();

	for (uint32_t at = 0; at < CUBIN_SIZE; at += PIECE)
		samples_fixture_piece(fixture, CRC, CUBIN_SIZE, at, image + at,
				      CUBIN_SIZE - at < PIECE ? CUBIN_SIZE - at : PIECE);
	free(image);
}

bool samples_fixture_next(struct ring_source_fixture *fixture, struct message *message)
{
	const uint8_t *frame;
	size_t size;
	int r = ring_source_read(fixture->source, fixture->builder);

	assert_true(r >= 0);
	if (!ring_source_alone(fixture->source, 9, message)) {
		assert_false(ring_source_has_alone(fixture->source));
		return r == 1 ? samples_fixture_next(fixture, message) : false;
	}
	assert_int_equal(r, 1);
	assert_false(ring_source_has_alone(fixture->source));
	assert_int_equal(message->type, MESSAGE_SAMPLES);
	assert_int_equal(message->samples.process_id, 9);
	message->samples.seq = 1;
	assert_int_equal(batch_encode(fixture->encoder, message, &frame, &size), 0);
	return true;
}

const struct host_sample *samples_fixture_take_all(struct ring_source_fixture *fixture,
						   uint32_t count)
{
	struct message message = {0}, none;

	ring_source_begin(fixture->source, true, 0);
	if (count == 0) {
		assert_false(samples_fixture_next(fixture, &none));
		return NULL;
	}
	assert_true(samples_fixture_next(fixture, &message));
	assert_int_equal(message.samples.nr_samples, count);
	return message.samples.samples;
}

uint64_t samples_fixture_untrusted(struct ring_source_fixture *fixture)
{
	return ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_UNTRUSTED_RING);
}

uint64_t samples_fixture_code_lost(struct ring_source_fixture *fixture)
{
	return ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_GPU_CODE_LOST);
}
