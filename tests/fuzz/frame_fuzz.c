/* The codec fed with anything: no crash, no sanitizer report, and whatever is decoded can be sent
 * again and is then the same. A libFuzzer target; with fuzz_main.c a program that is given files.
 */
#include <stdint.h>
#include <stdlib.h>

#include "proto/batch/batch_decode.h"
#include "proto/batch/batch_encode.h"
#include "tests/proto/batch/message_equal.h"
#include "tests/proto/batch/message_samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct batch_decoder *first, *second;
static struct batch_encoder *encoder;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message message, again;
	const uint8_t *frame;
	size_t frame_size;

	if (!first) {
		first = batch_decoder_create();
		second = batch_decoder_create();
		encoder = batch_encoder_create();
	}
	if (!first || !second || !encoder)
		abort();
	if (batch_decode(first, data, size, &message) != 0)
		return 0;
	if (batch_encode(encoder, &message, &frame, &frame_size) != 0)
		abort();
	if (batch_decode(second, frame, frame_size, &again) != 0)
		abort();
	if (!message_equal(&message, &again))
		abort();
	return 0;
}
