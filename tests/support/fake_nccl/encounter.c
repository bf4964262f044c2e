#include "encounter.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "meeting.h"

#define COLLECTIVES                                                                                \
	256u /* numbers that share a place: who is at n + 256 knows that all have left n */
#define PAIRS 16u

/* Both only grow, over all numbers that share the place: times of a later one are later. */
struct place {
	_Atomic uint64_t nr_begun;
	_Atomic uint64_t last_ns; /* when the last one began */
};

struct encounter_area {
	struct place collectives[COLLECTIVES];
	struct place pairs[MEETING_RANKS_MAX][MEETING_RANKS_MAX][PAIRS]; /* from, to */
};

struct meet {
	struct place *place;
	uint64_t nr_expected;
};

struct kernel {
	struct fake_cuda_open open;
	uint64_t transfer_ns;
	uint64_t ahead_ns; /* of the clock by which all meet, modulo 2^64 */
	uint32_t nr_meets;
	struct meet meets[];
};

static void name_of(uint64_t key, char path[static 48])
{
	snprintf(path, 48, "/fake-nccl-gpu-%016" PRIx64, key);
}

struct encounter_area *encounter_open(uint64_t key)
{
	struct encounter_area *area = MAP_FAILED;
	char path[48];

	name_of(key, path);
	int fd = shm_open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return NULL;
	if (ftruncate(fd, sizeof(*area)) == 0)
		area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return area == MAP_FAILED ? NULL : area;
}

void encounter_unlink(uint64_t key)
{
	char path[48];

	name_of(key, path);
	shm_unlink(path);
}

static void begin(struct fake_cuda_open *open, uint64_t start_ns)
{
	struct kernel *kernel = (struct kernel *)open;

	start_ns -= kernel->ahead_ns;
	for (uint32_t i = 0; i < kernel->nr_meets; i++) {
		struct place *place = kernel->meets[i].place;
		uint64_t last_ns = atomic_load(&place->last_ns);

		while (last_ns < start_ns &&
		       !atomic_compare_exchange_weak(&place->last_ns, &last_ns, start_ns))
			;
		atomic_fetch_add(&place->nr_begun, 1);
	}
}

static bool end(struct fake_cuda_open *open, uint64_t *end_ns)
{
	struct kernel *kernel = (struct kernel *)open;
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < kernel->nr_meets; i++)
		if (atomic_load(&kernel->meets[i].place->nr_begun) < kernel->meets[i].nr_expected)
			return false;
	for (uint32_t i = 0; i < kernel->nr_meets; i++) {
		uint64_t begun_ns = atomic_load(&kernel->meets[i].place->last_ns);

		last_ns = begun_ns > last_ns ? begun_ns : last_ns;
	}
	*end_ns = last_ns + kernel->transfer_ns + kernel->ahead_ns;
	free(kernel);
	return true;
}

/* "-5" is modulo 2^64, too. */
static uint64_t number(const char *variable, uint64_t by_default)
{
	const char *text = getenv(variable);

	return text && *text ? strtoull(text, NULL, 10) : by_default;
}

static void meet_peer(struct kernel *kernel, struct place *places, uint32_t *nth)
{
	uint32_t n = (*nth)++;

	kernel->meets[kernel->nr_meets++] =
		(struct meet){&places[n % PAIRS], 2 * (uint64_t)(n / PAIRS + 1)};
}

void encounter_expect(const struct encounter_plan *plan)
{
	struct ncclComm *comm = plan->comm;
	uint32_t most = plan->nr_collectives + plan->nr_sends + plan->nr_receives;

	if (!comm->area || comm->nr_ranks < 2 || number("FAKE_NCCL_BLOCKING", 1) == 0)
		return;
	struct kernel *kernel = calloc(1, sizeof(*kernel) + most * sizeof(*kernel->meets));
	if (!kernel)
		abort();
	kernel->open = (struct fake_cuda_open){.begin = begin, .end = end};
	kernel->transfer_ns = number("FAKE_NCCL_TRANSFER_NS", ENCOUNTER_TRANSFER_NS);
	kernel->ahead_ns = number("FAKE_NCCL_CLOCK_AHEAD_NS", 0);
	for (uint32_t i = 0; i < plan->nr_collectives; i++) {
		uint64_t n = comm->nr_met++;

		kernel->meets[kernel->nr_meets++] =
			(struct meet){&comm->area->collectives[n % COLLECTIVES],
				      (n / COLLECTIVES + 1) * comm->nr_ranks};
	}
	for (uint32_t i = 0; i < plan->nr_sends; i++)
		meet_peer(kernel, comm->area->pairs[comm->rank][plan->sends[i]],
			  &comm->nr_sent[plan->sends[i]]);
	for (uint32_t i = 0; i < plan->nr_receives; i++)
		meet_peer(kernel, comm->area->pairs[plan->receives[i]][comm->rank],
			  &comm->nr_received[plan->receives[i]]);
	fake_cuda_open_next(&kernel->open);
}
