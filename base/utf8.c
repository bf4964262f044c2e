#include "utf8.h"

size_t utf8_size(const uint8_t *text, size_t left, uint32_t *code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t size = text[0] < 0x80             ? 1
		      : (text[0] & 0xe0) == 0xc0 ? 2
		      : (text[0] & 0xf0) == 0xe0 ? 3
		      : (text[0] & 0xf8) == 0xf0 ? 4
						 : 0;

	if (size == 0 || size > left)
		return 0;
	*code = size == 1 ? text[0] : text[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (text[i] & 0x3f);
	}
	bool valid =
		*code >= smallest[size] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff);
	return valid ? size : 0;
}

bool utf8_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || (code & 0xfffe) == 0xfffe;
}
