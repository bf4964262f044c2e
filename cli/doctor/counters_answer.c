#include "counters_answer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "node-agent/counters/counter_reader.h"
#include "report/names/text_line.h"

#define INTERVAL_NS 1000000u
#define LOOK_NS     5000000
#define NS_PER_MS   1000000ull
#define END_MS      2000u

/* Waits until a sample has come, or none will. */
static uint32_t await(struct counter_reader *reader, int number, uint64_t until_ns)
{
	struct counter_state state;

	do {
		counter_reader_find(reader, number, &state);
		if (state.refusal || state.samples)
			return state.refusal;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	} while (clock_now_ns() < until_ns);
	return COUNTER_HANGS;
}

static uint32_t ask_all(struct counter_reader *reader, const struct device_list *devices,
			char *text)
{
	const uint64_t until_ns = clock_now_ns() + COUNTERS_ANSWER_WAIT_MS * NS_PER_MS;
	char lacking[COUNTERS_ANSWER_SIZE / 2] = "";
	uint32_t known = 0, first = COUNTER_SAMPLED;

	for (uint32_t i = 0; i < devices->count; i++)
		counter_reader_use(reader, devices->entries[i].pci_domain,
				   devices->entries[i].pci_bus, devices->entries[i].pci_device);
	for (uint32_t i = 0; i < devices->count; i++) {
		const struct device_list_entry *entry = &devices->entries[i];
		const int number = counter_reader_use(reader, entry->pci_domain, entry->pci_bus,
						      entry->pci_device);
		const uint32_t refusal =
			number < 0 ? COUNTER_FAILED : await(reader, number, until_ns);

		known += refusal == COUNTER_SAMPLED;
		if (!refusal)
			continue;
		first = first ? first : refusal;
		text_line_append(lacking, sizeof(lacking), "%sGPU%" PRId32,
				 *lacking ? ", " : ", not of ", entry->index);
	}
	text_line_append(text, COUNTERS_ANSWER_SIZE, "%" PRIu32 " of %" PRIu32 " GPU%s%s", known,
			 devices->count, devices->count == 1 ? "" : "s", lacking);
	return first;
}

uint32_t counters_answer(const struct device_list *devices, const char *program, char *text)
{
	struct counter_reader *reader = counter_reader_create(&(struct counter_reader_options){
		.program = program,
		.interval_ns = INTERVAL_NS,
		.hang_ns = COUNTERS_ANSWER_WAIT_MS * NS_PER_MS,
	});

	*text = '\0';
	if (!reader)
		return COUNTER_FAILED;
	const uint32_t refusal = ask_all(reader, devices, text);
	counter_reader_destroy(reader, END_MS);
	return refusal;
}
