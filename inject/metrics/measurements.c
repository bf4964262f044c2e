#include "measurements.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "proto/kernel_metric.h"
#include "proto/ledger.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

/* A launch, or a range. CUPTI launches kernels of its own before the range's first call is made, and they may have the
 * ids behind that call's. */
struct part {
	uint32_t first, second, last; /* correlation ids of calls; second 0: there is none */
	uint32_t nr_kernels, nr_records;
	uint64_t begin_ns, end_ns;
	uint64_t closed_ns; /* when the range's work had ended; 0: it is open */
};

struct measurement {
	bool is_used, has_values, is_shared, is_vague; /* the number of kernels is not known */
	struct metric_subject subject;
	uint32_t nr_parts, nr_values;
	struct part parts[MEASUREMENTS_PARTS];
	uint64_t last_ns;
	/* of a range, with the number of its kernels */
	uint32_t numbers[METRIC_OPTIONS_MAX + 1];
	double values[METRIC_OPTIONS_MAX + 1];
};

static struct {
	pthread_mutex_t lock;
	struct metric_sums *sums;
	struct record_ring *ring;
	void (*flush_soon)(void);
	_Atomic uint32_t nr_used;
	struct measurement all[MEASUREMENTS_MAX];
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

void measurements_init(struct metric_sums *sums, struct record_ring *ring, void (*flush_soon)(void))
{
	pthread_mutex_lock(&self.lock);
	self.sums = sums;
	self.ring = ring;
	self.flush_soon = flush_soon;
	memset(self.all, 0, sizeof(self.all));
	atomic_store(&self.nr_used, 0);
	pthread_mutex_unlock(&self.lock);
}

static void count(const struct measurement *measurement, enum ledger_reason reason)
{
	record_ring_count(self.ring, measurement->subject.device_id, reason, measurement->nr_parts,
			  0);
}

static void forget(struct measurement *measurement)
{
	measurement->is_used = false;
	atomic_fetch_sub_explicit(&self.nr_used, 1, memory_order_relaxed);
}

static void lose(struct measurement *measurement)
{
	if (!measurement->is_used)
		return;
	if (measurement->nr_parts) {
		count(measurement, LEDGER_METRIC_LAUNCHES);
		count(measurement,
		      measurement->is_shared ? LEDGER_METRIC_SHARED : LEDGER_METRIC_LOST);
	}
	forget(measurement);
}

/* Returns whether all records are there. */
static bool is_whole(const struct measurement *measurement)
{
	for (uint32_t i = 0; i < measurement->nr_parts; i++)
		if (measurement->parts[i].nr_records < measurement->parts[i].nr_kernels)
			return false;
	return !measurement->is_vague;
}

/* Adds a measurement up, which has its values. */
static void add_up(struct measurement *measurement)
{
	const uint32_t nr_values = measurement->nr_values;
	uint64_t total_ns = 0;
	double nr_kernels = 0;
	bool has_number = false;

	for (uint32_t i = 0; i < nr_values; i++)
		has_number |= kernel_metric_is_valid(measurement->values[i]);
	for (uint32_t i = 0; i < measurement->nr_parts; i++) {
		total_ns += measurement->parts[i].end_ns - measurement->parts[i].begin_ns;
		nr_kernels += measurement->parts[i].nr_records;
	}
	if (nr_kernels == 0) {
		forget(measurement);
		return;
	}
	measurement->numbers[nr_values] = measurement->subject.kernels_metric;
	measurement->values[nr_values] = nr_kernels / measurement->nr_parts;
	if (measurement->is_shared || !has_number ||
	    !metric_sums_add(self.sums, &measurement->subject, total_ns, measurement->numbers,
			     measurement->values, nr_values + measurement->subject.is_range)) {
		lose(measurement);
		return;
	}
	count(measurement, LEDGER_METRIC_LAUNCHES);
	forget(measurement);
}

static void settle(struct measurement *measurement)
{
	if (measurement->has_values && is_whole(measurement))
		add_up(measurement);
}

uint32_t measurements_begin(const struct metric_subject *subject)
{
	uint32_t number = 0;

	pthread_mutex_lock(&self.lock);
	while (number < MEASUREMENTS_MAX && self.all[number].is_used)
		number++;
	if (number < MEASUREMENTS_MAX) {
		self.all[number] = (struct measurement){.is_used = true, .subject = *subject};
		atomic_fetch_add_explicit(&self.nr_used, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&self.lock);
	if (number >= MEASUREMENTS_MAX / 2)
		self.flush_soon();
	return number < MEASUREMENTS_MAX ? number : MEASUREMENTS_NONE;
}

void measurements_launch(uint32_t number, uint32_t correlation_id, uint64_t now_ns)
{
	struct measurement *measurement = &self.all[number];

	pthread_mutex_lock(&self.lock);
	if (measurement->is_used && measurement->nr_parts < MEASUREMENTS_PARTS) {
		measurement->parts[measurement->nr_parts++] =
			(struct part){.first = correlation_id,
				      .last = correlation_id,
				      .nr_kernels = !measurement->subject.is_range};
		measurement->last_ns = now_ns;
	}
	pthread_mutex_unlock(&self.lock);
}

void measurements_call(uint32_t number, uint32_t correlation_id, uint32_t nr_kernels)
{
	struct measurement *measurement = &self.all[number];

	pthread_mutex_lock(&self.lock);
	if (measurement->is_used && measurement->nr_parts) {
		struct part *part = &measurement->parts[measurement->nr_parts - 1];

		if (correlation_id != part->first &&
		    (part->second == 0 || (int32_t)(correlation_id - part->second) < 0))
			part->second = correlation_id;
		if ((int32_t)(correlation_id - part->last) > 0)
			part->last = correlation_id;
		if (nr_kernels == MEASUREMENTS_UNKNOWN)
			measurement->is_vague = true;
		else
			part->nr_kernels += nr_kernels;
	}
	pthread_mutex_unlock(&self.lock);
}

void measurements_uncall(uint32_t number, uint32_t nr_kernels)
{
	struct measurement *measurement = &self.all[number];

	pthread_mutex_lock(&self.lock);
	if (measurement->is_used && measurement->nr_parts && nr_kernels != MEASUREMENTS_UNKNOWN)
		measurement->parts[measurement->nr_parts - 1].nr_kernels -= nr_kernels;
	pthread_mutex_unlock(&self.lock);
}

void measurements_end(uint32_t number, uint64_t closed_ns)
{
	struct measurement *measurement = &self.all[number];

	pthread_mutex_lock(&self.lock);
	if (measurement->is_used && measurement->nr_parts)
		measurement->parts[measurement->nr_parts - 1].closed_ns = closed_ns;
	pthread_mutex_unlock(&self.lock);
}

void measurements_shared(uint32_t number)
{
	pthread_mutex_lock(&self.lock);
	self.all[number].is_shared = true;
	pthread_mutex_unlock(&self.lock);
}

void measurements_failed(uint32_t number)
{
	struct measurement *measurement = &self.all[number];

	pthread_mutex_lock(&self.lock);
	if (measurement->nr_parts)
		measurement->nr_parts--;
	lose(measurement);
	pthread_mutex_unlock(&self.lock);
}

void measurements_values(uint32_t number, const uint32_t *numbers, const double *values,
			 uint32_t nr_values)
{
	struct measurement *measurement;

	if (number == MEASUREMENTS_NONE)
		return;
	measurement = &self.all[number];
	pthread_mutex_lock(&self.lock);
	if (measurement->is_used) {
		memcpy(measurement->numbers, numbers, nr_values * sizeof(*numbers));
		memcpy(measurement->values, values, nr_values * sizeof(*values));
		measurement->nr_values = nr_values;
		measurement->has_values = true;
		settle(measurement);
	}
	pthread_mutex_unlock(&self.lock);
}

void measurements_lose(uint32_t number)
{
	if (number == MEASUREMENTS_NONE)
		return;
	pthread_mutex_lock(&self.lock);
	lose(&self.all[number]);
	pthread_mutex_unlock(&self.lock);
}

void measurements_give_up(uint32_t number)
{
	if (number == MEASUREMENTS_NONE)
		return;
	pthread_mutex_lock(&self.lock);
	if (self.all[number].is_used)
		forget(&self.all[number]);
	pthread_mutex_unlock(&self.lock);
}

/* Another thread may have its id from before the range's end, and launch behind it. */
static bool has_kernel(const struct part *part, const struct measured_kernel *kernel)
{
	const uint32_t id = kernel->correlation_id;

	return id == part->first ||
	       (part->second && id - part->second <= part->last - part->second &&
		(part->closed_ns == 0 || kernel->begin_ns < part->closed_ns));
}

static bool take(struct measurement *measurement, const struct measured_kernel *kernel)
{
	if (measurement->subject.is_range && measurement->subject.device_id != kernel->device_id)
		return false;
	for (uint32_t i = 0; i < measurement->nr_parts; i++) {
		struct part *part = &measurement->parts[i];

		if (!has_kernel(part, kernel))
			continue;
		if (part->nr_records == 0 || kernel->begin_ns < part->begin_ns)
			part->begin_ns = kernel->begin_ns;
		if (part->nr_records == 0 || kernel->end_ns > part->end_ns)
			part->end_ns = kernel->end_ns;
		part->nr_records++;
		if (!measurement->subject.is_range)
			measurement->subject.name_id = kernel->name_id;
		settle(measurement);
		return true;
	}
	return false;
}

void measurements_record(const struct measured_kernel *kernel)
{
	if (kernel->correlation_id == 0 ||
	    atomic_load_explicit(&self.nr_used, memory_order_relaxed) == 0)
		return;
	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < MEASUREMENTS_MAX; i++)
		if (self.all[i].is_used && take(&self.all[i], kernel))
			break;
	pthread_mutex_unlock(&self.lock);
}

void measurements_expire(uint64_t now_ns, bool all)
{
	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < MEASUREMENTS_MAX; i++) {
		struct measurement *measurement = &self.all[i];
		const bool is_late = measurement->has_values &&
				     now_ns > measurement->last_ns + MEASUREMENTS_WAIT_NS;

		if (!measurement->is_used || !(all || is_late))
			continue;
		measurement->is_vague = false;
		if (measurement->has_values && is_whole(measurement))
			add_up(measurement);
		else
			lose(measurement);
	}
	pthread_mutex_unlock(&self.lock);
}

uint32_t measurements_define(struct definition_writer *writer)
{
	pthread_mutex_lock(&self.lock);
	uint32_t left = metric_sums_define(self.sums, writer);
	pthread_mutex_unlock(&self.lock);
	return left;
}
