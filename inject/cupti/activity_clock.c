#include "activity_clock.h"

#include <pthread.h>
#include <time.h>

#include "cupti_library.h"

#include "inject/base/monotonic.h"

#define READINGS   5
#define MEASURE_NS 2000000
#define NEAR_NS    1000000000u /* the system's clock may be set by this much between two readings */
#define DAY_NS     (86400 * 1000000000ull) /* the same between two looks */
#define FAR_NS     (30 * DAY_NS)           /* farther apart means another epoch */
#define SCALE_MIN  0.001                   /* ns per unit: no real clock is outside of these */
#define SCALE_MAX  1000.0

struct reading {
	uint64_t cupti, realtime_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct activity_clock current;

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Takes the tightest of some readings. */
static bool take(const struct cupti_library *library, struct reading *reading)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		uint64_t cupti = 0, before_ns = realtime_ns();

		if (library->get_timestamp(&cupti) != CUPTI_ABI_SUCCESS || cupti == 0)
			return false;
		uint64_t took_ns = realtime_ns() - before_ns;
		if (took_ns < least_ns) {
			least_ns = took_ns;
			*reading = (struct reading){cupti, before_ns + took_ns / 2};
		}
	}
	return true;
}

/* Measures a clock's scale. Returns 0 for a clock that stands still, or that is the system's clock shifted by some
 * time: it is a simulation, and its times are left as they are. */
static double measure(const struct cupti_library *library, const struct reading *first)
{
	struct reading last;
	double scale;

	nanosleep(&(struct timespec){.tv_nsec = MEASURE_NS}, NULL);
	if (!take(library, &last) || last.cupti <= first->cupti ||
	    last.realtime_ns <= first->realtime_ns)
		return 0;
	scale = (double)(last.realtime_ns - first->realtime_ns) /
		(double)(last.cupti - first->cupti);
	if (scale < SCALE_MIN || scale > SCALE_MAX)
		return 0;
	if (scale > 0.99 && scale < 1.01)
		return distance(first->cupti, first->realtime_ns) > FAR_NS ? 1 : 0;
	return scale;
}

/* Makes the scale better, the more time has passed since the first reading. Returns false if CUPTI has another clock by
 * now. */
static bool follow(struct activity_clock *clock, const struct reading *reading)
{
	uint64_t passed_ns = reading->realtime_ns - clock->realtime_ns;

	if (reading->cupti <= clock->cupti || reading->realtime_ns <= clock->realtime_ns ||
	    distance(activity_clock_realtime(clock, reading->cupti), reading->realtime_ns) >
		    passed_ns / 100 + MEASURE_NS)
		return false;
	if (passed_ns > MEASURE_NS)
		clock->scale = (double)passed_ns / (double)(reading->cupti - clock->cupti);
	return true;
}

static void bound(struct activity_clock *clock, const struct reading *reading, bool known)
{
	uint64_t earliest_ns = reading->realtime_ns - DAY_NS;

	if (!known) {
		clock->earliest_ns = clock->latest_ns = 0;
		return;
	}
	if (clock->latest_ns == 0 || earliest_ns < clock->earliest_ns)
		clock->earliest_ns = earliest_ns;
	clock->latest_ns = UINT64_MAX; /* read as a day from now by activity_clock_get() */
}

void activity_clock_look(const struct cupti_library *library)
{
	struct activity_clock clock;
	struct reading reading;

	activity_clock_get(&clock);
	if (!take(library, &reading))
		return;
	bool same = distance(reading.cupti, reading.realtime_ns) < NEAR_NS;
	if (same) {
		clock.scale = 0;
	} else if (clock.scale <= 0 || !follow(&clock, &reading)) {
		clock.cupti = reading.cupti;
		clock.realtime_ns = reading.realtime_ns;
		clock.scale = measure(library, &reading);
	}
	bound(&clock, &reading, same || clock.scale > 0);
	pthread_mutex_lock(&lock);
	current = clock;
	pthread_mutex_unlock(&lock);
}

void activity_clock_get(struct activity_clock *clock)
{
	pthread_mutex_lock(&lock);
	*clock = current;
	pthread_mutex_unlock(&lock);
	/* There are no looks while nothing is captured. */
	if (clock->latest_ns)
		clock->latest_ns = realtime_ns() + DAY_NS;
}

void activity_clock_reset(void)
{
	pthread_mutex_lock(&lock);
	current = (struct activity_clock){0};
	pthread_mutex_unlock(&lock);
}

uint64_t activity_clock_realtime(const struct activity_clock *clock, uint64_t time)
{
	if (clock->scale <= 0)
		return time;
	if (time < clock->cupti)
		return clock->realtime_ns -
		       (uint64_t)((double)(clock->cupti - time) * clock->scale);
	return clock->realtime_ns + (uint64_t)((double)(time - clock->cupti) * clock->scale);
}

static bool is_possible(const struct activity_clock *clock, uint64_t start, uint64_t end)
{
	return start >= clock->earliest_ns && end <= clock->latest_ns;
}

bool activity_clock_convert(const struct activity_clock *clock, uint64_t *start, uint64_t *end)
{
	uint64_t start_ns, length;

	if (clock->latest_ns == 0 || is_possible(clock, *start, *end))
		return true;
	if (clock->scale <= 0)
		return false;
	length = *end - *start;
	start_ns = activity_clock_realtime(clock, *start);
	if (!is_possible(clock, start_ns, start_ns))
		return false;
	*start = start_ns;
	/* This keeps the length, because the difference of two converted times would be less exact. */
	*end = start_ns + (uint64_t)((double)length * clock->scale + 0.5);
	return true;
}
