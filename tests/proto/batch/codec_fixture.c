#include "codec_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int codec_fixture_set_up(void **state)
{
	struct codec_fixture *codec = calloc(1, sizeof(*codec));

	assert_non_null(codec);
	codec->encoder = batch_encoder_create();
	codec->decoder = batch_decoder_create();
	assert_non_null(codec->encoder);
	assert_non_null(codec->decoder);
	*state = codec;
	return 0;
}

int codec_fixture_tear_down(void **state)
{
	struct codec_fixture *codec = *state;

	batch_encoder_destroy(codec->encoder);
	batch_decoder_destroy(codec->decoder);
	free(codec);
	return 0;
}

struct codec_fixture_frame codec_fixture_copy(const void *bytes, size_t size)
{
	struct codec_fixture_frame frame = {malloc(size ? size : 1), size};

	assert_non_null(frame.bytes);
	if (size)
		memcpy(frame.bytes, bytes, size);
	return frame;
}

struct codec_fixture_frame codec_fixture_encode(struct codec_fixture *codec,
						const struct message *message)
{
	const uint8_t *bytes;
	size_t size;

	assert_int_equal(batch_encode(codec->encoder, message, &bytes, &size), 0);
	assert_non_null(bytes);
	return codec_fixture_copy(bytes, size);
}

int codec_fixture_decode(struct codec_fixture *codec, const void *bytes, size_t size,
			 struct message *message)
{
	struct codec_fixture_frame frame = codec_fixture_copy(bytes, size);
	int err = batch_decode(codec->decoder, frame.bytes, frame.size, message);

	assert_int_equal(err == 0, batch_decoder_error(codec->decoder)[0] == '\0');
	free(frame.bytes);
	return err;
}
