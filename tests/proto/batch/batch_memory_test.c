/* The codec without memory. Every allocation of it can be made to fail: the test is linked with --wrap. */
#include <errno.h>
#include <msgpack.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec_fixture.h"
#include "message_equal.h"
#include "message_samples.h"

#define ALLOCATIONS_ALL UINT32_MAX

static uint32_t allocations_left = ALLOCATIONS_ALL;
static bool unpack_fails;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
msgpack_unpack_return __real_msgpack_unpack(const char *data, size_t length, size_t *offset,
					    msgpack_zone *zone, msgpack_object *object);
msgpack_unpack_return __wrap_msgpack_unpack(const char *data, size_t length, size_t *offset,
					    msgpack_zone *zone, msgpack_object *object);

static bool may_allocate(void)
{
	if (allocations_left == ALLOCATIONS_ALL)
		return true;
	return allocations_left > 0 && allocations_left-- > 0;
}

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size)
{
	return may_allocate() ? __real_realloc(memory, size) : NULL;
}

msgpack_unpack_return __wrap_msgpack_unpack(const char *data, size_t length, size_t *offset,
					    msgpack_zone *zone, msgpack_object *object)
{
	return unpack_fails ? MSGPACK_UNPACK_NOMEM_ERROR
			    : __real_msgpack_unpack(data, length, offset, zone, object);
}

static void creation_without_memory_gives_null(void **state)
{
	(void)state;
	allocations_left = 0;
	assert_null(batch_encoder_create());
	assert_null(batch_decoder_create());
	allocations_left = ALLOCATIONS_ALL;
	batch_encoder_destroy(NULL);
	batch_decoder_destroy(NULL);
}

static int encode_with(uint32_t nr_allocations, const struct message *message)
{
	struct batch_encoder *encoder = batch_encoder_create();
	const uint8_t *bytes;
	size_t size;
	int err;

	assert_non_null(encoder);
	allocations_left = nr_allocations;
	err = batch_encode(encoder, message, &bytes, &size);
	allocations_left = ALLOCATIONS_ALL;
	assert_int_equal(err == 0, bytes != NULL);
	batch_encoder_destroy(encoder);
	return err;
}

static int decode_with(uint32_t nr_allocations, const struct codec_fixture_frame *frame,
		       const struct message *expected)
{
	struct batch_decoder *decoder = batch_decoder_create();
	struct message message;
	int err;

	assert_non_null(decoder);
	allocations_left = nr_allocations;
	err = batch_decode(decoder, frame->bytes, frame->size, &message);
	allocations_left = ALLOCATIONS_ALL;
	if (!err)
		assert_true(message_equal(&message, expected));
	batch_decoder_destroy(decoder);
	return err;
}

static void any_allocation_may_fail(void **state)
{
	for (uint32_t i = 0; i < NR_MESSAGE_SAMPLES; i++) {
		const struct message *message = message_samples_get(i);
		struct codec_fixture_frame frame = codec_fixture_encode(*state, message);
		uint32_t nr_allocations = 0;
		int err;

		while ((err = encode_with(nr_allocations, message)) == -ENOMEM)
			nr_allocations++;
		assert_int_equal(err, 0);
		assert_true(nr_allocations > 0);
		nr_allocations = 0;
		while ((err = decode_with(nr_allocations, &frame, message)) == -ENOMEM)
			nr_allocations++;
		assert_int_equal(err, 0);
		free(frame.bytes);
	}
}

static void lack_of_memory_in_msgpack_is_reported_as_such(void **state)
{
	struct codec_fixture *codec = *state;
	struct message message;

	unpack_fails = true;
	assert_int_equal(codec_fixture_decode(codec, "\x93\x0e\x01\x01", 4, &message), -ENOMEM);
	unpack_fails = false;
	assert_int_equal(codec_fixture_decode(codec, "\x93\x0e\x01\x01", 4, &message), 0);
	assert_int_equal(message.bye.seq, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(creation_without_memory_gives_null),
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(lack_of_memory_in_msgpack_is_reported_as_such),
	};

	return cmocka_run_group_tests(tests, codec_fixture_set_up, codec_fixture_tear_down);
}
