#include "gpu_telemetry.h"

#include <stdbool.h>
#include <stddef.h>

#include "gpm_use.h"

#define NS_PER_US   1000.0
#define MHZ_MAX     100000.0
#define TIME_MAX_NS 100000000000000000ull /* three years; sums of rows stay far below 64 bits */

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

void gpu_telemetry_add(struct device_telemetry *sums, const struct device_telemetry *more)
{
	if (more->clock_ns && (sums->clock_ns == 0 || more->sm_min_mhz < sums->sm_min_mhz))
		sums->sm_min_mhz = more->sm_min_mhz;
	sums->sm_max_mhz = larger(sums->sm_max_mhz, more->sm_max_mhz);
	sums->max_celsius = larger(sums->max_celsius, more->max_celsius);
	sums->readings += more->readings;
	sums->observed_ns += more->observed_ns;
	sums->clock_ns += more->clock_ns;
	sums->sm_cycles += more->sm_cycles;
	sums->memory_cycles += more->memory_cycles;
	for (unsigned int i = 0; i < TELEMETRY_REASONS; i++)
		sums->reason_ns[i] += more->reason_ns[i];
	sums->power_ns += more->power_ns;
	sums->power_nj += more->power_nj;
	sums->energy_ns += more->energy_ns;
	sums->energy_mj += more->energy_mj;
	sums->ecc_ns += more->ecc_ns;
	sums->ecc_corrected += more->ecc_corrected;
	sums->ecc_uncorrected += more->ecc_uncorrected;
	gpm_use_add(sums, more);
	/* the newest life speaks */
	sums->refusal = more->refusal;
	sums->gpm_refusal = more->gpm_refusal;
	sums->last_ns = more->last_ns;
	if (sums->begin_ns == 0)
		sums->begin_ns = more->begin_ns;
}

static bool is_clock(uint64_t cycles, uint64_t ns)
{
	return ns == 0 || (double)cycles * NS_PER_US / (double)ns <= MHZ_MAX;
}

/* Returns whether a row can be. A damaged profile may have others. */
static bool is_possible(const struct device_telemetry *row)
{
	bool possible = row->observed_ns <= TIME_MAX_NS && row->clock_ns <= TIME_MAX_NS &&
			is_clock(row->sm_cycles, row->clock_ns) &&
			is_clock(row->memory_cycles, row->clock_ns) &&
			gpm_use_is_possible(row, TIME_MAX_NS);

	for (unsigned int i = 0; i < TELEMETRY_REASONS && possible; i++)
		possible = row->reason_ns[i] <= TIME_MAX_NS;
	return possible;
}

void gpu_telemetry_of(const struct placement_log *log, uint32_t device,
		      struct device_telemetry *sums)
{
	gpu_telemetry_between(log, device, 0, UINT64_MAX, sums);
}

static void add_row(void *sums, const struct device_telemetry *row)
{
	gpu_telemetry_add(sums, row);
}

void gpu_telemetry_between(const struct placement_log *log, uint32_t device, uint64_t start_ns,
			   uint64_t end_ns, struct device_telemetry *sums)
{
	*sums = (struct device_telemetry){.device_id = device};
	gpu_telemetry_each(log, device, start_ns, end_ns, add_row, sums);
}

/* Rows of one agent follow each other. Another agent's row takes the place of one only if it saw much more: rows of
 * both are about as long, mostly, and each would take the place of the one before it. */
static bool saw_much_more(const struct device_telemetry *row, const struct device_telemetry *than)
{
	return row->observed_ns / 2 > than->observed_ns;
}

/* Returns the index of the device's first row, or of that of a later device. */
static uint32_t first_of(const struct device_telemetry *rows, uint32_t count, uint32_t device)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (rows[middle].device_id < device)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void gpu_telemetry_each(const struct placement_log *log, uint32_t device, uint64_t start_ns,
			uint64_t end_ns, gpu_telemetry_take *take, void *context)
{
	const struct device_telemetry *life = NULL;
	uint32_t count;
	const struct device_telemetry *rows = placement_log_telemetry(log, &count);

	for (uint32_t i = first_of(rows, count, device); i < count && rows[i].device_id == device;
	     i++) {
		const struct device_telemetry *row = &rows[i];

		if (!is_possible(row) || row->begin_ns >= end_ns || row->last_ns < start_ns)
			continue;
		if (life && row->begin_ns < life->last_ns) {
			life = saw_much_more(row, life) ? row : life;
			continue;
		}
		if (life)
			take(context, life);
		life = row;
	}
	if (life)
		take(context, life);
}

/* Cycles by microseconds are MHz. */
static double mean(uint64_t amount, uint64_t ns)
{
	return ns ? (double)amount * NS_PER_US / (double)ns : 0;
}

double gpu_telemetry_sm_mhz(const struct device_telemetry *sums)
{
	return mean(sums->sm_cycles, sums->clock_ns);
}

double gpu_telemetry_memory_mhz(const struct device_telemetry *sums)
{
	return mean(sums->memory_cycles, sums->clock_ns);
}

double gpu_telemetry_watts(const struct device_telemetry *sums)
{
	return sums->power_ns ? (double)sums->power_nj / (double)sums->power_ns : 0;
}

uint64_t gpu_telemetry_held_ns(const struct device_telemetry *sums, enum telemetry_reason *longest)
{
	uint64_t held_ns = 0;

	*longest = TELEMETRY_FREE;
	for (unsigned int i = TELEMETRY_IDLE + 1; i < TELEMETRY_FREE; i++) {
		if (sums->reason_ns[i] >
		    (*longest == TELEMETRY_FREE ? 0 : sums->reason_ns[*longest]))
			*longest = i;
		held_ns += sums->reason_ns[i];
	}
	return held_ns;
}

uint64_t gpu_telemetry_working_ns(const struct device_telemetry *sums)
{
	enum telemetry_reason longest;

	return gpu_telemetry_held_ns(sums, &longest) + sums->reason_ns[TELEMETRY_FREE];
}

static const struct {
	const char *words, *name;
} reasons[TELEMETRY_REASONS] = {
	[TELEMETRY_IDLE] = {"idle", "idle"},
	[TELEMETRY_HW_THERMAL] = {"hardware slowdown, too hot", "hw_thermal"},
	[TELEMETRY_HW_POWER_BRAKE] = {"hardware slowdown, power brake", "hw_power_brake"},
	[TELEMETRY_HW_SLOWDOWN] = {"hardware slowdown", "hw_slowdown"},
	[TELEMETRY_SW_THERMAL] = {"thermal limit", "sw_thermal"},
	[TELEMETRY_SW_POWER_CAP] = {"power cap", "sw_power_cap"},
	[TELEMETRY_SYNC_BOOST] = {"sync boost", "sync_boost"},
	[TELEMETRY_SET_CLOCKS] = {"clocks set", "set_clocks"},
	[TELEMETRY_OTHER] = {"another reason", "other"},
	[TELEMETRY_FREE] = {"nothing", "free"},
};

static const struct {
	const char *words, *name;
} refusals[] = {
	[TELEMETRY_ANSWERS] = {"", "none"},
	[TELEMETRY_NO_LIBRARY] = {"libnvidia-ml.so.1 is missing, or too old", "no_library"},
	[TELEMETRY_NO_DRIVER] = {"NVML does not start", "no_driver"},
	[TELEMETRY_NO_DEVICE] = {"NVML does not see the GPU", "no_device"},
	[TELEMETRY_DIVIDED] = {"the GPU is divided (MIG)", "divided"},
	[TELEMETRY_NOT_SUPPORTED] = {"the GPU or its driver does not tell all", "not_supported"},
	[TELEMETRY_NO_PERMISSION] = {"NVML does not permit it", "no_permission"},
	[TELEMETRY_HANGS] = {"NVML hangs", "hangs"},
	[TELEMETRY_FAILED] = {"NVML failed", "failed"},
};

const char *gpu_telemetry_reason_words(enum telemetry_reason reason)
{
	return reasons[reason].words;
}

const char *gpu_telemetry_reason_name(enum telemetry_reason reason)
{
	return reasons[reason].name;
}

const char *gpu_telemetry_refusal_words(uint32_t refusal)
{
	return refusal < TELEMETRY_REFUSALS ? refusals[refusal].words : "the reason is unknown";
}

const char *gpu_telemetry_refusal_name(uint32_t refusal)
{
	return refusal < TELEMETRY_REFUSALS ? refusals[refusal].name : "unknown";
}
