#include "sim_kernel.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"
#include "sim_config.h"

#define BUCKETS           1024u
#define KERNEL_MAGIC      0x73696d6b65726e6cull
#define DEFAULT_MIN_NS    2000u
#define DEFAULT_SPREAD_NS 6000u

struct sim_kernel {
	uint64_t magic;
	struct sim_kernel *next;
	_Atomic uint64_t min_ns, max_ns, seed;
	_Atomic bool used;
	bool pinned;  /* a duration set by name: a definition found later does not change it; under
			 lock */
	bool defined; /* has a duration of its own, not one made from its name; under lock */
	char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_kernel *buckets[BUCKETS];

static struct sim_kernel *find_or_add(const char *name, size_t length)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < length; i++)
		hash = hash * 31 + (unsigned char)name[i];
	struct sim_kernel **bucket = &buckets[hash % BUCKETS];
	for (struct sim_kernel *kernel = *bucket; kernel; kernel = kernel->next) {
		if (strncmp(kernel->name, name, length) == 0 && kernel->name[length] == '\0')
			return kernel;
	}
	struct sim_kernel *kernel = calloc(1, sizeof(*kernel) + length + 1);
	if (!kernel)
		return NULL;
	memcpy(kernel->name, name, length);
	kernel->magic = KERNEL_MAGIC;
	uint64_t default_ns = DEFAULT_MIN_NS + sim_config_hash(kernel->name) % DEFAULT_SPREAD_NS;
	atomic_init(&kernel->min_ns, default_ns);
	atomic_init(&kernel->max_ns, default_ns);
	atomic_init(&kernel->seed, default_ns);
	kernel->next = *bucket;
	*bucket = kernel;
	return kernel;
}

struct sim_kernel *sim_kernel_intern(const char *name, size_t length,
				     const struct sim_duration *duration)
{
	pthread_mutex_lock(&lock);
	struct sim_kernel *kernel = find_or_add(name, length);
	if (kernel && duration && !kernel->pinned && !kernel->defined &&
	    duration->min_ns <= duration->max_ns) {
		atomic_store(&kernel->min_ns, duration->min_ns);
		atomic_store(&kernel->max_ns, duration->max_ns);
		atomic_store(&kernel->seed,
			     sim_config_mix(duration->seed, sim_config_hash(kernel->name)));
		kernel->defined = true;
	}
	pthread_mutex_unlock(&lock);
	return kernel;
}

int fake_cuda_set_kernel_ns(const char *name, uint64_t min_ns, uint64_t max_ns)
{
	if (min_ns > max_ns)
		return -EINVAL;
	pthread_mutex_lock(&lock);
	struct sim_kernel *kernel = find_or_add(name, strlen(name));
	if (kernel) {
		atomic_store(&kernel->min_ns, min_ns);
		atomic_store(&kernel->max_ns, max_ns);
		kernel->pinned = true;
	}
	pthread_mutex_unlock(&lock);
	return kernel ? 0 : -ENOMEM;
}

/* FAKE_CUDA_KERNEL_NS is "name=ns" or "name=min-max", several separated by commas. What does not
 * parse is ignored. */
__attribute__((constructor)) static void read_environment(void)
{
	const char *list = getenv("FAKE_CUDA_KERNEL_NS");
	char *words = list ? strdup(list) : NULL;
	char *rest = NULL;

	for (char *word = words ? strtok_r(words, ",", &rest) : NULL; word;
	     word = strtok_r(NULL, ",", &rest)) {
		char *equals = strchr(word, '=');
		unsigned long long min_ns, max_ns;

		if (!equals)
			continue;
		*equals = '\0';
		int fields = sscanf(equals + 1, "%llu-%llu", &min_ns, &max_ns);
		if (fields >= 1)
			fake_cuda_set_kernel_ns(word, min_ns, fields == 2 ? max_ns : min_ns);
	}
	free(words);
}

struct sim_kernel *sim_kernel_of_symbol(const void *func)
{
	/* The program's own object, which it declared writable; only `resolved` is ours to write.
	 */
	struct fake_cuda_kernel *symbol = (struct fake_cuda_kernel *)(uintptr_t)func;

	if (!symbol || (uintptr_t)symbol % _Alignof(struct fake_cuda_kernel) != 0 ||
	    symbol->magic != FAKE_CUDA_KERNEL_MAGIC)
		return NULL;
	struct sim_kernel *kernel = __atomic_load_n(&symbol->resolved, __ATOMIC_ACQUIRE);
	if (!kernel) {
		struct sim_duration duration = {symbol->min_ns, symbol->max_ns, symbol->seed};

		kernel = sim_kernel_intern(symbol->name, strlen(symbol->name), &duration);
		__atomic_store_n(&symbol->resolved, kernel, __ATOMIC_RELEASE);
	}
	return kernel;
}

struct sim_kernel *sim_kernel_check(void *handle)
{
	struct sim_kernel *kernel = handle;

	return kernel && kernel->magic == KERNEL_MAGIC ? kernel : NULL;
}

bool sim_kernel_is_first_use(const struct sim_kernel *kernel)
{
	struct sim_kernel *own = (struct sim_kernel *)(uintptr_t)kernel;

	return !atomic_load_explicit(&own->used, memory_order_relaxed) &&
	       !atomic_exchange(&own->used, true);
}

const char *sim_kernel_name(const struct sim_kernel *kernel)
{
	return kernel->name;
}

uint64_t sim_kernel_duration_ns(const struct sim_kernel *kernel, uint64_t stream_key, uint64_t nth)
{
	uint64_t min_ns = atomic_load_explicit(&kernel->min_ns, memory_order_relaxed);
	uint64_t max_ns = atomic_load_explicit(&kernel->max_ns, memory_order_relaxed);

	if (max_ns <= min_ns)
		return min_ns;
	uint64_t seed = atomic_load_explicit(&kernel->seed, memory_order_relaxed);
	return min_ns +
	       sim_config_mix(sim_config_mix(seed, stream_key), nth) % (max_ns - min_ns + 1);
}

uint32_t sim_kernel_registers(const struct sim_kernel *kernel)
{
	return 16 + 8 * (uint32_t)(sim_config_hash(kernel->name) % 15);
}

uint32_t sim_kernel_static_shared(const struct sim_kernel *kernel)
{
	return 1024 * (uint32_t)(sim_config_mix(sim_config_hash(kernel->name), 1) & 3);
}
