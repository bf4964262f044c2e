#include "record_ring.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record_ring_writer.h"

#include "proto/definition.h"
#include "proto/launch_path.h"
#include "proto/sparse_memory.h"

/* A cubin's piece has so many bytes or more; what stands before it takes LOG_HEAD. */
#define LOG_PIECE 16384u
#define LOG_HEAD  32u
#define LOG_MARK  64u /* bytes that stand for a cubin without room */

#define CLOSED_LEAST 65536u /* bytes of a launch lane: the largest page of a machine */

/* memfd_create() is younger than the oldest libc that the guest supports, and so are these flags. */
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC       0x1u
#define MFD_ALLOW_SEALING 0x2u
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x8u
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS   1033
#define F_SEAL_SEAL   0x1
#define F_SEAL_SHRINK 0x2
#define F_SEAL_GROW   0x4
#endif

static int memfd_open(uint64_t size)
{
	struct rlimit limit;

	/* Growing a file past RLIMIT_FSIZE raises SIGXFSZ in the application. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < size)
		return -EFBIG;

	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	long fd = syscall(SYS_memfd_create, "flamegrid-ring", flags | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_memfd_create, "flamegrid-ring", flags);
	if (fd < 0)
		return -errno;
	if (ftruncate((int)fd, (off_t)size) < 0) {
		int error = -errno;

		close((int)fd);
		return error;
	}
	return (int)fd;
}

static void ring_lay_out(struct record_ring *ring, const struct record_ring_sizes *sizes,
			 const struct ring_layout *layout)
{
	ring->size = layout->size;
	ring->header = (struct ring_header *)ring->base;
	ring->counters = (struct ring_counter *)(ring->base + layout->counters);
	ring->lane_controls = (struct ring_lane *)(ring->base + layout->lane_controls);
	ring->meters = (struct ring_meter *)(ring->base + layout->meters);
	ring->stack_index = (_Atomic uint64_t *)(ring->base + layout->stack_index);
	ring->stack_arena = (uint64_t *)(ring->base + layout->stack_arena);
	ring->code_index = (_Atomic uint64_t *)(ring->base + layout->code_index);
	ring->code_arena = (uint64_t *)(ring->base + layout->code_arena);
	ring->definitions = ring->base + layout->definition;
	ring->log = ring->base + layout->log;
	ring->log_bytes = sizes->log_bytes;
	ring->activity = (struct gpu_record *)(ring->base + layout->activity);
	ring->collectives = (struct ring_collective *)(ring->base + layout->collective);
	ring->nr_collectives = sizes->collectives;
	ring->launch_mask = sizes->launch_lane_records - 1;
	ring->activity_mask = sizes->activity_records - 1;
	ring->definition_mask = sizes->definition_bytes - 1;
	ring->stacks = sizes->stacks;
	ring->stack_words = sizes->stack_words;
	ring->codes = sizes->codes;
	ring->code_words = sizes->code_words;
	ring->nr_lanes = sizes->launch_lanes;
	for (uint32_t i = 0; i < sizes->launch_lanes; i++) {
		ring->lanes[i].control = &ring->lane_controls[i];
		ring->lanes[i].trim = TRIM_NONE;
		ring->lanes[i].records = (struct launch_record *)(ring->base + layout->launch) +
					 (uint64_t)i * sizes->launch_lane_records;
	}
	ring->header->version = RING_VERSION;
	ring->header->sizes = *sizes;
	atomic_store_explicit(&ring->header->magic, RING_MAGIC, memory_order_release);
}

/* Launch lanes are most of the ring, and most are never claimed. mlockall() brings no memory in that nobody may access.
 * Small lanes stay open: they are few bytes, and may share a page of the machine's. */
static void close_lanes(struct record_ring *ring)
{
	uint64_t bytes = (ring->launch_mask + 1) * sizeof(struct launch_record);
	bool closed = bytes % CLOSED_LEAST == 0 &&
		      mprotect(ring->lanes[0].records, ring->nr_lanes * bytes, PROT_NONE) == 0;

	for (uint32_t i = 0; i < ring->nr_lanes; i++)
		ring->lanes[i].is_open = !closed;
}

uint64_t record_ring_bytes(const struct record_ring_sizes *sizes)
{
	struct ring_layout layout;

	return ring_layout(sizes, &layout) < 0 ? 0 : layout.size;
}

int record_ring_create(const struct record_ring_sizes *sizes, struct record_ring **ring, int *fd)
{
	struct ring_layout layout;
	int laid_out = ring_layout(sizes, &layout);

	*ring = NULL;
	*fd = -1;
	assert(laid_out == 0);
	if (laid_out < 0)
		return laid_out;

	size_t own_size =
		sizeof(struct record_ring) + sizes->launch_lanes * sizeof(struct launch_lane);
	struct record_ring *self =
		mmap(NULL, own_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (self == MAP_FAILED)
		return -errno;
	self->own_size = own_size;

	int error = 0;
	int memfd = memfd_open(layout.size);
	if (memfd < 0) {
		error = memfd;
		goto fail_own;
	}
	self->base = sparse_memory_map_file(layout.size, memfd);
	if (!self->base ||
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		error = -errno;
		goto fail_memfd;
	}
	ring_lay_out(self, sizes, &layout);
	close_lanes(self);
	*ring = self;
	*fd = memfd;
	return 0;

fail_memfd:
	if (self->base)
		munmap(self->base, layout.size);
	close(memfd);
fail_own:
	munmap(self, own_size);
	return error;
}

void record_ring_destroy(struct record_ring *ring)
{
	if (!ring)
		return;
	munmap(ring->base, ring->size);
	munmap(ring, ring->own_size);
}

/* Makes a claimed lane accessible, once. */
static bool open_lane(struct record_ring *ring, struct launch_lane *own)
{
	if (own->is_open)
		return true;
	own->is_open = sparse_memory_open(own->records, (ring->launch_mask + 1) *
								sizeof(struct launch_record)) == 0;
	return own->is_open;
}

int record_ring_claim_lane(struct record_ring *ring)
{
	for (uint32_t i = 0; i < ring->nr_lanes; i++) {
		uint32_t free_lane = 0;

		/* This looks first, because a locked instruction would take the cache line from the thread that owns
		 * the lane. */
		if (atomic_load_explicit(&ring->lane_controls[i].owned, memory_order_relaxed))
			continue;
		/* Acquire: the last owner's knowledge of the lane is ours now. */
		if (!atomic_compare_exchange_strong_explicit(&ring->lane_controls[i].owned,
							     &free_lane, 1, memory_order_acquire,
							     memory_order_relaxed))
			continue;
		if (!open_lane(ring, &ring->lanes[i])) {
			record_ring_give_back_lane(ring, i);
			return -ENOMEM;
		}

		uint32_t lanes = atomic_load_explicit(&ring->header->lanes, memory_order_relaxed);
		while (lanes <= i && !atomic_compare_exchange_weak_explicit(
					     &ring->header->lanes, &lanes, i + 1,
					     memory_order_release, memory_order_relaxed))
			;
		return (int)i;
	}
	return -EBUSY;
}

void record_ring_give_back_lane(struct record_ring *ring, uint32_t lane)
{
	atomic_store_explicit(&ring->lane_controls[lane].owned, 0, memory_order_release);
}

_Atomic uint64_t *record_ring_meter(struct record_ring *ring, uint32_t lane)
{
	return ring->meters[lane].words;
}

uint32_t record_ring_own_lanes(const struct record_ring *ring)
{
	uint32_t lanes = atomic_load_explicit(&ring->header->lanes, memory_order_acquire);

	return lanes < ring->nr_lanes ? lanes : ring->nr_lanes;
}

/* Adds to a counter that has a single writer, without a locked instruction. */
static void add_alone(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Takes the producer's next stretch. Returns false if the lane is full. The store comes before the load, here and in
 * trim_launches(). So either this function sees the place from which memory is taken, or that one sees the new
 * stretch. */
static __attribute__((noinline)) bool extend(const struct record_ring *ring,
					     struct launch_lane *own, uint64_t produced)
{
	uint64_t capacity = ring->launch_mask + 1, stretch = capacity / STRETCHES;
	uint64_t end =
		atomic_load_explicit(&own->control->release, memory_order_acquire) + capacity;
	uint64_t limit = produced + (stretch > STRETCH_LEAST ? stretch : STRETCH_LEAST), trim;

	if (limit > end)
		limit = end;
	atomic_store(&own->limit, limit);
	trim = atomic_load(&own->trim);
	/* A trim that lies behind is out of date, and will be taken back. */
	if (limit > trim && trim >= produced) {
		limit = trim;
		atomic_store(&own->limit, limit);
	}
	return produced < limit;
}

LAUNCH_PATH bool record_ring_push_launch(struct record_ring *ring, uint32_t lane,
					 const struct launch_record *record)
{
	struct launch_lane *own = &ring->lanes[lane];
	struct ring_lane *control = own->control;
	uint64_t produced = atomic_load_explicit(&control->produced, memory_order_relaxed);
	bool mark = record->flags & (RECORD_LAUNCH_FAILED | RECORD_LAUNCH_HOST);

	if (produced >= atomic_load_explicit(&own->limit, memory_order_relaxed) &&
	    !extend(ring, own, produced)) {
		if (!mark)
			add_alone(&control->dropped);
		return false;
	}
	if (mark)
		add_alone(&control->marks);
	own->records[produced & ring->launch_mask] = *record;
	atomic_store_explicit(&control->produced, produced + 1, memory_order_release);
	return true;
}

bool record_ring_push_collective(struct record_ring *ring, const struct collective_record *record)
{
	struct ring_lane *control = &ring->header->collective;
	uint64_t at = atomic_load_explicit(&control->produced, memory_order_relaxed), now;

	for (;;) {
		/* Acquire: the reader has finished copying from the place. */
		if (at - atomic_load_explicit(&control->release, memory_order_acquire) <
		    ring->nr_collectives) {
			if (atomic_compare_exchange_weak_explicit(&control->produced, &at, at + 1,
								  memory_order_relaxed,
								  memory_order_relaxed))
				break;
			continue;
		}
		/* Full, unless other writers and the reader have gone past. */
		now = atomic_load_explicit(&control->produced, memory_order_relaxed);
		if (now == at)
			return false;
		at = now;
	}
	struct ring_collective *place = &ring->collectives[at & (ring->nr_collectives - 1)];
	/* The last writer of this place has finished. The release says so, and this load says so on the writers'
	 * side. */
	(void)atomic_load_explicit(&place->turn, memory_order_acquire);
	place->record = *record;
	atomic_store_explicit(&place->turn, at + 1, memory_order_release);
	return true;
}

uint32_t record_ring_activity_room(const struct record_ring *ring)
{
	struct ring_lane *control = &ring->header->activity;
	uint64_t used = atomic_load_explicit(&control->produced, memory_order_relaxed) -
			atomic_load_explicit(&control->release, memory_order_acquire);
	uint64_t capacity = ring->activity_mask + 1;

	return used < capacity ? (uint32_t)(capacity - used) : 0;
}

uint32_t record_ring_push_activity(struct record_ring *ring, const struct gpu_record *records,
				   uint32_t count)
{
	struct ring_lane *control = &ring->header->activity;
	uint64_t produced = atomic_load_explicit(&control->produced, memory_order_relaxed);
	uint32_t room = record_ring_activity_room(ring);

	if (count > room)
		count = room;
	for (uint32_t i = 0; i < count; i++)
		ring->activity[(produced + i) & ring->activity_mask] = records[i];
	atomic_store_explicit(&control->produced, produced + count, memory_order_release);
	return count;
}

/* Copies into the definition lane at a position, around its end. */
static void definition_put(struct record_ring *ring, uint64_t position, const void *data,
			   uint64_t size)
{
	uint64_t at = position & ring->definition_mask;
	uint64_t first = ring->definition_mask + 1 - at;

	if (first > size)
		first = size;
	memcpy(ring->definitions + at, data, first);
	memcpy(ring->definitions, (const uint8_t *)data + first, size - first);
}

static void log_append(struct record_ring *ring, uint32_t type, const void *head,
		       uint32_t head_size, const void *tail, uint32_t tail_size)
{
	const uint32_t prefix[2] = {type, head_size + tail_size};
	uint64_t size = sizeof(prefix) + (((uint64_t)prefix[1] + 7) & ~7ull);
	uint64_t at = atomic_load_explicit(&ring->header->log_produced, memory_order_relaxed);

	if (at > ring->log_bytes || size > ring->log_bytes - at) {
		atomic_fetch_add_explicit(&ring->header->log_full, 1, memory_order_relaxed);
		return;
	}
	memcpy(ring->log + at, prefix, sizeof(prefix));
	memcpy(ring->log + at + sizeof(prefix), head, head_size);
	if (tail_size)
		memcpy(ring->log + at + sizeof(prefix) + head_size, tail, tail_size);
	atomic_store_explicit(&ring->header->log_produced, at + size, memory_order_release);
}

/* Half of the log is for cubins. Of a cubin that finds no room there, a few bytes tell the next agent that there is
 * one. */
static void log_code(struct record_ring *ring, const void *head, uint32_t head_size,
		     const void *tail, uint32_t tail_size)
{
	struct definition_cubin cubin;

	if (!ring->keeps_code || head_size != sizeof(cubin))
		return;
	memcpy(&cubin, head, sizeof(cubin));
	if (cubin.offset == 0) {
		const uint64_t size = cubin.size + (cubin.size / LOG_PIECE + 1ull) * LOG_HEAD;
		const bool has_room =
			size <= ring->log_bytes / RECORD_RING_LOG_CODE - ring->code_bytes;

		ring->code_crc = has_room ? cubin.crc : 0;
		ring->code_bytes += has_room ? size : 0;
		if (!has_room)
			log_append(ring, DEFINITION_CUBIN, head, head_size, tail,
				   tail_size < LOG_MARK ? tail_size : LOG_MARK);
	}
	if (cubin.crc && cubin.crc == ring->code_crc)
		log_append(ring, DEFINITION_CUBIN, head, head_size, tail, tail_size);
}

/* Puts a definition into the log, except clocks, which are out of date when the log is read. It comes before the
 * definition lane: a reader that has seen a definition's release finds it in the log. */
static void log_put(struct record_ring *ring, uint32_t type, const void *head, uint32_t head_size,
		    const void *tail, uint32_t tail_size)
{
	if (type == DEFINITION_CUBIN)
		log_code(ring, head, head_size, tail, tail_size);
	else if (type != DEFINITION_CLOCK && type != DEFINITION_KERNEL_SAMPLES)
		log_append(ring, type, head, head_size, tail, tail_size);
}

void record_ring_keep_code(struct record_ring *ring)
{
	ring->keeps_code = true;
}

bool record_ring_define(struct record_ring *ring, uint32_t type, const void *head,
			uint32_t head_size, const void *tail, uint32_t tail_size)
{
	struct ring_lane *control = &ring->header->definition;
	const uint32_t prefix[2] = {type, head_size + tail_size};
	uint64_t size = sizeof(prefix) + (((uint64_t)prefix[1] + 7) & ~7ull);
	uint64_t produced = atomic_load_explicit(&control->produced, memory_order_relaxed);
	uint64_t used = produced - atomic_load_explicit(&control->release, memory_order_acquire);

	if (prefix[1] > DEFINITION_SIZE_MAX || used > ring->definition_mask + 1 ||
	    size > ring->definition_mask + 1 - used)
		return false;
	log_put(ring, type, head, head_size, tail, tail_size);
	definition_put(ring, produced, prefix, sizeof(prefix));
	definition_put(ring, produced + sizeof(prefix), head, head_size);
	if (tail_size)
		definition_put(ring, produced + sizeof(prefix) + head_size, tail, tail_size);
	atomic_store_explicit(&control->produced, produced + size, memory_order_release);
	return true;
}

bool record_ring_spares(const struct record_ring *ring, uint32_t size_bytes)
{
	const struct ring_lane *control = &ring->header->definition;
	uint64_t used = atomic_load_explicit(&control->produced, memory_order_relaxed) -
			atomic_load_explicit(&control->release, memory_order_acquire);

	return used + size_bytes <= (ring->definition_mask + 1) / 4 * 3;
}

uint32_t record_ring_add_stack(struct record_ring *ring, const uint64_t *frames, uint32_t depth)
{
	if (depth == 0 || depth > RECORD_STACK_DEPTH)
		return RECORD_STACK_NONE;
	/* The counters are read before they are raised, so that they stay near their bounds when the table is full. */
	if (atomic_load_explicit(&ring->header->next_stack, memory_order_relaxed) >= ring->stacks ||
	    atomic_load_explicit(&ring->header->next_word, memory_order_relaxed) >=
		    ring->stack_words)
		return RECORD_STACK_NONE;

	uint32_t index =
		atomic_fetch_add_explicit(&ring->header->next_stack, 1, memory_order_relaxed);
	uint64_t word =
		atomic_fetch_add_explicit(&ring->header->next_word, depth, memory_order_relaxed);
	if (index >= ring->stacks || word + depth > ring->stack_words)
		return RECORD_STACK_NONE;
	memcpy(&ring->stack_arena[word], frames, depth * sizeof(*frames));
	atomic_store_explicit(&ring->stack_index[index], word << RING_STACK_DEPTH_BITS | depth,
			      memory_order_release);
	return index + 1;
}

uint32_t record_ring_add_code(struct record_ring *ring, const char *file, uint32_t file_size,
			      const char *name, uint32_t name_size)
{
	uint64_t words = ((uint64_t)file_size + name_size + 7) / 8;

	if (file_size > RECORD_CODE_TEXT_MAX || name_size > RECORD_CODE_TEXT_MAX)
		return 0;
	/* Checked before, as for stacks. */
	if (atomic_load_explicit(&ring->header->next_code, memory_order_relaxed) >= ring->codes ||
	    atomic_load_explicit(&ring->header->next_code_word, memory_order_relaxed) >=
		    ring->code_words)
		return 0;

	uint32_t index =
		atomic_fetch_add_explicit(&ring->header->next_code, 1, memory_order_relaxed);
	uint64_t word = atomic_fetch_add_explicit(&ring->header->next_code_word, words,
						  memory_order_relaxed);
	if (index >= ring->codes || word + words > ring->code_words)
		return 0;
	char *text = (char *)&ring->code_arena[word];
	memcpy(text, file, file_size);
	memcpy(text + file_size, name, name_size);
	/* It is one more than the offset, so that an entry of zeros is empty. */
	atomic_store_explicit(&ring->code_index[index],
			      (word + 1) << (2 * RING_CODE_TEXT_BITS) |
				      (uint64_t)file_size << RING_CODE_TEXT_BITS | name_size,
			      memory_order_release);
	return index + 1;
}

static struct ring_counter *ring_counter(struct record_ring *ring, uint32_t device_id,
					 enum ledger_reason reason)
{
	uint32_t row = device_id;

	if (device_id == LEDGER_DEVICE_NONE)
		row = RECORD_DEVICES_MAX;
	else if (device_id >= RECORD_DEVICES_MAX)
		row = RECORD_DEVICES_MAX - 1;
	if (row < RECORD_DEVICES_MAX &&
	    !(atomic_load_explicit(&ring->header->counted, memory_order_relaxed) & 1ull << row))
		atomic_fetch_or_explicit(&ring->header->counted, 1ull << row, memory_order_relaxed);
	return &ring->counters[row * RING_REASONS + reason];
}

void record_ring_count(struct record_ring *ring, uint32_t device_id, enum ledger_reason reason,
		       uint64_t count, uint64_t ns)
{
	struct ring_counter *counter = ring_counter(ring, device_id, reason);

	atomic_fetch_add_explicit(&counter->count, count, memory_order_relaxed);
	if (ns)
		atomic_fetch_add_explicit(&counter->ns, ns, memory_order_relaxed);
}

uint32_t record_ring_own_stacks(const struct record_ring *ring)
{
	uint32_t stacks = atomic_load_explicit(&ring->header->next_stack, memory_order_relaxed);

	return stacks < ring->stacks ? stacks : ring->stacks;
}

uint64_t record_ring_own_launches(const struct record_ring *ring)
{
	const struct ring_counter *own = &ring->counters[RECORD_DEVICES_MAX * RING_REASONS];
	uint32_t lanes = atomic_load_explicit(&ring->header->lanes, memory_order_relaxed);
	uint64_t launches =
		atomic_load_explicit(&own[LEDGER_LAUNCHES].count, memory_order_relaxed) -
		atomic_load_explicit(&own[LEDGER_LAUNCH_FAILED].count, memory_order_relaxed);

	for (uint32_t i = 0; i < lanes && i < ring->nr_lanes; i++) {
		struct ring_lane *lane = &ring->lane_controls[i];

		/* Marks are read first, because they are counted before they are produced. */
		uint64_t marks = atomic_load_explicit(&lane->marks, memory_order_acquire);
		launches += atomic_load_explicit(&lane->produced, memory_order_relaxed) - marks +
			    atomic_load_explicit(&lane->dropped, memory_order_relaxed);
	}
	return launches;
}

bool record_ring_commanded(struct record_ring *ring, uint32_t *seq,
			   struct record_ring_command *command)
{
	struct ring_control *control = &ring->header->control;
	uint32_t before = atomic_load_explicit(&control->command_seq, memory_order_acquire);

	/* A command that is being written is seen the next time. */
	if (before == *seq || before % 2)
		return false;
	command->action = atomic_load_explicit(&control->action, memory_order_relaxed);
	command->from_ns = atomic_load_explicit(&control->from_ns, memory_order_relaxed);
	command->until_ns = atomic_load_explicit(&control->until_ns, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&control->command_seq, memory_order_relaxed) != before)
		return false;
	*seq = before;
	return true;
}

void record_ring_set_capture(struct record_ring *ring, enum record_ring_capture_state state,
			     uint32_t nr_windows)
{
	struct ring_control *control = &ring->header->control;

	atomic_store_explicit(&control->nr_windows, nr_windows, memory_order_relaxed);
	atomic_store_explicit(&control->capture_state, state, memory_order_release);
}

void record_ring_finish(struct record_ring *ring)
{
	atomic_store_explicit(&ring->header->state, RECORD_RING_FINISHED, memory_order_release);
}

uint64_t record_ring_last_beat(const struct record_ring *ring)
{
	return atomic_load_explicit(&ring->header->beat_ns, memory_order_relaxed);
}

bool record_ring_is_probed(const struct record_ring *ring)
{
	return atomic_load_explicit(&ring->header->probe, memory_order_relaxed) != 0;
}
