#include "nvml_answer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "node-agent/base/telemetry_reader.h"
#include "report/names/text_line.h"

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

/* Returns whether the GPU's counter of energy is known: after two readings it has a difference. */
static bool has_energy(struct telemetry_reader *reader, int number, uint64_t until_ns)
{
	const struct device_telemetry none = {0};
	struct device_telemetry telemetry = {0};

	while (telemetry.readings < 2 && clock_now_ns() < until_ns) {
		telemetry_reader_find(reader, number, clock_now_ns(), &none, &telemetry);
		if (telemetry.energy_ns || (telemetry.refusal && telemetry.readings == 0))
			break;
		if (telemetry.readings < 2)
			nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	return telemetry.energy_ns > 0;
}

/* Names the GPUs without a counter, as far as there is room. */
static void tell_energy(struct telemetry_reader *reader, const struct device_list *devices,
			char *energy)
{
	const uint64_t until_ns = clock_now_ns() + NVML_ANSWER_WAIT_MS * NS_PER_MS;
	char lacking[NVML_ANSWER_ENERGY_SIZE / 2] = "";
	uint32_t known = 0;

	for (uint32_t i = 0; i < devices->count; i++) {
		const struct device_list_entry *entry = &devices->entries[i];
		const int number = telemetry_reader_use(reader, entry->pci_domain, entry->pci_bus,
							entry->pci_device);

		if (number >= 0 && has_energy(reader, number, until_ns))
			known++;
		else
			text_line_append(lacking, sizeof(lacking), "%sGPU%" PRId32,
					 *lacking ? ", " : ", not of ", entry->index);
	}
	snprintf(energy, NVML_ANSWER_ENERGY_SIZE, "; energy of %" PRIu32 " of %" PRIu32 " GPU%s%s",
		 known, devices->count, devices->count == 1 ? "" : "s", lacking);
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

uint32_t nvml_answer(const struct device_list *devices, char *energy)
{
	struct device_list_entry nowhere = {0};
	struct device_list none = {&nowhere, 1};
	struct telemetry_reader *reader = telemetry_reader_create(INTERVAL_MS);

	*energy = '\0';
	if (!reader)
		return TELEMETRY_FAILED;
	uint32_t refusal = ask_all(reader, devices->count ? devices : &none);
	if (devices->count && refusal != TELEMETRY_HANGS && refusal != TELEMETRY_NO_LIBRARY &&
	    refusal != TELEMETRY_NO_DRIVER)
		tell_energy(reader, devices, energy);
	telemetry_reader_destroy(reader, INTERVAL_MS);
	return devices->count == 0 && refusal == TELEMETRY_NO_DEVICE ? TELEMETRY_ANSWERS : refusal;
}
