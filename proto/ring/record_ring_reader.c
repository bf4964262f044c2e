#include "record_ring.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "record_ring_reader.h"

#define COLLECTIVES_AT_ONCE 64u

/* Starts where an earlier agent, if any, had released. It writes nothing, because this agent may have the same ring
 * already. */
static void lane_resume(struct reader_lane *lane, const struct ring_lane *control)
{
	lane->released = atomic_load_explicit(&control->release, memory_order_acquire);
	lane->read = lane->released;
}

int record_ring_copy(const struct record_ring *ring, uint64_t offset, void *to, size_t size)
{
	uint8_t *at = to;

	while (size > 0) {
		ssize_t got = pread(ring->fd, at, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EPROTO;
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

static void ring_lay_out(struct record_ring *ring)
{
	ring->header = (struct ring_header *)ring->base;
	ring->lane_controls = (struct ring_lane *)(ring->base + ring->layout.lane_controls);
	ring->meters = (const struct ring_meter *)(ring->base + ring->layout.meters);
	ring_marks_init(&ring->marks, ring->fd, ring->base, ring->layout.marks,
			&ring->header->mark_slots, &ring->sizes);
	record_ring_begin(ring);
}

/* A lane that nobody has claimed yet begins at 0, as the reader's does. */
void record_ring_begin(struct record_ring *ring)
{
	lane_resume(&ring->activity, &ring->header->activity);
	lane_resume(&ring->definition, &ring->header->definition);
	lane_resume(&ring->collective, &ring->header->collective);
	/* The other lanes were never released. */
	for (uint32_t i = 0, nr = ring_lanes_claimed(ring); i < nr; i++)
		lane_resume(&ring->lanes[i], &ring->lane_controls[i]);
	ring->samples_begin =
		atomic_load_explicit(&ring->header->samples_begin, memory_order_acquire);
	if (ring->definition.released == 0)
		return; /* the lane still has all definitions */
	ring->log_end = atomic_load_explicit(&ring->header->log_produced, memory_order_acquire);
	if (ring->log_end > ring->sizes.log_bytes)
		ring->log_end = 0;
}

/* Returns whether the file is on tmpfs. Huge pages have seals, too, but come from a pool that may be empty when they
 * are touched. */
static bool is_tmpfs(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

static bool has_size(int fd, uint64_t size)
{
	char byte;

	return pread(fd, &byte, 1, (off_t)size - 1) == 1 && pread(fd, &byte, 1, (off_t)size) == 0;
}

/* Reads and checks the header. It uses pread, because a mapping could fault before the size is known to be right. It
 * asks for seals first: a file without seals may be on a file system that delays its answers at will. */
static int ring_check(int fd, struct record_ring_sizes *sizes, struct ring_layout *layout)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct ring_header header;
	int have = fcntl(fd, F_GET_SEALS);

	if (have < 0 || !is_tmpfs(fd))
		return -EPROTO; /* not a memfd, because only these have seals */
	if ((have & seals) != seals)
		return -EPERM;
	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return -EPROTO;
	if (header.magic != RING_MAGIC || header.version != RING_VERSION)
		return -EPROTO;
	*sizes = header.sizes;
	if (ring_layout(sizes, layout) < 0 || !has_size(fd, layout->size))
		return -EPROTO;
	return 0;
}

int record_ring_map(int fd, struct record_ring **ring)
{
	struct record_ring_sizes sizes;
	struct ring_layout layout;
	int error = ring_check(fd, &sizes, &layout);

	*ring = NULL;
	if (error < 0)
		return error;

	struct record_ring *self =
		calloc(1, sizeof(*self) + sizes.launch_lanes * sizeof(self->lanes[0]));
	if (!self)
		return -ENOMEM;
	self->sizes = sizes;
	self->layout = layout;
	self->base = MAP_FAILED;
	self->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (self->fd >= 0)
		self->base = mmap(NULL, layout.log, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_NORESERVE, self->fd, 0);
	if (self->base == MAP_FAILED) {
		error = -errno;
		if (self->fd >= 0)
			close(self->fd);
		free(self);
		return error;
	}
	ring_guard_add(&self->guard, self->base, layout.log);
	ring_lay_out(self);
	*ring = self;
	return 0;
}

void record_ring_unmap(struct record_ring *ring)
{
	if (!ring)
		return;
	ring_guard_remove(&ring->guard);
	munmap(ring->base, ring->layout.log);
	close(ring->fd);
	free(ring);
}

bool record_ring_is_broken(const struct record_ring *ring)
{
	return ring_guard_faulted(&ring->guard);
}

/* Returns the lane's counter. A lane that claims more than it can hold is given up, and so is one whose counter falls
 * below what was read. */
static uint64_t lane_produced(const struct record_ring *ring, struct reader_lane *lane,
			      struct ring_lane *control, uint64_t capacity)
{
	uint64_t produced = atomic_load_explicit(&control->produced, memory_order_acquire);

	if (produced - lane->released > capacity ||
	    produced - lane->released < lane->read - lane->released || record_ring_is_broken(ring))
		lane->given_up = true;
	return lane->given_up ? lane->read : produced;
}

void record_ring_snapshot(struct record_ring *ring, struct record_ring_snapshot *snapshot)
{
	snapshot->finished = atomic_load_explicit(&ring->header->state, memory_order_acquire) ==
			     RECORD_RING_FINISHED;
	snapshot->activity = lane_produced(ring, &ring->activity, &ring->header->activity,
					   ring->sizes.activity_records);

	snapshot->lanes = ring_lanes_claimed(ring);
	for (uint32_t i = 0; i < snapshot->lanes; i++)
		snapshot->launch[i] = lane_produced(ring, &ring->lanes[i], &ring->lane_controls[i],
						    ring->sizes.launch_lane_records);
	snapshot->collective = lane_produced(ring, &ring->collective, &ring->header->collective,
					     ring->sizes.collectives);
	snapshot->definition = lane_produced(ring, &ring->definition, &ring->header->definition,
					     ring->sizes.definition_bytes);
}

uint64_t record_ring_unread(const struct record_ring *ring,
			    const struct record_ring_snapshot *snapshot)
{
	uint64_t unread = snapshot->activity - ring->activity.read + snapshot->collective -
			  ring->collective.read;

	for (uint32_t i = 0; i < snapshot->lanes; i++)
		unread += snapshot->launch[i] - ring->lanes[i].read;
	return unread;
}

/* Returns how many of the next records may be copied in one piece: within the snapshot, max and the lane's end. */
static uint32_t lane_piece(const struct reader_lane *lane, uint64_t limit, uint64_t capacity,
			   uint32_t max)
{
	uint64_t count = limit - lane->read;
	uint64_t to_end = capacity - (lane->read & (capacity - 1));

	if (count > to_end)
		count = to_end;
	return count > max ? max : (uint32_t)count;
}

static void lane_advance(struct reader_lane *lane, struct ring_lane *control, uint64_t count)
{
	lane->read += count;
	atomic_store_explicit(&control->read, lane->read, memory_order_relaxed);
}

/* Returns how many of count records a guest wrote, up to the first that it did not write. A record has a time, so a
 * record of zeros is a hole. Without this check a guest that wrote nothing could claim records without end, at no
 * cost. */
static uint32_t written(const void *records, size_t size, uint32_t count)
{
	const uint8_t *record = records;

	for (uint32_t i = 0; i < count; i++, record += size) {
		bool blank = true;

		for (size_t at = 0; at < size && blank; at++)
			blank = record[at] == 0;
		if (blank)
			return i;
	}
	return count;
}

/* Copies up to max records of `size` bytes from a lane whose records begin at offset. */
static int lane_read(const struct record_ring *ring, struct reader_lane *lane,
		     struct ring_lane *control, uint64_t limit, uint64_t capacity, uint64_t offset,
		     void *out, size_t size, uint32_t max)
{
	uint32_t done = 0;

	while (!lane->given_up && done < max && lane->read < limit) {
		uint32_t count = lane_piece(lane, limit, capacity, max - done);
		uint64_t at = offset + (lane->read & (capacity - 1)) * size;
		uint8_t *to = (uint8_t *)out + done * size;

		lane->given_up = record_ring_copy(ring, at, to, count * size) != 0;
		uint32_t nr_written = lane->given_up ? 0 : written(to, size, count);
		lane->given_up |= nr_written < count;
		count = nr_written;
		lane_advance(lane, control, count);
		done += count;
	}
	return lane->given_up && done == 0 ? -EPROTO : (int)done;
}

int record_ring_read_launches(struct record_ring *ring, const struct record_ring_snapshot *snapshot,
			      uint32_t lane, struct launch_record *out, uint32_t max)
{
	uint64_t capacity = ring->sizes.launch_lane_records;

	if (lane >= snapshot->lanes)
		return 0;
	return lane_read(ring, &ring->lanes[lane], &ring->lane_controls[lane],
			 snapshot->launch[lane], capacity,
			 ring->layout.launch + lane * capacity * sizeof(*out), out, sizeof(*out),
			 max);
}

int record_ring_read_activity(struct record_ring *ring, const struct record_ring_snapshot *snapshot,
			      struct gpu_record *out, uint32_t max)
{
	return lane_read(ring, &ring->activity, &ring->header->activity, snapshot->activity,
			 ring->sizes.activity_records, ring->layout.activity, out, sizeof(*out),
			 max);
}

/* Places that follow each other, which are read twice. A record counts if its turn had come before its bytes were
 * copied. */
struct collective_piece {
	struct ring_collective places[COLLECTIVES_AT_ONCE];
	uint64_t turns[COLLECTIVES_AT_ONCE];
	uint32_t count;
};

static int read_piece(struct record_ring *ring, uint64_t limit, uint32_t max,
		      struct collective_piece *piece)
{
	uint64_t capacity = ring->sizes.collectives;
	uint64_t at = ring->layout.collective +
		      (ring->collective.read & (capacity - 1)) * sizeof(struct ring_collective);

	piece->count = lane_piece(&ring->collective, limit, capacity,
				  max < COLLECTIVES_AT_ONCE ? max : COLLECTIVES_AT_ONCE);
	size_t size = piece->count * sizeof(struct ring_collective);
	int r = record_ring_copy(ring, at, piece->places, size);
	for (uint32_t i = 0; i < piece->count && r == 0; i++)
		piece->turns[i] =
			atomic_load_explicit(&piece->places[i].turn, memory_order_acquire);
	return r ? r : record_ring_copy(ring, at, piece->places, size);
}

int record_ring_read_collectives(struct record_ring *ring,
				 const struct record_ring_snapshot *snapshot, bool gone,
				 struct collective_record *out, uint32_t max, uint32_t *nr_lost)
{
	struct reader_lane *own = &ring->collective;
	struct collective_piece piece;
	uint32_t done = 0;
	bool ready = true;

	*nr_lost = 0;
	while (!own->given_up && ready && done < max && own->read < snapshot->collective) {
		own->given_up = read_piece(ring, snapshot->collective, max - done, &piece) != 0;
		for (uint32_t i = 0; i < piece.count && ready && !own->given_up; i++) {
			if (piece.turns[i] == own->read + 1)
				out[done++] = piece.places[i].record;
			else if (gone)
				++*nr_lost;
			else
				ready = false;
			own->read += ready;
		}
	}
	lane_advance(own, &ring->header->collective, 0);
	return own->given_up && done == 0 ? -EPROTO : (int)done;
}

static int definition_get(const struct record_ring *ring, uint64_t position, void *out,
			  uint64_t size)
{
	uint64_t capacity = ring->sizes.definition_bytes;
	uint64_t at = position & (capacity - 1);
	uint64_t first = capacity - at < size ? capacity - at : size;
	int r = record_ring_copy(ring, ring->layout.definition + at, out, first);

	return r ? r
		 : record_ring_copy(ring, ring->layout.definition, (uint8_t *)out + first,
				    size - first);
}

/* Does the same as record_ring_read_definition(), from the log. 0: the log is read, or is invalid. */
static int log_next(struct record_ring *ring, uint32_t *type, void *body, uint32_t body_max,
		    uint32_t *size)
{
	uint64_t left = ring->log_end - ring->log_read;
	uint64_t at = ring->layout.log + ring->log_read;
	uint32_t prefix[2];

	if (left < sizeof(prefix))
		return 0;
	if (record_ring_copy(ring, at, prefix, sizeof(prefix)))
		prefix[1] = UINT32_MAX;

	uint64_t whole = sizeof(prefix) + (((uint64_t)prefix[1] + 7) & ~7ull);
	if (prefix[1] > DEFINITION_SIZE_MAX || whole > left) {
		ring->log_read = ring->log_end;
		return 0;
	}
	*type = prefix[0];
	*size = prefix[1];
	ring->log_read += whole;
	if (prefix[1] > body_max)
		return -EMSGSIZE;
	return record_ring_copy(ring, at + sizeof(prefix), body, prefix[1]) ? 0 : 1;
}

/* Reads what stands before the next definition of the lane, with which it takes *whole bytes. false: it makes no
 * sense. */
static bool definition_prefix(const struct record_ring *ring, uint64_t end, uint32_t prefix[2],
			      uint64_t *whole)
{
	const uint64_t size = 2 * sizeof(*prefix), at = ring->definition.read;

	if (end - at < size || definition_get(ring, at, prefix, size))
		return false;
	*whole = size + (((uint64_t)prefix[1] + 7) & ~7ull);
	return prefix[1] <= DEFINITION_SIZE_MAX && *whole <= end - at;
}

int record_ring_read_definition(struct record_ring *ring,
				const struct record_ring_snapshot *snapshot, uint32_t *type,
				void *body, uint32_t body_max, uint32_t *size)
{
	struct reader_lane *own = &ring->definition;
	uint32_t prefix[2];
	uint64_t whole;
	int logged = log_next(ring, type, body, body_max, size);

	if (logged)
		return logged;
	if (own->given_up)
		return -EPROTO;
	for (;;) {
		if (own->read >= snapshot->definition)
			return 0;
		if (!definition_prefix(ring, snapshot->definition, prefix, &whole))
			goto give_up;
		/* Samples add up, so those of the last agent's messages must not come again. */
		if (prefix[0] != DEFINITION_KERNEL_SAMPLES || own->read >= ring->samples_begin)
			break;
		lane_advance(own, &ring->header->definition, whole);
	}
	*type = prefix[0];
	*size = prefix[1];
	int result = -EMSGSIZE;
	if (prefix[1] <= body_max) {
		if (definition_get(ring, own->read + sizeof(prefix), body, prefix[1]))
			goto give_up;
		result = 1;
	}
	lane_advance(own, &ring->header->definition, whole);
	return result;

give_up:
	own->given_up = true;
	return -EPROTO;
}

int record_ring_read_stack(const struct record_ring *ring, uint32_t stack_id, uint64_t *frames)
{
	if (stack_id == RECORD_STACK_NONE || stack_id > ring->sizes.stacks)
		return -ENOENT;

	/* The guest wrote it before it published the record that names it. */
	uint64_t entry;
	if (record_ring_copy(ring, ring->layout.stack_index + (stack_id - 1) * sizeof(entry),
			     &entry, sizeof(entry)))
		return -EPROTO;
	uint32_t depth = entry & ((1u << RING_STACK_DEPTH_BITS) - 1);
	uint64_t word = entry >> RING_STACK_DEPTH_BITS;
	if (entry == 0)
		return -ENOENT;
	if (depth == 0 || depth > RECORD_STACK_DEPTH || word > ring->sizes.stack_words ||
	    depth > ring->sizes.stack_words - word)
		return -EPROTO;
	int r = record_ring_copy(ring, ring->layout.stack_arena + word * sizeof(*frames), frames,
				 depth * sizeof(*frames));
	return r ? r : (int)depth;
}

int record_ring_read_code(const struct record_ring *ring, uint32_t code_id,
			  struct record_ring_code *code)
{
	const uint32_t text_mask = (1u << RING_CODE_TEXT_BITS) - 1;

	code->file_size = code->name_size = 0;
	if (code_id == 0 || code_id > ring->sizes.codes)
		return -ENOENT;

	uint64_t entry;
	if (record_ring_copy(ring, ring->layout.code_index + (code_id - 1) * sizeof(entry), &entry,
			     sizeof(entry)))
		return -EPROTO;
	if (entry == 0)
		return -ENOENT;
	uint64_t word = (entry >> (2 * RING_CODE_TEXT_BITS)) - 1;
	uint32_t file_size = (uint32_t)(entry >> RING_CODE_TEXT_BITS) & text_mask;
	uint32_t name_size = (uint32_t)entry & text_mask;
	if (file_size > RECORD_CODE_TEXT_MAX || name_size > RECORD_CODE_TEXT_MAX ||
	    word > ring->sizes.code_words ||
	    ((uint64_t)file_size + name_size + 7) / 8 > ring->sizes.code_words - word)
		return -EPROTO;
	uint64_t text = ring->layout.code_arena + word * sizeof(entry);
	if (record_ring_copy(ring, text, code->file, file_size) ||
	    record_ring_copy(ring, text + file_size, code->name, name_size))
		return -EPROTO;
	code->file_size = file_size;
	code->name_size = name_size;
	return 0;
}

int record_ring_position(const struct record_ring *ring, struct record_ring_position *position)
{
	position->lanes = ring_lanes_claimed(ring);
	position->activity = ring->activity.read;
	position->definition = ring->definition.read;
	position->collective = ring->collective.read;
	position->launch = malloc((position->lanes + 1) * sizeof(*position->launch));
	if (!position->launch)
		return -ENOMEM;
	for (uint32_t i = 0; i < position->lanes; i++)
		position->launch[i] = ring->lanes[i].read;
	return 0;
}

static void lane_release(struct reader_lane *lane, struct ring_lane *control, uint64_t position)
{
	if (position <= lane->released || position > lane->read)
		return; /* already there, or never read */
	lane->released = position;
	atomic_store_explicit(&control->release, position, memory_order_release);
}

void record_ring_release(struct record_ring *ring, const struct record_ring_position *position)
{
	lane_release(&ring->activity, &ring->header->activity, position->activity);
	lane_release(&ring->definition, &ring->header->definition, position->definition);
	lane_release(&ring->collective, &ring->header->collective, position->collective);
	for (uint32_t i = 0; i < position->lanes; i++)
		lane_release(&ring->lanes[i], &ring->lane_controls[i], position->launch[i]);
}

static uint32_t lane_release_crowded(struct reader_lane *lane, struct ring_lane *control,
				     uint64_t capacity)
{
	if (lane->read - lane->released <= capacity / 2)
		return 0;
	lane_release(lane, control, lane->read);
	return 1;
}

uint32_t record_ring_release_crowded(struct record_ring *ring)
{
	uint32_t crowded = lane_release_crowded(&ring->activity, &ring->header->activity,
						ring->sizes.activity_records) +
			   lane_release_crowded(&ring->definition, &ring->header->definition,
						ring->sizes.definition_bytes) +
			   lane_release_crowded(&ring->collective, &ring->header->collective,
						ring->sizes.collectives);

	for (uint32_t i = 0, nr = ring_lanes_claimed(ring); i < nr; i++)
		crowded += lane_release_crowded(&ring->lanes[i], &ring->lane_controls[i],
						ring->sizes.launch_lane_records);
	return crowded;
}

void record_ring_command(struct record_ring *ring, const struct record_ring_command *command)
{
	struct ring_control *control = &ring->header->control;
	uint32_t seq = atomic_load_explicit(&control->command_seq, memory_order_relaxed) | 1;

	atomic_store_explicit(&control->command_seq, seq, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&control->action, command->action, memory_order_relaxed);
	atomic_store_explicit(&control->from_ns, command->from_ns, memory_order_relaxed);
	atomic_store_explicit(&control->until_ns, command->until_ns, memory_order_relaxed);
	atomic_store_explicit(&control->command_seq, seq + 1, memory_order_release);
}

uint32_t record_ring_capture(const struct record_ring *ring, uint32_t *nr_windows)
{
	const struct ring_control *control = &ring->header->control;
	uint32_t state = atomic_load_explicit(&control->capture_state, memory_order_acquire);

	*nr_windows = atomic_load_explicit(&control->nr_windows, memory_order_relaxed);
	return state;
}
