#include "nvml_answer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "node-agent/base/telemetry_reader.h"
#include "report/names/text_line.h"
#include "report/telemetry/gpu_telemetry.h"

#define INTERVAL_MS 100u
#define LOOK_NS     5000000
#define NS_PER_MS   1000000ull

/* Waits until the GPU has told something, or not. */
static uint32_t await(struct telemetry_reader *reader, int number, uint64_t until_ns)
{
	const struct device_telemetry none = {0};
	struct device_telemetry telemetry;

	do {
		telemetry_reader_find(reader, number, clock_now_ns(), &none, &telemetry);
		if (telemetry.readings || telemetry.refusal)
			return telemetry.refusal;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	} while (clock_now_ns() < until_ns);
	return TELEMETRY_HANGS;
}

/* Waits for two readings, which have a difference. */
static void await_difference(struct telemetry_reader *reader, int number, uint64_t until_ns,
			     struct device_telemetry *telemetry)
{
	const struct device_telemetry none = {0};

	*telemetry = none;
	while (telemetry->readings < 2 && clock_now_ns() < until_ns) {
		telemetry_reader_find(reader, number, clock_now_ns(), &none, telemetry);
		if (telemetry->refusal && telemetry->readings == 0)
			break;
		if (telemetry->readings < 2)
			nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
}

/* What some GPUs tell, and others do not. */
struct tally {
	uint32_t known;
	char lacking[NVML_ANSWER_COUNTERS_SIZE /
		     4];  /* ", not of GPU0, GPU3", as far as there is room */
	uint32_t refusal; /* why the first one does not */
};

static void count(struct tally *tally, const struct device_list_entry *entry, bool is_known,
		  uint32_t refusal)
{
	if (is_known) {
		tally->known++;
		return;
	}
	if (!*tally->lacking)
		tally->refusal = refusal;
	text_line_append(tally->lacking, sizeof(tally->lacking), "%sGPU%" PRId32,
			 *tally->lacking ? ", " : ", not of ", entry->index);
}

/* GPUs before Hopper have no GPM, which is no fault of theirs. */
static const char *gpm_words(uint32_t refusal)
{
	return refusal == TELEMETRY_NOT_SUPPORTED ? "GPUs before Hopper and older drivers have none"
						  : gpu_telemetry_refusal_words(refusal);
}

/* Names the GPUs without a counter of energy, and those without GPM. */
static void tell_counters(struct telemetry_reader *reader, const struct device_list *devices,
			  char *counters)
{
	const uint64_t until_ns = clock_now_ns() + NVML_ANSWER_WAIT_MS * NS_PER_MS;
	const char *plural = devices->count == 1 ? "" : "s";
	struct tally energy = {0}, gpm = {0};

	for (uint32_t i = 0; i < devices->count; i++) {
		const struct device_list_entry *entry = &devices->entries[i];
		const int number = telemetry_reader_use(reader, entry->pci_domain, entry->pci_bus,
							entry->pci_device);
		struct device_telemetry telemetry = {0};

		if (number >= 0)
			await_difference(reader, number, until_ns, &telemetry);
		count(&energy, entry, telemetry.energy_ns > 0, telemetry.refusal);
		count(&gpm, entry, telemetry.use_known_ns[TELEMETRY_SM] > 0, telemetry.gpm_refusal);
	}
	*counters = '\0';
	text_line_append(counters, NVML_ANSWER_COUNTERS_SIZE,
			 "; energy of %" PRIu32 " of %" PRIu32 " GPU%s%s", energy.known,
			 devices->count, plural, energy.lacking);
	text_line_append(counters, NVML_ANSWER_COUNTERS_SIZE,
			 "; use and traffic (GPM) of %" PRIu32 " of %" PRIu32 " GPU%s%s", gpm.known,
			 devices->count, plural, gpm.lacking);
	if (gpm.refusal)
		text_line_append(counters, NVML_ANSWER_COUNTERS_SIZE, ": %s",
				 gpm_words(gpm.refusal));
}

static uint32_t ask_all(struct telemetry_reader *reader, const struct device_list *devices)
{
	uint64_t until_ns = clock_now_ns() + NVML_ANSWER_WAIT_MS * NS_PER_MS;
	uint32_t worst = TELEMETRY_ANSWERS;

	for (uint32_t i = 0; i < devices->count && worst != TELEMETRY_HANGS; i++) {
		const struct device_list_entry *entry = &devices->entries[i];
		int number = telemetry_reader_use(reader, entry->pci_domain, entry->pci_bus,
						  entry->pci_device);
		uint32_t refusal = number < 0 ? 0 : await(reader, number, until_ns);

		worst = refusal > worst ? refusal : worst;
	}
	return worst;
}

uint32_t nvml_answer(const struct device_list *devices, char *counters)
{
	struct device_list_entry nowhere = {0};
	struct device_list none = {&nowhere, 1};
	struct telemetry_reader *reader = telemetry_reader_create(INTERVAL_MS);

	*counters = '\0';
	if (!reader)
		return TELEMETRY_FAILED;
	uint32_t refusal = ask_all(reader, devices->count ? devices : &none);
	if (devices->count && refusal != TELEMETRY_HANGS && refusal != TELEMETRY_NO_LIBRARY &&
	    refusal != TELEMETRY_NO_DRIVER)
		tell_counters(reader, devices, counters);
	telemetry_reader_destroy(reader, INTERVAL_MS);
	return devices->count == 0 && refusal == TELEMETRY_NO_DEVICE ? TELEMETRY_ANSWERS : refusal;
}
