/* An encoder and a decoder for the tests of the codec, and frames in memory of their own. Fails the
 * running test on any error that is not asked for. */
#ifndef CODEC_FIXTURE_H
#define CODEC_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"

struct codec_fixture {
	struct batch_encoder *encoder; /* owns */
	struct batch_decoder *decoder; /* owns */
};

struct codec_fixture_frame {
	uint8_t *bytes; /* owns; of exactly size bytes, so that a sanitizer sees a read past them */
	size_t size;
};

/* For cmocka: *state is a struct codec_fixture from set_up until tear_down. */
int codec_fixture_set_up(void **state);
int codec_fixture_tear_down(void **state);

/* Owns: free() the bytes. */
struct codec_fixture_frame codec_fixture_copy(const void *bytes, size_t size);
struct codec_fixture_frame codec_fixture_encode(struct codec_fixture *codec,
						const struct message *message);

/* Decodes a copy of exactly that size, freed on return: of the message only values may be read.
 * Asserts that there are words for an error, and none for success. Returns what batch_decode()
 * does. */
int codec_fixture_decode(struct codec_fixture *codec, const void *bytes, size_t size,
			 struct message *message);

#endif
