#include "probe_ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAD_ALIGN 8u

/* Positions only grow; a place is a position modulo the size. The data is mapped twice in a row, so no event is cut. */
struct probe_ring {
	size_t page, size;
	uint64_t *read;          /* a page that the kernel reads */
	const uint64_t *written; /* a page, and after it the data twice */
	const char *data;
};

int probe_ring_open(int map_fd, uint32_t size_bytes, struct probe_ring **ring)
{
	struct probe_ring *new_ring = calloc(1, sizeof(*new_ring));

	*ring = NULL;
	if (!new_ring)
		return -ENOMEM;
	new_ring->page = (size_t)sysconf(_SC_PAGESIZE);
	new_ring->size = size_bytes;
	void *read = mmap(NULL, new_ring->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	void *written = mmap(NULL, new_ring->page + 2 * new_ring->size, PROT_READ, MAP_SHARED,
			     map_fd, (off_t)new_ring->page);
	int r = read == MAP_FAILED || written == MAP_FAILED ? -errno : 0;
	new_ring->read = read == MAP_FAILED ? NULL : read;
	new_ring->written = written == MAP_FAILED ? NULL : written;
	if (r) {
		probe_ring_close(new_ring);
		return r;
	}
	new_ring->data = (const char *)written + new_ring->page;
	*ring = new_ring;
	return 0;
}

void probe_ring_close(struct probe_ring *ring)
{
	if (!ring)
		return;
	if (ring->read)
		munmap(ring->read, ring->page);
	if (ring->written)
		munmap((void *)(uintptr_t)ring->written, ring->page + 2 * ring->size);
	free(ring);
}

uint64_t probe_ring_end(const struct probe_ring *ring)
{
	return __atomic_load_n(ring->written, __ATOMIC_ACQUIRE);
}

int probe_ring_read(struct probe_ring *ring, uint64_t end, probe_ring_event event, void *context)
{
	uint64_t at = *ring->read;
	int r = 0;

	while (at < end && r == 0) {
		const uint32_t *head =
			(const uint32_t *)(const void *)(ring->data + (at & (ring->size - 1)));
		uint32_t word = __atomic_load_n(head, __ATOMIC_ACQUIRE);
		uint32_t size = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (word & BPF_RINGBUF_BUSY_BIT)
			return 1;
		if (!(word & BPF_RINGBUF_DISCARD_BIT))
			r = event(context, (const char *)head + BPF_RINGBUF_HDR_SZ, size);
		at += (size + BPF_RINGBUF_HDR_SZ + HEAD_ALIGN - 1) / HEAD_ALIGN * HEAD_ALIGN;
		__atomic_store_n(ring->read, at, __ATOMIC_RELEASE);
	}
	return r;
}
