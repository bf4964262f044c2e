#include "gpm_use.h"

#define NS_PER_S 1e9
/* Counters of one time differ by so much, as each is read at a moment of its own. */
#define ALIKE 1.02
/* Bytes in a nanosecond, above any link. */
#define RATE_MAX 20000.0

bool gpm_use_is_of_work(const struct device_telemetry *sums)
{
	const uint64_t known_ns = sums->use_known_ns[TELEMETRY_COMPUTING];
	const double limit_ns = (double)sums->use_ns[TELEMETRY_COMPUTING] * ALIKE;

	if (sums->use_ns[TELEMETRY_COMPUTING] == 0)
		return false;
	for (unsigned int i = TELEMETRY_SM; i < TELEMETRY_USES; i++)
		if (sums->use_known_ns[i] &&
		    (sums->use_known_ns[i] != known_ns || (double)sums->use_ns[i] > limit_ns))
			return false;
	return true;
}

double gpm_use_mean(const struct device_telemetry *sums, enum telemetry_use use)
{
	const bool is_of_work = use != TELEMETRY_COMPUTING && gpm_use_is_of_work(sums);
	const uint64_t of_ns =
		is_of_work ? sums->use_ns[TELEMETRY_COMPUTING] : sums->use_known_ns[use];

	if (sums->use_known_ns[use] == 0)
		return GPM_USE_UNKNOWN;
	return sums->use_ns[use] < of_ns ? (double)sums->use_ns[use] / (double)of_ns : 1;
}

double gpm_use_rate(const struct device_telemetry *sums, enum telemetry_traffic traffic)
{
	const uint64_t ns = sums->traffic_known_ns[traffic];

	return ns ? (double)sums->traffic_bytes[traffic] * NS_PER_S / (double)ns : GPM_USE_UNKNOWN;
}

uint64_t gpm_use_known_ns(const struct device_telemetry *sums)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < TELEMETRY_USES; i++)
		ns = sums->use_known_ns[i] > ns ? sums->use_known_ns[i] : ns;
	for (unsigned int i = 0; i < TELEMETRY_TRAFFICS; i++)
		ns = sums->traffic_known_ns[i] > ns ? sums->traffic_known_ns[i] : ns;
	return ns;
}

void gpm_use_add(struct device_telemetry *sums, const struct device_telemetry *more)
{
	for (unsigned int i = 0; i < TELEMETRY_USES; i++) {
		sums->use_known_ns[i] += more->use_known_ns[i];
		sums->use_ns[i] += more->use_ns[i];
	}
	for (unsigned int i = 0; i < TELEMETRY_TRAFFICS; i++) {
		sums->traffic_known_ns[i] += more->traffic_known_ns[i];
		sums->traffic_bytes[i] += more->traffic_bytes[i];
	}
}

bool gpm_use_is_possible(const struct device_telemetry *row, uint64_t max_ns)
{
	for (unsigned int i = 0; i < TELEMETRY_USES; i++)
		if (row->use_known_ns[i] > max_ns || row->use_ns[i] > row->use_known_ns[i])
			return false;
	for (unsigned int i = 0; i < TELEMETRY_TRAFFICS; i++)
		if (row->traffic_known_ns[i] > max_ns ||
		    (double)row->traffic_bytes[i] > (double)row->traffic_known_ns[i] * RATE_MAX)
			return false;
	return true;
}
