#include "checksum.h"

#include <string.h>

uint64_t checksum_add(uint64_t checksum, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	while (size > 0) {
		uint64_t word = 0;
		size_t part = size < sizeof(word) ? size : sizeof(word);

		memcpy(&word, bytes, part);
		checksum = (checksum ^ word) * 0x9e3779b97f4a7c15ull;
		checksum ^= checksum >> 32;
		bytes += part;
		size -= part;
	}
	return checksum;
}
