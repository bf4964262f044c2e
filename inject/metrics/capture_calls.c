#include "capture_calls.h"

#define BEGINS 6u /* of them; the others end a capture */

const uint16_t capture_calls[CAPTURE_CALLS] = {495, 496, 539, 540, 720, 721, 497, 498};

static bool has(uint32_t cbid, uint32_t first, uint32_t end)
{
	while (first < end && capture_calls[first] != cbid)
		first++;
	return first < end;
}

bool capture_calls_begin(uint32_t cbid)
{
	return has(cbid, 0, BEGINS);
}

bool capture_calls_end(uint32_t cbid)
{
	return has(cbid, BEGINS, CAPTURE_CALLS);
}

bool capture_calls_have(uint32_t cbid)
{
	return has(cbid, 0, CAPTURE_CALLS);
}
