#include "device_totals.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "metrics/metrics_text.h"
#include "proto/batch/gpu_uuid.h"
#include "proto/ledger.h"

#define INDEX_MAX 16u
#define LABELS    3u

void device_totals_fini(struct device_totals *totals)
{
	free(totals->devices);
	hash_index_fini(&totals->index);
	*totals = (struct device_totals){0};
}

/* ---- sums */

static bool has_uuid(const struct device_identity *identity)
{
	static const uint8_t none[WIRE_UUID_SIZE];

	return memcmp(identity->uuid, none, sizeof(none)) != 0;
}

static bool is_same(const void *context, uint32_t id, const void *key)
{
	const struct device_totals *totals = context;
	const struct device_identity *a = &totals->devices[id - 1].identity, *b = key;

	if (memcmp(a->uuid, b->uuid, sizeof(a->uuid)) != 0)
		return false;
	return has_uuid(a) || (a->index == b->index && strcmp(a->host, b->host) == 0);
}

static uint32_t hash(const struct device_identity *identity)
{
	return has_uuid(identity) ? hash_index_hash(identity->uuid, sizeof(identity->uuid))
				  : hash_index_hash(identity->host, strlen(identity->host)) ^
					    hash_index_hash_word((uint32_t)identity->index);
}

/* NULL: out of memory. */
static struct device_total *add_device(struct device_totals *totals,
				       const struct device_identity *identity)
{
	const uint32_t id = totals->nr_devices + 1;

	if (array_reserve(&totals->devices, &totals->room, id, sizeof(*totals->devices)) ||
	    hash_index_insert(&totals->index, hash(identity), id))
		return NULL;
	struct device_total *device = &totals->devices[totals->nr_devices++];

	*device = (struct device_total){.identity = *identity};
	return device;
}

static void add(uint64_t *sum, uint64_t more)
{
	*sum = ledger_add_saturating(*sum, more);
}

int device_totals_add(struct device_totals *totals, const struct device_identity *identity,
		      const struct device_sums *sums)
{
	const uint32_t id =
		hash_index_find(&totals->index, hash(identity), is_same, totals, identity);
	struct device_total *device = id ? &totals->devices[id - 1] : NULL;

	if (!device && totals->nr_devices == DEVICE_TOTALS_MAX) {
		add(&totals->left_out, sums->activities);
		return 0;
	}
	if (!device)
		device = add_device(totals, identity);
	if (!device)
		return -ENOMEM;
	add(&device->sums.activities, sums->activities);
	add(&device->sums.work_ns, sums->work_ns);
	add(&device->sums.busy_ns, sums->busy_ns);
	add(&device->sums.observed_ns, sums->observed_ns);
	add(&device->sums.late_ns, sums->late_ns);
	add(&device->sums.kernels_ns, sums->kernels_ns);
	add(&device->sums.communication_ns, sums->communication_ns);
	add(&device->sums.computation_ns, sums->computation_ns);
	add(&device->sums.waiting_ns, sums->waiting_ns);
	device->sums.idle.are_known |= sums->idle.are_known;
	for (int i = 0; i < IDLE_REASONS; i++)
		add(&device->sums.idle.ns[i], sums->idle.ns[i]);
	return 0;
}

int device_totals_add_all(struct device_totals *totals, const struct device_totals *more)
{
	int error = 0;

	for (uint32_t i = 0; i < more->nr_devices && !error; i++)
		error = device_totals_add(totals, &more->devices[i].identity,
					  &more->devices[i].sums);
	add(&totals->left_out, more->left_out);
	return error;
}

/* ---- text */

/* Families of nanoseconds, of struct device_sums. */
static const struct metrics_field times[] = {
	{{"flamegrid_gpu_busy_seconds", METRICS_COUNTER, "seconds",
	  "Time in which the GPU had work: a kernel, copy or memset."},
	 offsetof(struct device_sums, busy_ns)},
	{{"flamegrid_gpu_observed_seconds", METRICS_COUNTER, "seconds",
	  "Time from the first to the last work of each job; minus the busy time it is idle time."},
	 offsetof(struct device_sums, observed_ns)},
	{{"flamegrid_gpu_work_seconds", METRICS_COUNTER, "seconds",
	  "The sum of the durations of all work, also of work at the same time."},
	 offsetof(struct device_sums, work_ns)},
	{{"flamegrid_gpu_late_seconds", METRICS_COUNTER, "seconds",
	  "Time of work that came too late to be counted as busy time."},
	 offsetof(struct device_sums, late_ns)},
	{{"flamegrid_gpu_kernel_seconds", METRICS_COUNTER, "seconds",
	  "Time in which kernels ran, for each process."},
	 offsetof(struct device_sums, kernels_ns)},
	{{"flamegrid_gpu_nccl_kernel_seconds", METRICS_COUNTER, "seconds",
	  "Time in which kernels of NCCL ran, for each process: they wait in it, and move data."},
	 offsetof(struct device_sums, communication_ns)},
	{{"flamegrid_gpu_nccl_waiting_seconds", METRICS_COUNTER, "seconds",
	  "Time in which kernels of NCCL waited for other ranks, of all but the latest calls."},
	 offsetof(struct device_sums, waiting_ns)},
	{{"flamegrid_gpu_compute_kernel_seconds", METRICS_COUNTER, "seconds",
	  "Time in which kernels other than NCCL's ran, for each process."},
	 offsetof(struct device_sums, computation_ns)},
};

static const struct metrics_family idle = {
	"flamegrid_gpu_idle_seconds", METRICS_COUNTER, "seconds",
	"Idle time by what the thread did meanwhile that launched the next work."};
static const char *const idle_reasons[IDLE_REASONS] = {
	[IDLE_REASON_ON_CPU] = "on CPU",
	[IDLE_REASON_WAITING] = "waiting",
	[IDLE_REASON_NO_CPU] = "no free CPU",
	[IDLE_REASON_UNKNOWN] = "unknown",
};
static const struct metrics_family activities = {
	"flamegrid_gpu_activities", METRICS_COUNTER, NULL,
	"Kernels, copies and memsets that the GPU has run."};
static const struct metrics_family left_out = {
	"flamegrid_gpu_left_out_activities", METRICS_COUNTER, NULL,
	"Kernels, copies and memsets of GPUs that found no place among these metrics."};

struct device_texts {
	char uuid[GPU_UUID_TEXT_SIZE], index[INDEX_MAX];
};

/* They are named as those of NVIDIA's DCGM exporter. */
static void label(const struct device_identity *identity, struct device_texts *texts,
		  struct metrics_label labels[static LABELS])
{
	gpu_uuid_text(identity->uuid, identity->is_part, texts->uuid);
	*texts->index = '\0';
	if (identity->index != MESSAGE_INDEX_NONE)
		snprintf(texts->index, sizeof(texts->index), "%d", (int)identity->index);
	labels[0] = (struct metrics_label){"gpu", texts->index};
	labels[1] = (struct metrics_label){"UUID", texts->uuid};
	labels[2] = (struct metrics_label){"Hostname", identity->host};
}

/* GPUs of jobs without samples of host threads have none. */
static void write_idle(const struct device_total *device, struct metrics_text *text)
{
	struct metrics_label labels[LABELS + 1];
	struct device_texts texts;

	label(&device->identity, &texts, labels);
	for (int i = 0; i < IDLE_REASONS; i++) {
		labels[LABELS] = (struct metrics_label){"reason", idle_reasons[i]};
		if (device->sums.idle.are_known)
			metrics_text_ns(text, labels, LABELS + 1, device->sums.idle.ns[i]);
	}
}

void device_totals_write(const struct device_totals *totals, struct metrics_text *text)
{
	struct metrics_label labels[LABELS];
	struct device_texts texts;

	for (size_t f = 0; f < sizeof(times) / sizeof(*times); f++) {
		metrics_text_family(text, &times[f].family);
		for (uint32_t i = 0; i < totals->nr_devices; i++) {
			label(&totals->devices[i].identity, &texts, labels);
			metrics_text_ns(
				text, labels, LABELS,
				metrics_field_value(&totals->devices[i].sums, times[f].offset));
		}
	}
	metrics_text_family(text, &idle);
	for (uint32_t i = 0; i < totals->nr_devices; i++)
		write_idle(&totals->devices[i], text);
	metrics_text_family(text, &activities);
	for (uint32_t i = 0; i < totals->nr_devices; i++) {
		label(&totals->devices[i].identity, &texts, labels);
		metrics_text_number(text, labels, LABELS, totals->devices[i].sums.activities);
	}
	metrics_text_one(text, &left_out, totals->left_out);
}
