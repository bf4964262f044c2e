#include "capture_calls.h"

const uint16_t capture_calls[CAPTURE_CALLS] = {495, 496, 497, 498, 539, 540, 720, 721};

bool capture_calls_begin(uint32_t cbid)
{
	return cbid == 495 || cbid == 496 || cbid == 539 || cbid == 540 || cbid == 720 ||
	       cbid == 721;
}

bool capture_calls_end(uint32_t cbid)
{
	return cbid == 497 || cbid == 498;
}

bool capture_calls_have(uint32_t cbid)
{
	return capture_calls_begin(cbid) || capture_calls_end(cbid);
}
