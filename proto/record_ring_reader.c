#include "proto/record_ring.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/record_ring_reader.h"

/* An earlier agent may have read; whoever maps starts where it had released. Nothing is written: this agent may have the
 * same ring already. */
static void lane_resume(struct reader_lane *lane, const struct ring_lane *control)
{
	lane->released = atomic_load_explicit(&control->release, memory_order_acquire);
	lane->read = lane->released;
}

static void ring_lay_out(struct record_ring *ring, const struct ring_layout *layout)
{
	ring->size = layout->size;
	ring->header = (struct ring_header *)ring->base;
	ring->counters = (struct ring_counter *)(ring->base + layout->counters);
	ring->lane_controls = (struct ring_lane *)(ring->base + layout->lane_controls);
	ring->stack_index = (_Atomic uint64_t *)(ring->base + layout->stack_index);
	ring->stack_arena = (const uint64_t *)(ring->base + layout->stack_arena);
	ring->code_index = (_Atomic uint64_t *)(ring->base + layout->code_index);
	ring->code_arena = (const uint64_t *)(ring->base + layout->code_arena);
	ring->definitions = ring->base + layout->definition;
	ring->log = ring->base + layout->log;
	ring_marks_init(&ring->marks, ring->base + layout->marks, &ring->header->mark_slots,
			&ring->sizes);
	ring->activity_records = (const struct gpu_record *)(ring->base + layout->activity);
	ring->launch_records = (const struct launch_record *)(ring->base + layout->launch);
	lane_resume(&ring->activity, &ring->header->activity);
	ring->collectives = (struct ring_collective *)(ring->base + layout->collective);
	lane_resume(&ring->definition, &ring->header->definition);
	lane_resume(&ring->collective, &ring->header->collective);
	/* Of the others nothing was ever released. */
	for (uint32_t i = 0, nr = ring_lanes_claimed(ring); i < nr; i++)
		lane_resume(&ring->lanes[i], &ring->lane_controls[i]);
	if (ring->definition.released == 0)
		return; /* the lane still has all there is */
	ring->log_end = atomic_load_explicit(&ring->header->log_produced, memory_order_acquire);
	if (ring->log_end > ring->sizes.log_bytes)
		ring->log_end = 0;
}

/* Reads the header with pread: before the size is known to be right, a mapping could fault. */
static int ring_check(int fd, struct record_ring_sizes *sizes, struct ring_layout *layout)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct ring_header header;
	struct stat status;
	int have = fcntl(fd, F_GET_SEALS);

	if (have < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return -EPROTO; /* no memfd: nothing else has seals */
	if ((have & seals) != seals)
		return -EPERM;
	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return -EPROTO;
	if (header.magic != RING_MAGIC || header.version != RING_VERSION)
		return -EPROTO;
	*sizes = header.sizes;
	if (ring_layout(sizes, layout) < 0 || (uint64_t)status.st_size != layout->size)
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

	struct record_ring *self = calloc(1, sizeof(*self));
	if (!self)
		return -ENOMEM;
	self->sizes = sizes;
	self->base =
		mmap(NULL, layout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (self->base == MAP_FAILED) {
		error = -errno;
		free(self);
		return error;
	}
	ring_lay_out(self, &layout);
	*ring = self;
	return 0;
}

void record_ring_unmap(struct record_ring *ring)
{
	if (!ring)
		return;
	munmap(ring->base, ring->size);
	free(ring);
}

/* The lane's counter, held to what the lane can hold. A lane that claims more is given up. */
static uint64_t lane_produced(struct reader_lane *lane, struct ring_lane *control,
			      uint64_t capacity)
{
	uint64_t produced = atomic_load_explicit(&control->produced, memory_order_acquire);

	if (produced - lane->released > capacity)
		lane->given_up = true;
	return lane->given_up ? lane->read : produced;
}

void record_ring_snapshot(struct record_ring *ring, struct record_ring_snapshot *snapshot)
{
	snapshot->finished = atomic_load_explicit(&ring->header->state, memory_order_acquire) ==
			     RECORD_RING_FINISHED;
	snapshot->activity = lane_produced(&ring->activity, &ring->header->activity,
					   ring->sizes.activity_records);

	snapshot->lanes = ring_lanes_claimed(ring);
	for (uint32_t i = 0; i < snapshot->lanes; i++)
		snapshot->launch[i] = lane_produced(&ring->lanes[i], &ring->lane_controls[i],
						    ring->sizes.launch_lane_records);
	snapshot->collective = lane_produced(&ring->collective, &ring->header->collective,
					     ring->sizes.collectives);
	snapshot->definition = lane_produced(&ring->definition, &ring->header->definition,
					     ring->sizes.definition_bytes);
}

/* How many of the next records may be copied in one piece: within the snapshot, max and the lane's end. */
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

int record_ring_read_launches(struct record_ring *ring, const struct record_ring_snapshot *snapshot,
			      uint32_t lane, struct launch_record *out, uint32_t max)
{
	if (lane >= snapshot->lanes)
		return 0;

	struct reader_lane *own = &ring->lanes[lane];
	uint64_t capacity = ring->sizes.launch_lane_records;
	const struct launch_record *records = ring->launch_records + lane * capacity;
	uint32_t done = 0;

	if (own->given_up)
		return -EPROTO;
	while (done < max && own->read < snapshot->launch[lane]) {
		uint32_t count = lane_piece(own, snapshot->launch[lane], capacity, max - done);

		memcpy(out + done, records + (own->read & (capacity - 1)), count * sizeof(*out));
		lane_advance(own, &ring->lane_controls[lane], count);
		done += count;
	}
	return (int)done;
}

int record_ring_read_activity(struct record_ring *ring, const struct record_ring_snapshot *snapshot,
			      struct gpu_record *out, uint32_t max)
{
	struct reader_lane *own = &ring->activity;
	uint64_t capacity = ring->sizes.activity_records;
	uint32_t done = 0;

	if (own->given_up)
		return -EPROTO;
	while (done < max && own->read < snapshot->activity) {
		uint32_t count = lane_piece(own, snapshot->activity, capacity, max - done);

		memcpy(out + done, ring->activity_records + (own->read & (capacity - 1)),
		       count * sizeof(*out));
		lane_advance(own, &ring->header->activity, count);
		done += count;
	}
	return (int)done;
}

int record_ring_read_collectives(struct record_ring *ring,
				 const struct record_ring_snapshot *snapshot, bool gone,
				 struct collective_record *out, uint32_t max, uint32_t *nr_lost)
{
	struct reader_lane *own = &ring->collective;
	uint32_t done = 0;

	*nr_lost = 0;
	if (own->given_up)
		return -EPROTO;
	for (; done < max && own->read < snapshot->collective; own->read++) {
		struct ring_collective *place =
			&ring->collectives[own->read & (ring->sizes.collectives - 1)];

		if (atomic_load_explicit(&place->turn, memory_order_acquire) == own->read + 1)
			memcpy(&out[done++], &place->record, sizeof(*out));
		else if (gone)
			++*nr_lost;
		else
			break;
	}
	lane_advance(own, &ring->header->collective, 0);
	return (int)done;
}

static void definition_get(const struct record_ring *ring, uint64_t position, void *out,
			   uint64_t size)
{
	uint64_t capacity = ring->sizes.definition_bytes;
	uint64_t at = position & (capacity - 1);
	uint64_t first = capacity - at < size ? capacity - at : size;

	memcpy(out, ring->definitions + at, first);
	memcpy((uint8_t *)out + first, ring->definitions, size - first);
}

/* As record_ring_read_definition(), from the log; 0: it is read, or makes no sense. */
static int log_next(struct record_ring *ring, uint32_t *type, void *body, uint32_t body_max,
		    uint32_t *size)
{
	uint64_t left = ring->log_end - ring->log_read;
	const uint8_t *at = ring->log + ring->log_read;
	uint32_t prefix[2];

	if (left < sizeof(prefix))
		return 0;
	memcpy(prefix, at, sizeof(prefix));

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
	memcpy(body, at + sizeof(prefix), prefix[1]);
	return 1;
}

int record_ring_read_definition(struct record_ring *ring,
				const struct record_ring_snapshot *snapshot, uint32_t *type,
				void *body, uint32_t body_max, uint32_t *size)
{
	struct reader_lane *own = &ring->definition;
	uint32_t prefix[2];
	int logged = log_next(ring, type, body, body_max, size);

	if (logged)
		return logged;
	if (own->given_up)
		return -EPROTO;
	if (own->read >= snapshot->definition)
		return 0;
	if (snapshot->definition - own->read < sizeof(prefix))
		goto give_up;
	definition_get(ring, own->read, prefix, sizeof(prefix));

	uint64_t whole = sizeof(prefix) + (((uint64_t)prefix[1] + 7) & ~7ull);
	if (prefix[1] > DEFINITION_SIZE_MAX || whole > snapshot->definition - own->read)
		goto give_up;
	*type = prefix[0];
	*size = prefix[1];
	int result = -EMSGSIZE;
	if (prefix[1] <= body_max) {
		definition_get(ring, own->read + sizeof(prefix), body, prefix[1]);
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

	uint64_t entry =
		atomic_load_explicit(&ring->stack_index[stack_id - 1], memory_order_acquire);
	uint32_t depth = entry & ((1u << RING_STACK_DEPTH_BITS) - 1);
	uint64_t word = entry >> RING_STACK_DEPTH_BITS;
	if (entry == 0)
		return -ENOENT;
	if (depth == 0 || depth > RECORD_STACK_DEPTH || word > ring->sizes.stack_words ||
	    depth > ring->sizes.stack_words - word)
		return -EPROTO;
	memcpy(frames, ring->stack_arena + word, depth * sizeof(*frames));
	return (int)depth;
}

int record_ring_read_code(const struct record_ring *ring, uint32_t code_id,
			  struct record_ring_code *code)
{
	const uint32_t text_mask = (1u << RING_CODE_TEXT_BITS) - 1;

	code->file_size = code->name_size = 0;
	if (code_id == 0 || code_id > ring->sizes.codes)
		return -ENOENT;

	uint64_t entry = atomic_load_explicit(&ring->code_index[code_id - 1], memory_order_acquire);
	if (entry == 0)
		return -ENOENT;
	uint64_t word = (entry >> (2 * RING_CODE_TEXT_BITS)) - 1;
	uint32_t file_size = (uint32_t)(entry >> RING_CODE_TEXT_BITS) & text_mask;
	uint32_t name_size = (uint32_t)entry & text_mask;
	if (file_size > RECORD_CODE_TEXT_MAX || name_size > RECORD_CODE_TEXT_MAX ||
	    word > ring->sizes.code_words ||
	    ((uint64_t)file_size + name_size + 7) / 8 > ring->sizes.code_words - word)
		return -EPROTO;
	const char *text = (const char *)&ring->code_arena[word];
	memcpy(code->file, text, file_size);
	memcpy(code->name, text + file_size, name_size);
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

uint64_t record_ring_unread(const struct record_ring *ring)
{
	uint64_t unread = 0;

	if (!ring->activity.given_up)
		unread += atomic_load_explicit(&ring->header->activity.produced,
					       memory_order_acquire) -
			  ring->activity.read;
	if (!ring->collective.given_up)
		unread += atomic_load_explicit(&ring->header->collective.produced,
					       memory_order_acquire) -
			  ring->collective.read;
	for (uint32_t i = 0, nr = ring_lanes_claimed(ring); i < nr; i++)
		if (!ring->lanes[i].given_up)
			unread += atomic_load_explicit(&ring->lane_controls[i].produced,
						       memory_order_acquire) -
				  ring->lanes[i].read;
	return unread;
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
