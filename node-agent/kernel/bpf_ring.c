#include "bpf_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "process_watch.skel.h"
#include "sample_counts.h"

struct bpf_ring {
	struct process_watch_bpf *programs; /* owns; the programs own the maps */
	struct ring_buffer *buffer;         /* owns */
	bpf_ring_event event;
	void *context;
	int wake_fd;
	int watched_fd, counts_fd, pythons_fd, viewer_fd;
	const volatile unsigned long *read,
		*written; /* own; pages of the map with positions in bytes */
	uint32_t size;    /* bytes */
	int nr_cpus;
	struct sample_counts *per_cpu; /* owns; counts of nr_cpus CPUs */
};

static int on_event(void *context, void *data, size_t size)
{
	struct bpf_ring *ring = context;
	const struct sample_event *event = data;
	int r;

	if (size < SAMPLE_EVENT_HEAD_SIZE ||
	    SAMPLE_EVENT_HEAD_SIZE + (size_t)event->user_size + event->kernel_size +
			    event->stack_size + event->python_size >
		    size)
		return 0;
	r = ring->event(ring->context, event);
	return r == BPF_RING_ENOUGH ? -EAGAIN : r;
}

uint32_t bpf_ring_size(uint32_t wanted, uint32_t otherwise)
{
	uint32_t size = (uint32_t)sysconf(_SC_PAGESIZE);

	if (wanted == 0)
		wanted = otherwise;
	while (size < wanted && size < BPF_RING_SIZE_MAX)
		size *= 2;
	return size;
}

/* libbpf has named this call in two ways. */
int bpf_ring_run_once(int program_fd)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.test.prog_fd = (uint32_t)program_fd;
	return syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attributes, sizeof(attributes)) < 0 ? -errno
											: 0;
}

static int load(struct bpf_ring *ring, uint32_t size_bytes, const char **what)
{
	*what = "BPF";
	ring->programs = process_watch_bpf__open();
	if (!ring->programs)
		return -errno;
	int r = bpf_map__set_max_entries(ring->programs->maps.events,
					 bpf_ring_size(size_bytes, BPF_RING_SIZE_DEFAULT));
	if (r == 0)
		r = process_watch_bpf__load(ring->programs);
	if (r)
		return r;
	ring->watched_fd = bpf_map__fd(ring->programs->maps.watched);
	ring->counts_fd = bpf_map__fd(ring->programs->maps.counts);
	ring->pythons_fd = bpf_map__fd(ring->programs->maps.pythons);
	ring->viewer_fd = bpf_map__fd(ring->programs->maps.viewer);
	*what = "BPF: the agent's pid namespace";
	r = bpf_ring_run_once(bpf_program__fd(ring->programs->progs.find_viewer));
	if (r)
		return r;
	*what = "BPF: sched_process_fork";
	ring->programs->links.on_fork = bpf_program__attach(ring->programs->progs.on_fork);
	if (!ring->programs->links.on_fork)
		return -errno;
	*what = "BPF: sched_process_exec";
	ring->programs->links.on_exec = bpf_program__attach(ring->programs->progs.on_exec);
	return ring->programs->links.on_exec ? 0 : -errno;
}

static const volatile unsigned long *map_position(int map_fd, int page)
{
	long size = sysconf(_SC_PAGESIZE);
	void *place = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, map_fd, page * size);

	return place == MAP_FAILED ? NULL : place;
}

static void unmap_position(const volatile unsigned long *position)
{
	if (position)
		munmap((void *)(uintptr_t)position, (size_t)sysconf(_SC_PAGESIZE));
}

static int open_buffer(struct bpf_ring *ring, const char **what)
{
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
	int map_fd = bpf_map__fd(ring->programs->maps.events);

	*what = "BPF: the ring buffer";
	ring->size = bpf_map__max_entries(ring->programs->maps.events);
	ring->read = map_position(map_fd, 0);
	ring->written = map_position(map_fd, 1);
	if (!ring->read || !ring->written)
		return -errno;

	ring->buffer = ring_buffer__new(map_fd, on_event, ring, NULL);
	if (!ring->buffer)
		return -errno;
	/* EPOLLET, since otherwise the descriptor stays readable while any event waits for a pass. */
	ring->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ring->wake_fd < 0 || epoll_ctl(ring->wake_fd, EPOLL_CTL_ADD, map_fd, &edge))
		return -errno;
	ring->nr_cpus = libbpf_num_possible_cpus();
	if (ring->nr_cpus < 0)
		return ring->nr_cpus;
	ring->per_cpu = calloc((size_t)ring->nr_cpus, sizeof(*ring->per_cpu));
	return ring->per_cpu ? 0 : -ENOMEM;
}

int bpf_ring_create(uint32_t size_bytes, bpf_ring_event event, void *context,
		    struct bpf_ring **ring, const char **what)
{
	struct bpf_ring *new_ring = calloc(1, sizeof(*new_ring));

	*ring = NULL;
	*what = "BPF";
	if (!new_ring)
		return -ENOMEM;
	new_ring->wake_fd = -1;
	new_ring->event = event;
	new_ring->context = context;
	int r = load(new_ring, size_bytes, what);
	if (r == 0)
		r = open_buffer(new_ring, what);
	if (r) {
		bpf_ring_destroy(new_ring);
		return r;
	}
	*ring = new_ring;
	return 0;
}

void bpf_ring_destroy(struct bpf_ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->buffer);
	unmap_position(ring->read);
	unmap_position(ring->written);
	process_watch_bpf__destroy(ring->programs);
	if (ring->wake_fd >= 0)
		close(ring->wake_fd);
	free(ring->per_cpu);
	free(ring);
}

int bpf_ring_share(const struct bpf_ring *ring, struct bpf_object *object)
{
	static const char *const names[] = {"events",  "watched",        "counts",
					    "pythons", "python_threads", "viewer"};
	int r = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && r == 0; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, names[i]);

		if (map)
			r = bpf_map__reuse_fd(map, bpf_object__find_map_fd_by_name(
							   ring->programs->obj, names[i]));
	}
	return r;
}

int bpf_ring_fd(const struct bpf_ring *ring)
{
	return ring->wake_fd;
}

void bpf_ring_quiet(struct bpf_ring *ring)
{
	struct epoll_event event;

	epoll_wait(ring->wake_fd, &event, 1, 0);
}

int bpf_ring_drain(struct bpf_ring *ring)
{
	int r = ring_buffer__consume(ring->buffer);

	if (r == -EAGAIN)
		return BPF_RING_ENOUGH;
	return r < 0 ? r : 0;
}

uint64_t bpf_ring_written(const struct bpf_ring *ring)
{
	return *ring->written;
}

uint64_t bpf_ring_read(const struct bpf_ring *ring)
{
	return *ring->read;
}

uint32_t bpf_ring_fill(const struct bpf_ring *ring)
{
	uint64_t read = bpf_ring_read(ring);

	return (uint32_t)((bpf_ring_written(ring) - read) * 100 / ring->size);
}

int bpf_ring_watch(struct bpf_ring *ring, pid_t pid, uint64_t start, uint32_t flags)
{
	struct watched watched = {.start = start, .flags = flags};
	uint32_t key = (uint32_t)pid;
	int r = 0;

	memset(ring->per_cpu, 0, (size_t)ring->nr_cpus * sizeof(*ring->per_cpu));
	/* The counts are entered first, and only once: a program counts as soon as it finds the process. */
	if (bpf_map_update_elem(ring->counts_fd, &key, ring->per_cpu, BPF_NOEXIST) &&
	    errno != EEXIST)
		r = -errno;
	if (r == 0 && bpf_map_update_elem(ring->watched_fd, &key, &watched, BPF_ANY))
		r = -errno;
	return r;
}

void bpf_ring_unwatch(struct bpf_ring *ring, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(ring->watched_fd, &key);
	bpf_map_delete_elem(ring->counts_fd, &key);
	bpf_map_delete_elem(ring->pythons_fd, &key);
}

void bpf_ring_set_python(struct bpf_ring *ring, pid_t pid, const struct sample_python *where)
{
	uint32_t key = (uint32_t)pid;

	if (where)
		bpf_map_update_elem(ring->pythons_fd, &key, where, BPF_ANY);
	else
		bpf_map_delete_elem(ring->pythons_fd, &key);
}

bool bpf_ring_lookup(const struct bpf_ring *ring, pid_t pid, struct watched *watched)
{
	uint32_t key = (uint32_t)pid;

	return pid > 0 && bpf_map_lookup_elem(ring->watched_fd, &key, watched) == 0;
}

/* A value that a program writes into the entry meanwhile is lost, which costs at most one wake-up. */
void bpf_ring_set_flags(struct bpf_ring *ring, pid_t pid, uint32_t set, uint32_t cleared)
{
	uint32_t key = (uint32_t)pid, flags;
	struct watched watched;

	if (!bpf_ring_lookup(ring, pid, &watched))
		return;
	flags = (watched.flags | set) & ~cleared;
	if (flags == watched.flags)
		return;
	watched.flags = flags;
	bpf_map_update_elem(ring->watched_fd, &key, &watched, BPF_EXIST);
}

pid_t bpf_ring_next(const struct bpf_ring *ring, pid_t pid, struct watched *watched)
{
	uint32_t key = (uint32_t)pid, next;

	while (bpf_map_get_next_key(ring->watched_fd, key ? &key : NULL, &next) == 0) {
		if (bpf_map_lookup_elem(ring->watched_fd, &next, watched) == 0)
			return (pid_t)next;
		key = next; /* the entry was removed meanwhile */
	}
	return 0;
}

void bpf_ring_counts(const struct bpf_ring *ring, pid_t pid, struct sample_counts *counts)
{
	uint32_t key = (uint32_t)pid;

	memset(counts, 0, sizeof(*counts));
	if (bpf_map_lookup_elem(ring->counts_fd, &key, ring->per_cpu))
		return;
	for (int i = 0; i < ring->nr_cpus; i++)
		sample_counts_add(counts, &ring->per_cpu[i]);
}

void bpf_ring_failures(const struct bpf_ring *ring, uint64_t *unwatched, uint64_t *unnoted)
{
	struct sample_viewer viewer = {0};
	uint32_t zero = 0;

	bpf_map_lookup_elem(ring->viewer_fd, &zero, &viewer);
	*unwatched = viewer.unwatched;
	*unnoted = viewer.unnoted;
}
