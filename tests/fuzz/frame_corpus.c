/* Writes a small corpus for frame_fuzz: each sample message as a file.
 *	frame_corpus DIRECTORY	(which exists) */
#include <stdio.h>

#include "proto/batch/batch_encode.h"
#include "seed.h"
#include "tests/proto/batch/message_samples.h"

int main(int argc, char **argv)
{
	struct batch_encoder *encoder = batch_encoder_create();
	int failed = 0;

	if (argc != 2 || !encoder) {
		fprintf(stderr, "frame_corpus: give a directory\n");
		batch_encoder_destroy(encoder);
		return 1;
	}
	for (uint32_t i = 0; i < NR_MESSAGE_SAMPLES && !failed; i++) {
		const uint8_t *frame;
		size_t size;

		failed = batch_encode(encoder, message_samples_get(i), &frame, &size) != 0 ||
			 seed_write(argv[1], "frame", i, frame, size) != 0;
	}
	batch_encoder_destroy(encoder);
	return failed;
}
