/* Writes a small corpus for frame_fuzz: each sample message as a file.
 *	frame_corpus DIRECTORY	(which exists) */
#include <stdio.h>

#include "proto/batch_encode.h"
#include "tests/proto/message_samples.h"

static int write_file(const char *directory, uint32_t index, const uint8_t *bytes, size_t size)
{
	char path[4096];
	FILE *file;
	size_t written;

	if (snprintf(path, sizeof(path), "%s/frame-%02u", directory, index) >= (int)sizeof(path))
		return -1;
	file = fopen(path, "wb");
	if (!file)
		return -1;
	written = fwrite(bytes, 1, size, file);
	return fclose(file) == 0 && written == size ? 0 : -1;
}

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
			 write_file(argv[1], i, frame, size) != 0;
	}
	if (failed)
		fprintf(stderr, "frame_corpus: could not write to %s\n", argv[1]);
	batch_encoder_destroy(encoder);
	return failed;
}
