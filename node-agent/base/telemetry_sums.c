#include "telemetry_sums.h"

#include <stdbool.h>

#define NS_PER_US 1000u
#define NS_PER_S  1000000000u

void telemetry_sums_init(struct telemetry_sums *sums, uint64_t now_ns, uint64_t real_ns)
{
	*sums = (struct telemetry_sums){
		.total = {.begin_ns = real_ns, .last_ns = real_ns},
		.begin_ns = now_ns,
		.first_ns = now_ns,
	};
}

static void say(struct telemetry_sums *sums, uint32_t refusal, uint64_t now_ns)
{
	sums->total.refusal = refusal;
	if (now_ns > sums->begin_ns)
		sums->total.last_ns = sums->total.begin_ns + (now_ns - sums->begin_ns);
}

static void add_clocks(struct device_telemetry *total, const struct nvml_reading *reading,
		       uint64_t ns)
{
	if (ns == 0 || ((reading->known & NVML_REASONS) && reading->reason == TELEMETRY_IDLE))
		return;
	if (total->clock_ns == 0 || reading->sm_mhz < total->sm_min_mhz)
		total->sm_min_mhz = reading->sm_mhz;
	if (reading->sm_mhz > total->sm_max_mhz)
		total->sm_max_mhz = reading->sm_mhz;
	total->clock_ns += ns;
	total->sm_cycles += ns / NS_PER_US * reading->sm_mhz;
	total->memory_cycles += ns / NS_PER_US * reading->memory_mhz;
}

/* Adds a part of a time, at most what a message can have. */
static void add_part(uint64_t *sum, uint64_t ns, uint64_t amount, uint64_t whole)
{
	const unsigned __int128 now = *sum + (unsigned __int128)ns * amount / whole;

	*sum = now < INT64_MAX ? (uint64_t)now : INT64_MAX;
}

/* A counter begins anew with the driver: then the time does not count. */
static void add_energy(struct telemetry_sums *sums, uint64_t energy_mj, uint64_t at_ns)
{
	if (sums->energy_at_ns && at_ns > sums->energy_at_ns && energy_mj >= sums->energy_mj) {
		sums->total.energy_ns += at_ns - sums->energy_at_ns;
		sums->total.energy_mj += energy_mj - sums->energy_mj;
	}
	sums->energy_mj = energy_mj;
	sums->energy_at_ns = at_ns;
}

/* A difference spans the time since the sample before. */
static void add_gpm(struct telemetry_sums *sums, const struct nvml_gpm_reading *gpm, uint64_t at_ns)
{
	const uint64_t ns =
		sums->gpm_at_ns && at_ns > sums->gpm_at_ns ? at_ns - sums->gpm_at_ns : 0;
	struct device_telemetry *total = &sums->total;

	for (uint32_t i = 0; i < TELEMETRY_USES; i++)
		if (gpm->known_uses & 1u << i) {
			total->use_known_ns[i] += ns;
			add_part(&total->use_ns[i], ns, gpm->use[i], NVML_GPM_WHOLE);
		}
	for (uint32_t i = 0; i < TELEMETRY_TRAFFICS; i++)
		if (gpm->known_traffics & 1u << i) {
			total->traffic_known_ns[i] += ns;
			add_part(&total->traffic_bytes[i], ns, gpm->bytes_per_second[i], NS_PER_S);
		}
	if (gpm->has_sample)
		sums->gpm_at_ns = at_ns;
}

static void add_errors(struct telemetry_sums *sums, const struct nvml_reading *reading, uint64_t ns)
{
	const struct nvml_reading *before = &sums->before;
	uint32_t known = before->known & reading->known;
	struct device_telemetry *total = &sums->total;

	if ((known & NVML_ECC) && reading->ecc_corrected >= before->ecc_corrected &&
	    reading->ecc_uncorrected >= before->ecc_uncorrected) {
		total->ecc_ns += ns;
		total->ecc_corrected += reading->ecc_corrected - before->ecc_corrected;
		total->ecc_uncorrected += reading->ecc_uncorrected - before->ecc_uncorrected;
	}
}

static void end_row(struct telemetry_sums *sums, uint64_t now_ns)
{
	const uint64_t since_ns = now_ns > sums->begin_ns ? now_ns - sums->begin_ns : 0;

	if (since_ns < TELEMETRY_SUMS_ROW_NS ||
	    since_ns * TELEMETRY_SUMS_ROWS < now_ns - sums->first_ns)
		return;
	const struct device_telemetry ended = sums->total;

	sums->ended[sums->nr_ended++ % TELEMETRY_SUMS_ENDED] = ended;
	sums->total = (struct device_telemetry){.begin_ns = ended.last_ns,
						.last_ns = ended.last_ns,
						.refusal = ended.refusal,
						.gpm_refusal = ended.gpm_refusal};
	sums->begin_ns = now_ns;
}

void telemetry_sums_add(struct telemetry_sums *sums, const struct nvml_reading *reading,
			uint64_t now_ns)
{
	uint64_t at_ns = now_ns - now_ns % NS_PER_US;
	uint64_t ns = sums->before_ns && at_ns > sums->before_ns ? at_ns - sums->before_ns : 0;
	struct device_telemetry *total = &sums->total;

	total->readings++;
	say(sums, reading->refusal, now_ns);
	total->gpm_refusal = reading->gpm.refusal;
	if (reading->celsius > total->max_celsius)
		total->max_celsius = reading->celsius;
	if (reading->known & NVML_ENERGY)
		add_energy(sums, reading->energy_mj, at_ns);
	add_gpm(sums, &reading->gpm, at_ns);
	if (sums->before_ns)
		add_errors(sums, reading, ns);
	if (ns <= TELEMETRY_GAP_NS) {
		total->observed_ns += ns;
		if (reading->known & NVML_CLOCKS)
			add_clocks(total, reading, ns);
		if (reading->known & NVML_REASONS)
			total->reason_ns[reading->reason] += ns;
		if (reading->known & NVML_POWER) {
			total->power_ns += ns;
			total->power_nj += ns / NS_PER_US * reading->power_mw;
		}
	}
	sums->before = *reading;
	sums->before_ns = at_ns;
	end_row(sums, now_ns);
}

const struct device_telemetry *telemetry_sums_next(const struct telemetry_sums *sums,
						   const struct device_telemetry *told)
{
	const uint64_t first =
		sums->nr_ended > TELEMETRY_SUMS_ENDED ? sums->nr_ended - TELEMETRY_SUMS_ENDED : 0;

	if (told->begin_ns == 0)
		return &sums->total;
	/* A later row begins where the told one ended, or after it. */
	for (uint64_t i = first; i < sums->nr_ended; i++) {
		const struct device_telemetry *ended = &sums->ended[i % TELEMETRY_SUMS_ENDED];

		if (ended->begin_ns > told->begin_ns ||
		    (ended->begin_ns == told->begin_ns && ended->last_ns != told->last_ns))
			return ended;
	}
	return &sums->total;
}

void telemetry_sums_refuse(struct telemetry_sums *sums, uint32_t refusal, uint64_t now_ns)
{
	say(sums, refusal, now_ns);
	sums->total.gpm_refusal = refusal;
}

void telemetry_sums_pause(struct telemetry_sums *sums)
{
	sums->before_ns = sums->energy_at_ns = sums->gpm_at_ns = 0;
}
