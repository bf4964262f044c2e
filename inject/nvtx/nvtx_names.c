#include "nvtx_names.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/base/stack_table.h"
#include "proto/ring/record_ring.h"
#include "proto/sparse_memory.h"
#include "proto/stack_word.h"

#define NR_SLOTS     (2 * NVTX_NAMES_MAX) /* half of them stay empty, so every probe ends */
#define NR_PATTERNS  1024u
#define PATTERN      0x7061747465726eull /* a domain in hashes, which no program has */
#define READY_SPINS  100000u
#define CODE_NONE    0u
#define CODE_REFUSED UINT32_MAX

/* A name's place is its id, less one. The hash is entered first, and then the fields below. */
struct name {
	_Atomic uint64_t hash;   /* 0: empty */
	_Atomic uint32_t code;   /* the ring's code id */
	_Atomic uint32_t places; /* a name; NVTX_NAME_LOST: none */
	_Atomic bool ready;
	uint32_t domain;
	struct nvtx_text text;
};

struct domain {
	_Atomic uint32_t state; /* enum domain_state */
	struct nvtx_text text;
};

enum domain_state {
	DOMAIN_EMPTY = 0,
	DOMAIN_BUSY = 1,
	DOMAIN_READY = 2,
};

struct pattern {
	_Atomic uint64_t hash;
	_Atomic uint32_t variants;
};

struct nvtx_names {
	enum nvtx_digits digits;
	_Atomic uint32_t nr_names;
	struct domain domains[NVTX_DOMAINS_MAX]; /* the last: "..." */
	struct pattern patterns[NR_PATTERNS];
	struct name slots[NR_SLOTS];
};

struct nvtx_names *nvtx_names_create(enum nvtx_digits digits)
{
	struct nvtx_names *names = sparse_memory_map(sizeof(*names), PROT_READ | PROT_WRITE);

	if (!names)
		return NULL;
	names->digits = digits;
	nvtx_text_ascii(&names->domains[NVTX_DOMAINS_MAX - 1].text, "...");
	atomic_store(&names->domains[NVTX_DOMAINS_MAX - 1].state, DOMAIN_READY);
	return names;
}

void nvtx_names_destroy(struct nvtx_names *names)
{
	if (names)
		munmap(names, sizeof(*names));
}

/* Never 0. */
static uint64_t hash_of(uint64_t domain, const struct nvtx_text *text)
{
	uint64_t words[2 + NVTX_TEXT_MAX / 8] = {domain, text->size};
	uint64_t hash;

	memcpy(words + 2, text->bytes, text->size);
	hash = stack_table_hash(words, 2 + (text->size + 7) / 8);
	return hash ? hash : 1;
}

/* Returns the slot of this hash, or the empty slot for it. */
static struct name *find_slot(struct nvtx_names *names, uint64_t hash)
{
	for (uint64_t i = hash % NR_SLOTS;; i = (i + 1) % NR_SLOTS) {
		uint64_t there = atomic_load_explicit(&names->slots[i].hash, memory_order_acquire);

		if (there == hash || there == 0)
			return &names->slots[i];
	}
}

static uint32_t id_of(const struct nvtx_names *names, const struct name *name)
{
	return (uint32_t)(name - names->slots) + 1;
}

static uint32_t find(struct nvtx_names *names, uint64_t hash)
{
	struct name *slot = find_slot(names, hash);

	return atomic_load_explicit(&slot->hash, memory_order_relaxed) ? id_of(names, slot)
								       : NVTX_NAME_LOST;
}

static uint32_t insert(struct nvtx_names *names, uint64_t hash, uint32_t domain,
		       const struct nvtx_text *text)
{
	uint32_t known = find(names, hash);

	if (known != NVTX_NAME_LOST)
		return known;
	/* The count is read before it is raised, so that it stays near its bound when the table is full. */
	if (atomic_load_explicit(&names->nr_names, memory_order_relaxed) >= NVTX_NAMES_MAX ||
	    atomic_fetch_add_explicit(&names->nr_names, 1, memory_order_relaxed) >= NVTX_NAMES_MAX)
		return NVTX_NAME_LOST;
	for (;;) {
		struct name *slot = find_slot(names, hash);
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&slot->hash, &there, hash)) {
			slot->domain = domain;
			slot->text = *text;
			atomic_store_explicit(&slot->ready, true, memory_order_release);
			return id_of(names, slot);
		}
		if (there == hash) /* another thread was faster */
			return id_of(names, slot);
	}
}

/* Returns whether one more name with these words around its digits is kept as it is. */
static bool keeps_variant(struct nvtx_names *names, uint64_t hash)
{
	for (uint32_t i = 0; i < NR_PATTERNS; i++) {
		struct pattern *pattern = &names->patterns[(hash + i) % NR_PATTERNS];
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&pattern->hash, &there, hash) || there == hash)
			return atomic_load_explicit(&pattern->variants, memory_order_relaxed) <
				       NVTX_VARIANTS_MAX &&
			       atomic_fetch_add_explicit(&pattern->variants, 1,
							 memory_order_relaxed) < NVTX_VARIANTS_MAX;
	}
	return false;
}

uint32_t nvtx_names_intern(struct nvtx_names *names, uint32_t domain, struct nvtx_text *text)
{
	struct nvtx_text masked;
	uint64_t hash;

	if (names->digits == NVTX_DIGITS_MASK)
		nvtx_text_mask(text);
	hash = hash_of(domain, text);
	if (names->digits != NVTX_DIGITS_AUTO)
		return insert(names, hash, domain, text);

	uint32_t known = find(names, hash);
	if (known != NVTX_NAME_LOST)
		return known;
	masked = *text;
	if (nvtx_text_mask(&masked) == 0 ||
	    keeps_variant(names, hash_of(PATTERN ^ domain, &masked)))
		return insert(names, hash, domain, text);
	*text = masked;
	return nvtx_names_intern_title(names, domain, text);
}

uint32_t nvtx_names_intern_title(struct nvtx_names *names, uint32_t domain,
				 const struct nvtx_text *text)
{
	return insert(names, hash_of(domain, text), domain, text);
}

bool nvtx_names_has_places(const struct nvtx_names *names, uint32_t title)
{
	return title == NVTX_NAME_LOST ||
	       atomic_load_explicit(&names->slots[title - 1].places, memory_order_relaxed) !=
		       NVTX_NAME_LOST;
}

void nvtx_names_set_places(struct nvtx_names *names, uint32_t title, uint32_t places)
{
	atomic_store_explicit(&names->slots[title - 1].places, places, memory_order_relaxed);
}

static const struct name *get(const struct nvtx_names *names, uint32_t name)
{
	const struct name *slot = &names->slots[name - 1];

	if (name == NVTX_NAME_LOST || name > NR_SLOTS)
		return NULL;
	/* The thread that enters the name is between two stores, or was preempted there. */
	for (uint32_t i = 0; i < READY_SPINS; i++)
		if (atomic_load_explicit(&slot->ready, memory_order_acquire))
			return slot;
	return NULL;
}

const struct nvtx_text *nvtx_names_text(const struct nvtx_names *names, uint32_t name)
{
	const struct name *slot = get(names, name);

	return slot ? &slot->text : NULL;
}

const struct nvtx_text *nvtx_names_nth(const struct nvtx_names *names, uint32_t n)
{
	for (uint32_t i = 0; i < NR_SLOTS; i++)
		if (atomic_load_explicit(&names->slots[i].ready, memory_order_acquire) && --n == 0)
			return &names->slots[i].text;
	return NULL;
}

static bool equal(const struct nvtx_text *a, const struct nvtx_text *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* Two threads that create a domain at the same moment may get two ids. The domain's frames are the same. */
uint32_t nvtx_names_domain(struct nvtx_names *names, const struct nvtx_text *text)
{
	uint32_t i = 0;

	for (; i < NVTX_DOMAINS_MAX - 1; i++) {
		struct domain *domain = &names->domains[i];
		uint32_t state = DOMAIN_EMPTY;

		if (atomic_compare_exchange_strong(&domain->state, &state, DOMAIN_BUSY)) {
			domain->text = *text;
			atomic_store_explicit(&domain->state, DOMAIN_READY, memory_order_release);
			break;
		}
		if (state == DOMAIN_READY && equal(&domain->text, text))
			break;
	}
	return i + 1;
}

const struct nvtx_text *nvtx_names_domain_text(const struct nvtx_names *names, uint32_t domain)
{
	return &names->domains[domain - 1].text;
}

const void *nvtx_names_handle(const struct nvtx_names *names, uint32_t name)
{
	return name == NVTX_NAME_LOST ? (const void *)names : &names->slots[name - 1];
}

/* Returns the index, from 1, of the element that a handle points to; 0: it points elsewhere. */
static uint32_t element(const void *handle, const void *array, uint32_t count, size_t size)
{
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)array;

	return offset < count * size && offset % size == 0 ? (uint32_t)(offset / size) + 1 : 0;
}

uint32_t nvtx_names_of_handle(const struct nvtx_names *names, const void *handle)
{
	uint32_t name = element(handle, names->slots, NR_SLOTS, sizeof(names->slots[0]));

	return name && atomic_load_explicit(&names->slots[name - 1].hash, memory_order_relaxed)
		       ? name
		       : NVTX_NAME_LOST;
}

const void *nvtx_names_domain_handle(const struct nvtx_names *names, uint32_t domain)
{
	return &names->domains[domain - 1];
}

uint32_t nvtx_names_of_domain_handle(const struct nvtx_names *names, const void *handle)
{
	return element(handle, names->domains, NVTX_DOMAINS_MAX, sizeof(names->domains[0]));
}

void nvtx_names_whole(const struct nvtx_names *names, uint32_t name,
		      char text[static NVTX_NAMES_WHOLE])
{
	const struct name *slot = get(names, name);

	if (slot && slot->domain != NVTX_DOMAIN_DEFAULT) {
		const struct nvtx_text *domain = nvtx_names_domain_text(names, slot->domain);

		memcpy(text, domain->bytes, domain->size);
		text += domain->size;
		*text++ = ':';
	}
	if (slot) {
		memcpy(text, slot->text.bytes, slot->text.size);
		text += slot->text.size;
	}
	*text = '\0';
}

static uint32_t add_code(struct nvtx_names *names, struct record_ring *ring,
			 const struct name *name)
{
	const struct nvtx_text none = {0};
	const struct nvtx_text *domain = name->domain == NVTX_DOMAIN_DEFAULT
						 ? &none
						 : &names->domains[name->domain - 1].text;
	const struct nvtx_text *places =
		nvtx_names_text(names, atomic_load_explicit(&name->places, memory_order_relaxed));
	char text[2 * NVTX_TEXT_MAX + 1];
	uint32_t size = name->text.size, code;

	memcpy(text, name->text.bytes, size);
	if (places) {
		text[size++] = ' ';
		memcpy(text + size, places->bytes, places->size);
		size += places->size;
	}
	code = record_ring_add_code(ring, domain->bytes, domain->size, text, size);
	return code == CODE_NONE ? CODE_REFUSED : code;
}

uint64_t nvtx_names_word(struct nvtx_names *names, struct record_ring *ring, uint32_t name)
{
	const struct name *slot = get(names, name);
	uint32_t code, none = CODE_NONE;

	if (!slot)
		return stack_word_range(CODE_NONE);
	_Atomic uint32_t *known = &names->slots[name - 1].code;
	code = atomic_load_explicit(known, memory_order_acquire);
	if (code == CODE_NONE) {
		code = add_code(names, ring, slot);
		if (!atomic_compare_exchange_strong(known, &none, code))
			code = none;
	}
	return stack_word_range(code == CODE_REFUSED ? CODE_NONE : code);
}
