#include "kernel_context.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "python_trace.h"

#include "inject/base/stack_table.h"
#include "inject/beside/import_slots.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"
#include "proto/sparse_memory.h"
#include "proto/stack_word.h"
#include "unwind/process_memory.h"

#define VARIABLE "_ZN5torch12aot_inductor18tls_kernel_contextE"

#define TRACE_MAX   65536u /* bytes that are read; the rest of a longer traceback is left out */
#define PAGE_BYTES  4096u  /* or a multiple of it */
#define MODULES_MAX 65536u

/* A slot holds the hash of a traceback and the id of its lines. */
#define ID_BITS 17
#define ID_MASK ((1ull << ID_BITS) - 1)
#define SLOTS   (4 * KERNEL_CONTEXT_TEXTS_MAX)
#define PROBES  64u
static_assert(RECORD_CODES_MAX < 1u << ID_BITS, "an id fits");

/* A library. Readers compare what they find in its memory with the rest before they believe it, since an entry may
 * become another library's while they read. */
struct library {
	_Atomic uint64_t start, end; /* addresses; start 0: the entry is free */
	_Atomic uint64_t headers;    /* address of its program headers, in its memory */
	_Atomic uint32_t nr_headers;
	_Atomic uint64_t hash;     /* of these headers */
	_Atomic uint64_t variable; /* address of struct import_slots_variable, in its memory */
	_Atomic uint64_t offset;   /* the variable's, as it was there */
	bool seen;                 /* at the present look */
};

struct kernel_contexts {
	struct record_ring *ring;
	unsigned long long adds, subs;   /* the loader's counters at the last look */
	_Atomic(const char *) text;      /* the first of what was met */
	_Atomic uint32_t nr, nr_entries; /* of libraries; of entries that may be in use */
	struct library libraries[KERNEL_CONTEXT_LIBRARIES_MAX];
	_Atomic uint64_t texts[SLOTS];
};

extern void *__tls_get_addr(const struct import_slots_variable *variable);

struct kernel_contexts *kernel_contexts_create(struct record_ring *ring)
{
	struct kernel_contexts *contexts =
		sparse_memory_map(sizeof(*contexts), PROT_READ | PROT_WRITE);

	if (!contexts)
		return NULL;
	contexts->ring = ring;
	return contexts;
}

void kernel_contexts_destroy(struct kernel_contexts *contexts)
{
	if (contexts)
		munmap(contexts, sizeof(*contexts));
}

bool kernel_contexts_any(const struct kernel_contexts *contexts)
{
	return atomic_load_explicit(&contexts->nr, memory_order_acquire) > 0;
}

const char *kernel_contexts_text(const struct kernel_contexts *contexts)
{
	const char *text = atomic_load_explicit(&contexts->text, memory_order_acquire);

	return text ? text : "";
}

static void note(struct kernel_contexts *contexts, const char *text)
{
	const char *none = NULL;

	atomic_compare_exchange_strong(&contexts->text, &none, text);
}

/* Never 0. */
static uint64_t hash_bytes(const void *bytes, size_t size)
{
	uint64_t hash = size | 1ull << 63;

	for (size_t at = 0; at < size;) {
		uint64_t words[33] = {hash};
		size_t part = size - at < sizeof(words) - 8 ? size - at : sizeof(words) - 8;

		memcpy(words + 1, (const char *)bytes + at, part);
		hash = stack_table_hash(words, 1 + (uint32_t)(part + 7) / 8);
		at += part;
	}
	return hash ? hash : 1;
}

/* ---- libraries */

static struct library *entry_of(struct kernel_contexts *contexts, uint64_t headers, uint64_t hash,
				uint64_t variable)
{
	for (uint32_t i = 0; i < KERNEL_CONTEXT_LIBRARIES_MAX; i++) {
		struct library *library = &contexts->libraries[i];

		if (atomic_load(&library->start) && atomic_load(&library->headers) == headers &&
		    atomic_load(&library->hash) == hash &&
		    atomic_load(&library->variable) == variable)
			return library;
	}
	return NULL;
}

static struct library *free_entry(struct kernel_contexts *contexts)
{
	for (uint32_t i = 0; i < KERNEL_CONTEXT_LIBRARIES_MAX; i++)
		if (!atomic_load(&contexts->libraries[i].start)) {
			if (i >= atomic_load(&contexts->nr_entries))
				atomic_store(&contexts->nr_entries, i + 1);
			return &contexts->libraries[i];
		}
	note(contexts, "further models of AOTInductor have no lines: more than 64 are loaded");
	return NULL;
}

/* The addresses of all segments. */
static void range_of(const struct dl_phdr_info *info, uint64_t *start, uint64_t *end)
{
	*start = UINT64_MAX;
	*end = 0;
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		*start = at < *start ? at : *start;
		*end = at + header->p_memsz > *end ? at + header->p_memsz : *end;
	}
}

static void take_library(struct kernel_contexts *contexts, const struct dl_phdr_info *info,
			 const struct import_slots_variable *variable)
{
	const size_t size = info->dlpi_phnum * sizeof(*info->dlpi_phdr);
	const uint64_t headers = (uint64_t)(uintptr_t)info->dlpi_phdr;
	uint64_t hash = hash_bytes(info->dlpi_phdr, size), start, end;
	struct library *library = entry_of(contexts, headers, hash, (uint64_t)(uintptr_t)variable);

	range_of(info, &start, &end);
	/* A library whose headers are not in its memory could not be told from a later one. */
	if (headers < start || headers + size > end)
		return;
	if (!library && (library = free_entry(contexts))) {
		atomic_store(&library->end, end);
		atomic_store(&library->headers, headers);
		atomic_store(&library->nr_headers, info->dlpi_phnum);
		atomic_store(&library->hash, hash);
		atomic_store(&library->variable, (uint64_t)(uintptr_t)variable);
		atomic_store(&library->offset, variable->offset);
		atomic_store(&library->start, start);
	}
	if (library)
		library->seen = true;
}

struct look {
	struct kernel_contexts *contexts;
	bool changed; /* since the last look */
	bool again;   /* a library is not ready */
};

static bool has_tls(const struct dl_phdr_info *info)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			return true;
	return false;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *user)
{
	struct look *look = user;
	struct kernel_contexts *contexts = look->contexts;

	(void)size;
	if (!look->changed && info->dlpi_adds == contexts->adds &&
	    info->dlpi_subs == contexts->subs)
		return 1;
	look->changed = true;
	contexts->adds = info->dlpi_adds;
	contexts->subs = info->dlpi_subs;
	const struct import_slots_variable *variable =
		has_tls(info) ? import_slots_variable(info, VARIABLE) : NULL;
	/* The loader fills it in before the library's code runs. */
	if (variable && variable->module == info->dlpi_tls_modid)
		take_library(contexts, info, variable);
	else if (variable)
		look->again = true;
	return 0;
}

void kernel_contexts_find(struct kernel_contexts *contexts)
{
	struct look look = {.contexts = contexts};
	uint32_t nr = 0;

	for (uint32_t i = 0; i < KERNEL_CONTEXT_LIBRARIES_MAX; i++)
		contexts->libraries[i].seen = false;
	dl_iterate_phdr(look_at, &look);
	if (!look.changed)
		return;
	if (look.again)
		contexts->adds = UINT64_MAX;
	for (uint32_t i = 0; i < KERNEL_CONTEXT_LIBRARIES_MAX; i++) {
		if (!contexts->libraries[i].seen)
			atomic_store(&contexts->libraries[i].start, 0);
		nr += contexts->libraries[i].seen;
	}
	atomic_store_explicit(&contexts->nr, nr, memory_order_release);
}

/* ---- launches */

static bool is_in(const struct library *library, uint64_t word)
{
	const uint64_t start = atomic_load_explicit(&library->start, memory_order_acquire);

	return start && stack_word_is_native(word) && word > start &&
	       word <= atomic_load_explicit(&library->end, memory_order_relaxed);
}

/* Returns the library of the innermost frame that is in one. */
static const struct library *library_of(const struct kernel_contexts *contexts,
					const struct kernel_context_stack *stack)
{
	const uint32_t nr = atomic_load_explicit(&contexts->nr_entries, memory_order_acquire);

	for (uint32_t i = 0; i < stack->nr_frames; i++)
		for (uint32_t k = 0; k < nr; k++)
			if (is_in(&contexts->libraries[k], stack->frames[i]))
				return &contexts->libraries[k];
	return NULL;
}

/* Copies what the library's code hands to __tls_get_addr(). Code of the library runs, so its memory is there. false: it
 * is not the library that was looked at. */
static bool read_variable(const struct library *library, struct import_slots_variable *variable)
{
	const uint64_t start = atomic_load(&library->start), end = atomic_load(&library->end);
	const uint64_t headers = atomic_load(&library->headers);
	const uint64_t at = atomic_load(&library->variable);
	const size_t size = atomic_load(&library->nr_headers) * sizeof(ElfW(Phdr));

	if (headers < start || headers + size > end || at < start || at + sizeof(*variable) > end ||
	    hash_bytes((const void *)(uintptr_t)headers, size) != atomic_load(&library->hash))
		return false;
	memcpy(variable, (const void *)(uintptr_t)at, sizeof(*variable));
	return variable->offset == atomic_load(&library->offset) && variable->module > 0 &&
	       variable->module < MODULES_MAX;
}

/* std::string of libstdc++. */
struct text {
	uint64_t data, size, room[2];
};

/* The object's first members. */
struct object {
	struct text name, trace;
};

static bool is_there(uint64_t address, uint64_t size)
{
	char byte;

	for (uint64_t at = address; at < address + size; at = (at | (PAGE_BYTES - 1)) + 1)
		if (process_memory_read(at, &byte, 1) != 1)
			return false;
	return true;
}

/* Returns the id of the lines of a traceback; 0: it has none, or the ring has no room. */
static uint32_t add_lines(struct kernel_contexts *contexts, const char *trace, uint32_t size)
{
	char bytes[KERNEL_CONTEXT_LINES_MAX];
	struct place_list lines = {bytes, sizeof(bytes), 0};
	uint32_t id = 0;

	python_trace_places(trace, size, &lines);
	if (lines.size)
		id = record_ring_add_code(contexts->ring, "", 0, bytes, lines.size);
	if (lines.size && !id)
		record_ring_count(contexts->ring, LEDGER_DEVICE_NONE, LEDGER_CODE_TABLE_FULL, 1, 0);
	return id;
}

static uint32_t lines_of(struct kernel_contexts *contexts, const char *trace, uint32_t size)
{
	const uint64_t hash = hash_bytes(trace, size) | 1ull << ID_BITS;

	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot = &contexts->texts[((hash >> 32) + i) % SLOTS];
		uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);

		if (there == 0) {
			uint64_t mine = (hash & ~ID_MASK) | add_lines(contexts, trace, size);

			/* A thread that loses the race may find the winner's id here. */
			if (atomic_compare_exchange_strong(slot, &there, mine))
				return (uint32_t)(mine & ID_MASK);
		}
		if (((there ^ hash) & ~ID_MASK) == 0)
			return (uint32_t)(there & ID_MASK);
	}
	record_ring_count(contexts->ring, LEDGER_DEVICE_NONE, LEDGER_CODE_TABLE_FULL, 1, 0);
	return 0;
}

uint64_t kernel_contexts_word(struct kernel_contexts *contexts,
			      const struct kernel_context_stack *stack)
{
	const struct library *library = library_of(contexts, stack);
	struct import_slots_variable variable;
	struct object object;
	uint64_t address;

	if (!library || !read_variable(library, &variable))
		return 0;
	memcpy(&address, __tls_get_addr(&variable), sizeof(address));
	/* The object is in a frame of the library's, and so outside of the launch's. */
	if (address < stack->low || address > stack->high || stack->high - address < sizeof(object))
		return 0;
	memcpy(&object, (const void *)(uintptr_t)address, sizeof(object));
	uint32_t size = object.trace.size < TRACE_MAX ? (uint32_t)object.trace.size : TRACE_MAX;
	if (!is_there(object.trace.data, size)) {
		note(contexts, "kernels of AOTInductor have no lines: their contexts are not as "
			       "they should be");
		return 0;
	}
	uint32_t id =
		size ? lines_of(contexts, (const char *)(uintptr_t)object.trace.data, size) : 0;

	return id ? stack_word_lines(id) : 0;
}
