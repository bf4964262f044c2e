#include "cubin_copies.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/base/definition_writer.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/cupti_sampling_abi.h"
#include "proto/cubin_image.h"
#include "proto/ring/record_ring.h"

#define PIECE_BYTES   (32u << 10)
#define AT_ONCE_BYTES (512u << 10) /* so that the lane has room for others */
#define SENT          1024u        /* numbers of cubins that are remembered */

struct copy {
	struct copy *next;
	size_t size; /* of the cubin, which follows */
	uint64_t crc;
	uint32_t sent; /* bytes */
	uint8_t bytes[];
};

static struct {
	_Atomic(struct copy *) taken; /* by callbacks, newest first */
	atomic_size_t bytes;
	/* the guest's own thread's */
	struct copy *sending; /* only the first one is sent in part */
	uint64_t sent[SENT];  /* of cubins that were sent, each in its place or not at all */
} self;

/* Takes room for a copy. NULL: there is none. */
static struct copy *make_copy(size_t size)
{
	struct copy *copy;

	if (size > CUBIN_COPIES_BYTES)
		return NULL;
	if (atomic_fetch_add(&self.bytes, size) <= CUBIN_COPIES_BYTES - size) {
		copy = mmap(NULL, sizeof(*copy) + size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (copy != MAP_FAILED)
			return copy;
	}
	atomic_fetch_sub(&self.bytes, size);
	return NULL;
}

void cubin_copies_take(struct record_ring *ring, const void *cubin, size_t size)
{
	int saved_errno = errno;
	struct copy *copy;

	if (!cubin_has_lines(cubin, size))
		return;
	copy = make_copy(size);
	if (copy) {
		copy->size = size;
		memcpy(copy->bytes, cubin, size);
		copy->next = atomic_load(&self.taken);
		while (!atomic_compare_exchange_weak(&self.taken, &copy->next, copy))
			;
	} else {
		record_ring_count(ring, LEDGER_DEVICE_NONE, LEDGER_GPU_CODE_LOST, 1, 0);
	}
	errno = saved_errno;
}

static void forget(struct copy *copy)
{
	size_t size = copy->size;

	munmap(copy, sizeof(*copy) + size);
	atomic_fetch_sub(&self.bytes, size);
}

static bool find_crc(const struct cupti_library *library, struct copy *copy)
{
	struct cupti_cubin_crc call = {
		.size = sizeof(call), .cubin_size = copy->size, .cubin = copy->bytes};

	if (!library->get_cubin_crc || library->get_cubin_crc(&call) != CUPTI_ABI_SUCCESS)
		return false;
	copy->crc = call.crc;
	return true;
}

/* A program loads the same code for each of its contexts. */
static bool was_sent(const struct copy *copy)
{
	return copy->crc && self.sent[copy->crc % SENT] == copy->crc;
}

/* Takes all that callbacks have left. */
static void collect(const struct cupti_library *library, struct record_ring *ring)
{
	struct copy *copy = atomic_exchange(&self.taken, NULL), *next;
	struct copy **place =
		self.sending && self.sending->sent ? &self.sending->next : &self.sending;

	for (; copy; copy = next) {
		next = copy->next;
		if (!find_crc(library, copy)) {
			record_ring_count(ring, LEDGER_DEVICE_NONE, LEDGER_GPU_CODE_LOST, 1, 0);
			forget(copy);
			continue;
		}
		copy->next = *place;
		*place = copy;
	}
}

static bool send_piece(struct definition_writer *definitions, struct copy *copy)
{
	struct definition_cubin head = {
		.crc = copy->crc, .size = (uint32_t)copy->size, .offset = copy->sent};
	uint32_t size = (uint32_t)copy->size - copy->sent;

	if (size > PIECE_BYTES)
		size = PIECE_BYTES;
	if (!definition_writer_put_bulk(definitions, DEFINITION_CUBIN, &head, sizeof(head),
					copy->bytes + copy->sent, size))
		return false;
	copy->sent += size;
	return true;
}

void cubin_copies_send(const struct cupti_library *library, struct definition_writer *definitions,
		       bool last)
{
	uint32_t sent = 0;

	collect(library, definitions->ring);
	while (self.sending && (last || sent < AT_ONCE_BYTES)) {
		struct copy *copy = self.sending;

		if (!was_sent(copy)) {
			if (!send_piece(definitions, copy))
				break;
			sent += PIECE_BYTES;
			if (copy->sent < copy->size)
				continue;
			self.sent[copy->crc % SENT] = copy->crc;
		}
		self.sending = copy->next;
		forget(copy);
	}
	while (last && self.sending) {
		struct copy *copy = self.sending;

		self.sending = copy->next;
		record_ring_count(definitions->ring, LEDGER_DEVICE_NONE, LEDGER_GPU_CODE_LOST, 1,
				  0);
		forget(copy);
	}
}

void cubin_copies_forget(void)
{
	struct copy *copy = atomic_exchange(&self.taken, NULL), *next;

	for (int i = 0; i < 2; i++) {
		for (; copy; copy = next) {
			next = copy->next;
			forget(copy);
		}
		copy = self.sending;
		self.sending = NULL;
	}
	memset(self.sent, 0, sizeof(self.sent));
}
