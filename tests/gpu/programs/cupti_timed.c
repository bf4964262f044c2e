/* Counts from outside what a profiler's callback costs each launch: a libcupti whose cuptiSubscribe() puts a stamp before
 * and after the subscriber's callback, and whose other functions are the real one's.
 * Build: gcc -O2 -shared -fPIC -I$CUDA/include -DREAL='"PATH-OF-LIBCUPTI"' cupti_timed.c -o libcupti_timed.so
 *        -Wl,--no-as-needed PATH-OF-LIBCUPTI
 * Use:   FLAMEGRID_CUPTI=$PWD/libcupti_timed.so flamegrid run ...
 * TIMED_TO=FILE: where it writes, at exit, the calls of launches and copies: how many, their ns in all, and cycles of the
 * counter: mean, median and 99th percentile of an entry with its exit. Calls above 100 us are counted apart. TIMED_SKIP=N:
 * the first N calls are not counted. A second line has further percentiles, and of the calls above 8,192 cycles how many
 * had a page fault or a context switch, or came over 100 us after their thread's last call. */
#define _GNU_SOURCE
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <x86intrin.h>

#define STEP     16u    /* cycles of a column of the histogram */
#define COLUMNS  16384u /* the last one has all that is more */
#define OTHER_NS 100000u
#define SLOW     8192u /* cycles */

static CUpti_CallbackFunc subscriber;
static atomic_ulong columns[COLUMNS];
static atomic_ulong nr_calls, nr_others;
static atomic_ullong cycles, other_cycles;
static uint64_t first_cycles, first_ns, limit_cycles = UINT64_MAX, stamp_cycles;
static _Thread_local uint64_t entry_cycles;
static atomic_ulong nr_seen, nr_slow, nr_faulted, nr_switched, nr_idle;
static unsigned long nr_skipped;
static _Thread_local uint64_t last_cycles; /* the end of the thread's last call */
static _Thread_local long last_faults, last_switches;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void count(uint64_t took)
{
	const uint64_t column = took / STEP;

	if (took > limit_cycles) {
		atomic_fetch_add(&nr_others, 1);
		atomic_fetch_add(&other_cycles, took);
		return;
	}
	atomic_fetch_add(&nr_calls, 1);
	atomic_fetch_add(&cycles, took);
	atomic_fetch_add(&columns[column < COLUMNS ? column : COLUMNS - 1], 1);
}

/* Why a slow call may have been slow. Faults and switches are those since the thread's last slow call, so that a quick one
 * need not ask. */
static void look_at_slow(uint64_t begin)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	atomic_fetch_add(&nr_slow, 1);
	if (usage.ru_minflt != last_faults)
		atomic_fetch_add(&nr_faulted, 1);
	if (usage.ru_nvcsw + usage.ru_nivcsw != last_switches)
		atomic_fetch_add(&nr_switched, 1);
	if (begin - last_cycles > limit_cycles)
		atomic_fetch_add(&nr_idle, 1);
	last_faults = usage.ru_minflt;
	last_switches = usage.ru_nvcsw + usage.ru_nivcsw;
}

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;
	const uint64_t begin = __rdtsc();

	subscriber(user, domain, id, data);
	const uint64_t raw = __rdtsc() - begin, took = raw > stamp_cycles ? raw - stamp_cycles : 0;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API)
		return;
	if (call->callbackSite == CUPTI_API_ENTER)
		entry_cycles += took;
	else {
		if (atomic_fetch_add(&nr_seen, 1) >= nr_skipped) {
			count(entry_cycles + took);
			if (entry_cycles + took > SLOW)
				look_at_slow(begin);
		}
		entry_cycles = 0;
		last_cycles = __rdtsc();
	}
}

static void nothing(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
}

/* The counter's rate, and what a stamp costs. */
static void calibrate(void)
{
	struct timespec wait = {0, 20000000};
	const char *skip = getenv("TIMED_SKIP");

	nr_skipped = skip ? strtoul(skip, NULL, 10) : 0;

	first_ns = now_ns(), first_cycles = __rdtsc();
	nanosleep(&wait, NULL);
	limit_cycles = (__rdtsc() - first_cycles) * OTHER_NS / (now_ns() - first_ns);
	stamp_cycles = UINT64_MAX;
	CUpti_CallbackFunc volatile empty = nothing;
	for (int i = 0; i < 1000; i++) {
		const uint64_t begin = __rdtsc();

		empty(NULL, CUPTI_CB_DOMAIN_DRIVER_API, 0, NULL);
		const uint64_t took = __rdtsc() - begin;
		if (took < stamp_cycles)
			stamp_cycles = took;
	}
}

static uint64_t percentile(double part)
{
	const double wanted = part * (double)atomic_load(&nr_calls);
	uint64_t sum = 0, i = 0;

	while (i < COLUMNS - 1 && (double)(sum += atomic_load(&columns[i])) < wanted)
		i++;
	return i * STEP + STEP / 2;
}

static void at_exit(void)
{
	const char *path = getenv("TIMED_TO");
	const double rate = (double)(now_ns() - first_ns) / (double)(__rdtsc() - first_cycles);
	const unsigned long nr = atomic_load(&nr_calls);
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file || nr == 0)
		return;
	fprintf(file, "calls %lu ns %.0f mean %.0f median %lu p99 %lu apart %lu ns %.0f\n", nr,
		(double)atomic_load(&cycles) * rate, (double)atomic_load(&cycles) / (double)nr, (unsigned long)percentile(0.5),
		(unsigned long)percentile(0.99), atomic_load(&nr_others), (double)atomic_load(&other_cycles) * rate);
	fprintf(file, "p75 %lu p90 %lu p95 %lu slow %lu faults %lu switches %lu idle %lu\n", (unsigned long)percentile(0.75),
		(unsigned long)percentile(0.90), (unsigned long)percentile(0.95), atomic_load(&nr_slow), atomic_load(&nr_faulted),
		atomic_load(&nr_switched), atomic_load(&nr_idle));
	fclose(file);
}

static void *real(const char *name, CUpti_CallbackFunc callback)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, calibrate);
	if (!subscriber)
		atexit(at_exit);
	subscriber = callback;
	return dlsym(dlopen(REAL, RTLD_NOW | RTLD_LOCAL), name);
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user)
{
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *) = real(__func__, callback);

	return subscribe(handle, called, user);
}

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user,
				       CUpti_SubscriberParams *params)
{
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *, CUpti_SubscriberParams *) =
		real(__func__, callback);

	return subscribe(handle, called, user, params);
}
