#include "measurements.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "proto/ledger.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"

struct measurement {
	bool is_used, has_values, is_shared;
	struct metric_subject subject;
	uint32_t nr_launches, nr_records, nr_values;
	uint32_t launches[MEASUREMENTS_PARTS]; /* correlation ids; 0: its record has come */
	uint64_t total_ns, last_ns;
	uint32_t numbers[METRIC_OPTIONS_MAX];
	double values[METRIC_OPTIONS_MAX];
};

static struct {
	pthread_mutex_t lock;
	struct metric_sums *sums;
	struct record_ring *ring;
	_Atomic uint32_t nr_used;
	struct measurement all[MEASUREMENTS_MAX];
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

void measurements_init(struct metric_sums *sums, struct record_ring *ring)
{
	pthread_mutex_lock(&self.lock);
	self.sums = sums;
	self.ring = ring;
	memset(self.all, 0, sizeof(self.all));
	atomic_store(&self.nr_used, 0);
	pthread_mutex_unlock(&self.lock);
}

static void count(const struct measurement *measurement, enum ledger_reason reason)
{
	record_ring_count(self.ring, measurement->subject.device_id, reason,
			  measurement->nr_launches, 0);
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
	if (measurement->nr_launches) {
		count(measurement, LEDGER_METRIC_LAUNCHES);
		count(measurement,
		      measurement->is_shared ? LEDGER_METRIC_SHARED : LEDGER_METRIC_LOST);
	}
	forget(measurement);
}

static void settle(struct measurement *measurement)
{
	if (!measurement->has_values || measurement->nr_records < measurement->nr_launches)
		return;
	if (measurement->is_shared ||
	    !metric_sums_add(self.sums, &measurement->subject, measurement->total_ns,
			     measurement->numbers, measurement->values, measurement->nr_values)) {
		lose(measurement);
		return;
	}
	count(measurement, LEDGER_METRIC_LAUNCHES);
	forget(measurement);
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
	return number < MEASUREMENTS_MAX ? number : MEASUREMENTS_NONE;
}

void measurements_launch(uint32_t number, uint32_t correlation_id, uint64_t now_ns)
{
	struct measurement *measurement = &self.all[number];

	pthread_mutex_lock(&self.lock);
	if (measurement->is_used && measurement->nr_launches < MEASUREMENTS_PARTS) {
		measurement->launches[measurement->nr_launches++] = correlation_id;
		measurement->last_ns = now_ns;
	}
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
	if (measurement->nr_launches)
		measurement->nr_launches--;
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
	forget(&self.all[number]);
	pthread_mutex_unlock(&self.lock);
}

static bool take(struct measurement *measurement, uint32_t correlation_id, uint32_t name_id,
		 uint64_t ns)
{
	for (uint32_t i = 0; i < measurement->nr_launches; i++) {
		if (measurement->launches[i] != correlation_id)
			continue;
		measurement->launches[i] = 0;
		measurement->nr_records++;
		measurement->total_ns += ns;
		measurement->subject.name_id = name_id;
		settle(measurement);
		return true;
	}
	return false;
}

void measurements_record(uint32_t correlation_id, uint32_t name_id, uint64_t ns)
{
	if (correlation_id == 0 || atomic_load_explicit(&self.nr_used, memory_order_relaxed) == 0)
		return;
	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < MEASUREMENTS_MAX; i++)
		if (self.all[i].is_used && take(&self.all[i], correlation_id, name_id, ns))
			break;
	pthread_mutex_unlock(&self.lock);
}

void measurements_expire(uint64_t now_ns, bool all)
{
	pthread_mutex_lock(&self.lock);
	for (uint32_t i = 0; i < MEASUREMENTS_MAX; i++) {
		struct measurement *measurement = &self.all[i];
		const bool is_late = measurement->has_values &&
				     now_ns - measurement->last_ns > MEASUREMENTS_WAIT_NS;

		if (measurement->is_used && (all || is_late))
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
