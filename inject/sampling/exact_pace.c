#include "exact_pace.h"

#include "sampling_session.h"

#define RATE_USUAL 100u /* a second, which SAMPLING_LOOKS_PER_SECOND gives */
#define LOOKS_MAX  200000u

void exact_pace_begin(struct exact_pace *pace, uint32_t rate, uint64_t now_ns)
{
	*pace = (struct exact_pace){.rate = rate, .begin_ns = now_ns};
}

void exact_pace_add(struct exact_pace *pace, uint64_t samples, uint64_t ns)
{
	pace->samples += samples;
	pace->spent_ns += ns;
}

uint64_t exact_pace_next(const struct exact_pace *pace)
{
	const unsigned __int128 by_rate =
		(unsigned __int128)pace->samples * 1000000000u / pace->rate;
	const unsigned __int128 by_share = (unsigned __int128)pace->spent_ns * EXACT_PACE_SHARE;
	const unsigned __int128 next = pace->begin_ns + (by_rate > by_share ? by_rate : by_share);

	return next > UINT64_MAX ? UINT64_MAX : (uint64_t)next;
}

uint32_t exact_pace_looks(uint32_t rate)
{
	const uint64_t looks = (uint64_t)SAMPLING_LOOKS_PER_SECOND * rate / RATE_USUAL;

	if (looks < SAMPLING_LOOKS_PER_SECOND)
		return SAMPLING_LOOKS_PER_SECOND;
	return looks < LOOKS_MAX ? (uint32_t)looks : LOOKS_MAX;
}
