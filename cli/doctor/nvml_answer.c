#include "nvml_answer.h"

#include <time.h>

#include "base/clock.h"
#include "node-agent/base/telemetry_reader.h"

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

uint32_t nvml_answer(const struct device_list *devices)
{
	struct device_list_entry nowhere = {0};
	struct device_list none = {&nowhere, 1};
	struct telemetry_reader *reader = telemetry_reader_create(INTERVAL_MS);

	if (!reader)
		return TELEMETRY_FAILED;
	uint32_t refusal = ask_all(reader, devices->count ? devices : &none);
	telemetry_reader_destroy(reader, INTERVAL_MS);
	return devices->count == 0 && refusal == TELEMETRY_NO_DEVICE ? TELEMETRY_ANSWERS : refusal;
}
