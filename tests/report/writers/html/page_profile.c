#include "page_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static const char marker[] = "id=\"profile\">";

static unsigned char *decode_base64(const char *text, size_t *size_bytes)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char *bytes = malloc(strlen(text) + 1);
	uint32_t bits = 0;

	assert_non_null(bytes);
	*size_bytes = 0;
	for (unsigned int nr = 1; *text != '<' && *text != '='; text++, nr++) {
		const char *digit = strchr(alphabet, *text);

		assert_true(digit && *digit);
		bits = bits << 6 | (uint32_t)(digit - alphabet);
		if (nr % 4 != 1)
			bytes[(*size_bytes)++] =
				(unsigned char)(bits >> (8 - 2 * ((nr - 1) % 4 + 1)));
	}
	return bytes;
}

char *page_profile_unpack(const char *page, size_t *size_bytes)
{
	const char *text = strstr(page, marker);
	size_t packed_bytes, room = 1 << 16;
	z_stream inflater = {0};
	char *profile = NULL;
	int result;

	assert_non_null(text);
	unsigned char *packed = decode_base64(text + strlen(marker), &packed_bytes);
	inflater.next_in = packed;
	inflater.avail_in = (uInt)packed_bytes;
	assert_int_equal(inflateInit(&inflater), Z_OK);
	do {
		room *= 2;
		profile = realloc(profile, room);
		assert_non_null(profile);
		inflater.next_out = (Bytef *)profile + inflater.total_out;
		inflater.avail_out = (uInt)(room - inflater.total_out);
		result = inflate(&inflater, Z_NO_FLUSH);
	} while (result == Z_OK);
	assert_int_equal(result, Z_STREAM_END);
	assert_int_equal(inflater.avail_in, 0);
	*size_bytes = inflater.total_out;
	inflateEnd(&inflater);
	free(packed);
	return profile;
}
