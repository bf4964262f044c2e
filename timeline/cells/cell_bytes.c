#include "cell_bytes.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

#define VARINT_BYTES_MAX 10u

int cell_bytes_put_data(struct cell_bytes *bytes, const void *data, size_t size)
{
	if (array_reserve(&bytes->data, &bytes->room, (uint64_t)bytes->size + size, 1))
		return -ENOMEM;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += (uint32_t)size;
	return 0;
}

int cell_bytes_put(struct cell_bytes *bytes, uint64_t number)
{
	uint8_t varint[VARINT_BYTES_MAX];
	size_t size = 0;

	for (; number > INT8_MAX; number >>= 7)
		varint[size++] = (uint8_t)(number | 0x80);
	varint[size++] = (uint8_t)number;
	return cell_bytes_put_data(bytes, varint, size);
}

int cell_bytes_put_signed(struct cell_bytes *bytes, int64_t number)
{
	return cell_bytes_put(bytes, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

uint64_t cell_input_get(struct cell_input *input)
{
	uint64_t number = 0;

	for (uint32_t shift = 0; shift < 64 && input->at < input->end; shift += 7) {
		const uint8_t byte = *input->at++;

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	input->is_damaged = true;
	input->at = input->end;
	return 0;
}

uint32_t cell_input_get_u32(struct cell_input *input)
{
	const uint64_t number = cell_input_get(input);

	input->is_damaged |= number > UINT32_MAX;
	return (uint32_t)number;
}

int64_t cell_input_get_signed(struct cell_input *input)
{
	const uint64_t number = cell_input_get(input);

	return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}
