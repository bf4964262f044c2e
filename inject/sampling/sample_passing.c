#include "sample_passing.h"

#include <string.h>

#include "exact_windows.h"

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

#define SUM_MAX     (1u << 30) /* samples of one look: more is no number of samples */
#define ENTRIES     4096u      /* of one definition */
#define REASONS_MAX (DEFINITION_STALL_REASONS_MAX - 1) /* the last number stands for all others */

/* The reasons of the ledger, for samples taken continuously and in exact windows. */
static const struct way {
	enum ledger_reason samples, other, lost;
} ways[] = {
	{LEDGER_KERNEL_SAMPLES, LEDGER_KERNEL_SAMPLE_OTHER, LEDGER_KERNEL_SAMPLE_LOST},
	{LEDGER_EXACT_SAMPLES, LEDGER_EXACT_SAMPLE_OTHER, LEDGER_EXACT_SAMPLE_LOST},
};

/* One definition: entries, and the kernel's name behind them. */
struct passing {
	struct definition_kernel_sample
		entries[ENTRIES + RECORD_NAME_MAX / sizeof(struct definition_kernel_sample) + 1];
	uint32_t count;
};

static struct {
	struct definition_writer *definitions;
	bool are_exact;
	char names[REASONS_MAX][CUPTI_ABI_STALL_NAME_SIZE];
	uint32_t nr_names, nr_defined;
	struct passing passing;
	struct exact_launch launches[SAMPLING_INSTRUCTIONS]; /* of what CUPTI gives */
} self;

void sample_passing_init(struct definition_writer *definitions, bool are_exact)
{
	self.definitions = definitions;
	self.are_exact = are_exact;
	self.nr_names = self.nr_defined = 0;
}

static void count(const struct sample_origin *origin, enum ledger_reason reason, uint64_t samples)
{
	if (samples)
		record_ring_count(self.definitions->ring, origin->device_id, reason, samples, 0);
}

/* Defines the reasons that the agent does not know yet. What finds no room is defined later. */
static void define_reasons(void)
{
	while (self.nr_defined < self.nr_names) {
		const char *name = self.names[self.nr_defined];
		struct definition_stall_reason head = {.index = self.nr_defined};

		if (!definition_writer_put(self.definitions, DEFINITION_STALL_REASON, &head,
					   sizeof(head), name, (uint32_t)strlen(name)))
			return;
		self.nr_defined++;
	}
}

void sample_passing_number(const struct sampling_session *session, uint32_t *reasons)
{
	for (uint32_t i = 0; i < session->nr_reasons; i++) {
		uint32_t index = session->reasons[i], ours = 0;
		const char *name = sampling_session_reason(session, index);

		while (ours < self.nr_names && strcmp(self.names[ours], name) != 0)
			ours++;
		reasons[index] = ours;
		if (ours == self.nr_names && ours < REASONS_MAX)
			strcpy(self.names[self.nr_names++], name);
	}
	define_reasons();
}

/* Sends the entries. launch: of exact samples. */
static bool write_entries(const struct definition_kernel_samples *samples,
			  const struct exact_launch *launch, uint32_t size)
{
	const struct definition_exact_samples exact = {*samples, launch->stack_id, launch->cbid};

	return self.are_exact
		       ? definition_writer_put_bulk(self.definitions, DEFINITION_EXACT_SAMPLES,
						    &exact, sizeof(exact), self.passing.entries,
						    size)
		       : definition_writer_put_bulk(self.definitions, DEFINITION_KERNEL_SAMPLES,
						    samples, sizeof(*samples), self.passing.entries,
						    size);
}

static void send(const struct sample_origin *origin, const struct cupti_instruction *of,
		 const struct exact_launch *launch)
{
	struct passing *passing = &self.passing;
	struct definition_kernel_samples head = {
		.time_ns = monotonic_ns(),
		.cubin_crc = of->cubin_crc,
		.device_id = origin->device_id,
		.nr_entries = passing->count,
	};
	const char *name = of->function ? of->function : "";
	size_t size = strnlen(name, RECORD_NAME_MAX);
	uint64_t samples = 0;

	memcpy(&passing->entries[passing->count], name, size);
	for (uint32_t i = 0; i < passing->count; i++)
		samples += passing->entries[i].count;
	if (passing->count &&
	    !write_entries(&head, launch,
			   (uint32_t)(passing->count * sizeof(passing->entries[0]) + size)))
		count(origin, ways[self.are_exact].lost, samples);
	passing->count = 0;
}

/* Returns the samples of one instruction, whose entries it adds. */
static uint64_t add(const struct sample_origin *origin, const struct cupti_instruction *instruction,
		    const struct exact_launch *launch)
{
	struct passing *passing = &self.passing;
	uint64_t samples = 0;

	for (size_t i = 0; i < instruction->nr_stalls && i < DEFINITION_STALL_REASONS_MAX; i++) {
		const struct cupti_stall *stall = &instruction->stalls[i];

		if (!*sampling_session_reason(origin->session, stall->reason) || !stall->samples)
			continue;
		if (passing->count == ENTRIES)
			send(origin, instruction, launch);
		passing->entries[passing->count++] = (struct definition_kernel_sample){
			.offset = (uint32_t)instruction->offset,
			.reason = origin->reasons[stall->reason],
			.count = stall->samples,
		};
		samples += stall->samples;
	}
	return samples;
}

static bool is_same(const struct cupti_instruction *a, const struct cupti_instruction *b)
{
	return a->cubin_crc == b->cubin_crc && a->function_index == b->function_index &&
	       (a->function == b->function ||
		(a->function && b->function && strcmp(a->function, b->function) == 0));
}

/* Finds the launch of each instruction in exact windows. */
static void find_launches(const struct cupti_samples *samples)
{
	for (size_t i = 0; i < samples->nr_instructions && i < samples->room; i++) {
		self.launches[i] = (struct exact_launch){0};
		if (self.are_exact)
			exact_windows_find(samples->instructions[i].correlation_id,
					   &self.launches[i]);
	}
}

static bool is_same_launch(size_t a, size_t b)
{
	return self.launches[a].stack_id == self.launches[b].stack_id &&
	       self.launches[a].cbid == self.launches[b].cbid;
}

struct sample_sums sample_passing_add(const struct sample_origin *origin,
				      struct cupti_samples *samples, bool is_whole)
{
	struct cupti_instruction *all = samples->instructions;
	const uint64_t other = samples->other < SUM_MAX ? samples->other : SUM_MAX;
	const uint64_t total = samples->total < SUM_MAX ? samples->total : SUM_MAX;
	uint64_t lost = samples->dropped < SUM_MAX ? samples->dropped : SUM_MAX, passed = 0;

	define_reasons();
	find_launches(samples);
	for (size_t i = 0; i < samples->nr_instructions && i < samples->room; i++) {
		if (!all[i].nr_stalls)
			continue;
		for (size_t k = i; k < samples->nr_instructions && k < samples->room; k++) {
			if (k != i && (!all[k].nr_stalls || !is_same(&all[i], &all[k]) ||
				       !is_same_launch(i, k)))
				continue;
			passed += add(origin, &all[k], &self.launches[i]);
			if (k != i)
				all[k].nr_stalls = 0;
		}
		send(origin, &all[i], &self.launches[i]);
		all[i].nr_stalls = 0;
	}
	if (is_whole && total > other + lost + passed)
		lost = total - other - passed;
	const struct way *way = &ways[self.are_exact];
	count(origin, way->samples, passed + other + lost);
	count(origin, way->other, other);
	count(origin, way->lost, lost);
	return (struct sample_sums){passed, other, lost};
}
