#include "kernel_context.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "python_trace.h"

#include "inject/base/stack_table.h"
#include "proto/record.h"
#include "proto/ring/record_ring.h"
#include "proto/stack_word.h"
#include "unwind/process_memory.h"

#define VARIABLE "_ZN5torch12aot_inductor18tls_kernel_contextE"

#define PATH_BYTES  1024u /* longer paths are not looked at */
#define SEEN_MAX    1024u /* libraries with thread-local variables */
#define NAME_MAX    4096u
#define TRACE_MAX   65536u
#define CHECKED_MAX 64u /* the first objects of a process are read with care */

/* A slot holds a traceback's hash and the id of its lines. */
#define ID_BITS 17
#define ID_MASK ((1ull << ID_BITS) - 1)
#define PROBES  8u
static_assert(RECORD_CODES_MAX < 1u << ID_BITS, "an id fits");

/* What __tls_get_addr() takes. */
struct variable {
	size_t module, offset;
};

struct kernel_contexts {
	struct record_ring *ring;
	unsigned long long adds; /* the loader's counter at the last look */
	uint64_t seen[SEEN_MAX]; /* libraries that were looked at */
	uint32_t nr_seen;
	_Atomic bool refused;
	_Atomic uint32_t nr_checked; /* objects, up to CHECKED_MAX */
	_Atomic uint32_t nr;         /* of variables */
	struct variable variables[KERNEL_CONTEXT_LIBRARIES_MAX];
	_Atomic uint64_t texts[KERNEL_CONTEXT_TEXTS_MAX];
};

extern void *__tls_get_addr(const struct variable *variable);

struct kernel_contexts *kernel_contexts_create(struct record_ring *ring)
{
	struct kernel_contexts *contexts = mmap(NULL, sizeof(*contexts), PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (contexts == MAP_FAILED)
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

/* ---- libraries */

struct look {
	struct kernel_contexts *contexts;
	bool changed;    /* since the last look */
	bool found;      /* a library that was not looked at */
	size_t tls_size; /* bytes of its thread-local variables */
	char path[PATH_BYTES];
};

static size_t tls_size_of(const struct dl_phdr_info *info)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			return info->dlpi_phdr[i].p_memsz;
	return 0;
}

/* Returns whether the library is new. It is known by its address and path. */
static bool note_seen(struct kernel_contexts *contexts, const struct dl_phdr_info *info,
		      size_t path_size)
{
	uint64_t words[1 + PATH_BYTES / 8] = {info->dlpi_addr}, hash;

	memcpy(words + 1, info->dlpi_name, path_size);
	hash = stack_table_hash(words, 1 + (uint32_t)(path_size + 7) / 8);
	for (uint32_t i = 0; i < contexts->nr_seen; i++)
		if (contexts->seen[i] == hash)
			return false;
	if (contexts->nr_seen == SEEN_MAX)
		return false;
	contexts->seen[contexts->nr_seen++] = hash;
	return true;
}

/* Ends at the next library to look at. */
static int next_library(struct dl_phdr_info *info, size_t size, void *user)
{
	struct look *look = user;
	size_t path_size = info->dlpi_name ? strlen(info->dlpi_name) : 0;

	(void)size;
	if (!look->changed && info->dlpi_adds == look->contexts->adds)
		return 1;
	look->changed = true;
	look->contexts->adds = info->dlpi_adds;
	look->tls_size = tls_size_of(info);
	if (!look->tls_size || !path_size || path_size >= PATH_BYTES ||
	    !note_seen(look->contexts, info, path_size))
		return 0;
	memcpy(look->path, info->dlpi_name, path_size + 1);
	look->found = true;
	return 1;
}

/* Returns whether the library itself has the variable, and not one that it needs. */
static bool find_variable(void *library, size_t tls_size, struct variable *variable)
{
	const char *address = dlsym(library, VARIABLE);
	void *block = NULL;

	if (!address || dlinfo(library, RTLD_DI_TLS_MODID, &variable->module) ||
	    dlinfo(library, RTLD_DI_TLS_DATA, &block) || !block)
		return false;
	variable->offset = (size_t)(address - (const char *)block);
	return variable->offset <= tls_size && tls_size - variable->offset >= sizeof(uint64_t);
}

static void take_library(struct kernel_contexts *contexts, const struct look *look)
{
	uint32_t nr = atomic_load_explicit(&contexts->nr, memory_order_relaxed);
	void *library = dlopen(look->path, RTLD_LAZY | RTLD_NOLOAD);

	if (!library)
		return;
	if (nr == KERNEL_CONTEXT_LIBRARIES_MAX ||
	    !find_variable(library, look->tls_size, &contexts->variables[nr])) {
		dlclose(library);
		return;
	}
	atomic_store_explicit(&contexts->nr, nr + 1, memory_order_release);
}

void kernel_contexts_find(struct kernel_contexts *contexts)
{
	static struct look look; /* one thread at a time looks */

	look.contexts = contexts;
	look.changed = false;
	do {
		look.found = false;
		dl_iterate_phdr(next_library, &look);
		if (look.found)
			take_library(contexts, &look);
	} while (look.found);
}

/* ---- objects */

/* std::string of libstdc++, as far as it is read. */
struct text {
	uint64_t data, size;
};

/* The object's first members. */
struct object {
	struct text name;
	uint64_t name_room[2];
	struct text trace;
};

static bool read_memory(uint64_t address, void *to, size_t size, bool checked)
{
	if (checked)
		return process_memory_read(address, to, size) == size;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return true;
}

/* Reads the object, and with care whether its texts are there and end with a NUL. */
static bool read_object(struct kernel_contexts *contexts, uint64_t address, struct object *object)
{
	bool checked =
		atomic_load_explicit(&contexts->nr_checked, memory_order_relaxed) < CHECKED_MAX;
	char last = 'x';

	if (!read_memory(address, object, sizeof(*object), checked) ||
	    object->name.size > NAME_MAX || object->trace.size > TRACE_MAX)
		return false;
	if (!checked)
		return true;
	const struct text *texts[] = {&object->name, &object->trace};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char bytes[256];
		uint64_t at = texts[i]->data, end = at + texts[i]->size;

		while (at < end) {
			size_t size = end - at < sizeof(bytes) ? end - at : sizeof(bytes);

			if (!read_memory(at, bytes, size, true))
				return false;
			at += size;
		}
		if (!read_memory(end, &last, 1, true) || last != '\0')
			return false;
	}
	atomic_fetch_add_explicit(&contexts->nr_checked, 1, memory_order_relaxed);
	return true;
}

/* Never 0. */
static uint64_t hash_of(const struct text *text)
{
	uint64_t words[64], hash = text->size;

	for (uint64_t at = 0; at < text->size;) {
		uint64_t size =
			text->size - at < sizeof(words) - 8 ? text->size - at : sizeof(words) - 8;

		words[0] = hash;
		words[(size + 7) / 8] = 0;
		memcpy(words + 1, (const void *)(uintptr_t)(text->data + at), size);
		hash = stack_table_hash(words, 1 + (uint32_t)(size + 7) / 8);
		at += size;
	}
	return hash & ~ID_MASK ? hash : 1ull << ID_BITS;
}

/* Returns the id of the lines of a traceback; 0: it has none, or the ring has no room. */
static uint32_t add_lines(struct kernel_contexts *contexts, const struct text *trace)
{
	char bytes[KERNEL_CONTEXT_LINES_MAX];
	struct place_list lines = {bytes, sizeof(bytes), 0};
	uint32_t id = 0;

	python_trace_places((const char *)(uintptr_t)trace->data, (uint32_t)trace->size, &lines);
	if (lines.size)
		id = record_ring_add_code(contexts->ring, "", 0, bytes, lines.size);
	if (lines.size && !id)
		record_ring_count(contexts->ring, LEDGER_DEVICE_NONE, LEDGER_CODE_TABLE_FULL, 1, 0);
	return id;
}

static uint32_t lines_of(struct kernel_contexts *contexts, const struct text *trace)
{
	uint64_t hash = hash_of(trace);

	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot =
			&contexts->texts[((hash >> ID_BITS) + i) % KERNEL_CONTEXT_TEXTS_MAX];
		uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);

		if (there == 0) {
			uint64_t mine = (hash & ~ID_MASK) | add_lines(contexts, trace);

			/* A thread that loses the race may find the winner's id here. */
			if (atomic_compare_exchange_strong(slot, &there, mine))
				return (uint32_t)(mine & ID_MASK);
		}
		if (((there ^ hash) & ~ID_MASK) == 0)
			return (uint32_t)(there & ID_MASK);
	}
	return 0;
}

/* Returns the address of the calling thread's object; 0: it has none. */
static uint64_t current(const struct kernel_contexts *contexts)
{
	uint32_t nr = atomic_load_explicit(&contexts->nr, memory_order_acquire);
	uint64_t address = 0;

	for (uint32_t i = 0; i < nr && !address; i++)
		memcpy(&address, __tls_get_addr(&contexts->variables[i]), sizeof(address));
	return address;
}

uint64_t kernel_contexts_word(struct kernel_contexts *contexts)
{
	struct object object;
	uint64_t address = current(contexts);

	if (!address || atomic_load_explicit(&contexts->refused, memory_order_relaxed))
		return 0;
	if (!read_object(contexts, address, &object)) {
		atomic_store_explicit(&contexts->refused, true, memory_order_relaxed);
		return 0;
	}
	uint32_t id = object.trace.size ? lines_of(contexts, &object.trace) : 0;

	return id ? stack_word_lines(id) : 0;
}
