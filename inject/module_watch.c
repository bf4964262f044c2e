#include "module_watch.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/base/definition_writer.h"
#include "proto/options/cuda_file.h"
#include "proto/ring/record_ring.h"
#include "proto/sparse_memory.h"
#include "unwind/eh_frame_identity.h"
#include "unwind/table_arena.h"
#include "unwind/unwind_table.h"

struct segment {
	uint64_t start, end, bias;
	uint64_t identity; /* hash of the file's path and build id */
	uint32_t pass;     /* the pass in which it was seen last */
	bool gone;         /* unloaded, but still known, to find the segment that takes its place */
};

struct module_watch {
	struct definition_writer *writer;
	struct unwind_tables *tables;  /* may be NULL */
	unsigned long long adds, subs; /* the loader's counters at the last complete announcement */
	bool announced, replaced;
	uint32_t nr_objects; /* seen in this pass */
	uint32_t nr_lost;    /* in this pass */
	uint32_t pass;       /* passes in which the loader's list was read */
	uint32_t nr_segments;
	struct segment segments[MODULE_WATCH_MAX];
	char path[PATH_MAX], real_path[PATH_MAX];
};

struct module_watch *module_watch_create(struct definition_writer *writer,
					 struct unwind_tables *tables)
{
	struct module_watch *watch = sparse_memory_map(sizeof(*watch), PROT_READ | PROT_WRITE);

	if (!watch)
		return NULL;
	watch->writer = writer;
	watch->tables = tables;
	return watch;
}

void module_watch_destroy(struct module_watch *watch)
{
	if (watch)
		munmap(watch, sizeof(*watch));
}

uint32_t module_watch_build_id(const uint8_t *notes, size_t size, size_t align, uint8_t *build_id)
{
	const size_t mask = align == 8 ? 7 : 3;
	size_t at = 0;

	while (size - at >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) head;
		size_t name, text;

		memcpy(&head, notes + at, sizeof(head));
		name = at + sizeof(head);
		if (head.n_namesz > size - name)
			break;
		text = (name + head.n_namesz + mask) & ~mask;
		if (text > size || head.n_descsz > size - text)
			break;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof("GNU") &&
		    memcmp(notes + name, "GNU", sizeof("GNU")) == 0) {
			uint32_t bytes = head.n_descsz < DEFINITION_BUILD_ID_MAX
						 ? head.n_descsz
						 : DEFINITION_BUILD_ID_MAX;

			memcpy(build_id, notes + text, bytes);
			return bytes;
		}
		at = (text + head.n_descsz + mask) & ~mask;
		if (at > size)
			break;
	}
	return 0;
}

static uint64_t identity_of(const char *path, const struct definition_module *module)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3u;
	for (uint32_t i = 0; i < module->build_id_size; i++)
		hash = (hash ^ module->build_id[i]) * 0x100000001b3u;
	return hash;
}

static bool same_segment(const struct segment *a, const struct segment *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->identity == b->identity;
}

/* Returns the index of the segment, or of one that it replaces, or the index at which to append it. */
static uint32_t find_segment(const struct module_watch *watch, const struct segment *segment)
{
	uint32_t at = watch->nr_segments;

	for (uint32_t i = 0; i < watch->nr_segments; i++) {
		const struct segment *known = &watch->segments[i];

		if (known->end <= segment->start || known->start >= segment->end)
			continue;
		at = i;
		if (same_segment(known, segment))
			break;
	}
	return at;
}

static void add_to_tables(struct module_watch *watch, const struct definition_module *module,
			  const struct dl_phdr_info *info, uint64_t identity)
{
	const uint64_t content = watch->tables ? eh_frame_identity(info) : 0;
	struct unwind_module segment = {
		.start = module->start,
		.end = module->end,
		/* The same file's segments have tables of their own. */
		.identity = identity ^ content ^ (module->start - module->bias),
		.image = eh_frame_image_loaded(info),
		.flags = module->flags,
	};

	if (!watch->tables)
		return;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_GNU_EH_FRAME)
			continue;
		segment.eh_frame_hdr = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		segment.eh_frame_hdr_size = info->dlpi_phdr[i].p_memsz;
	}
	const uint64_t layout[] = {module->start - module->bias, module->end - module->start,
				   segment.eh_frame_hdr - module->bias, segment.eh_frame_hdr_size,
				   content};

	segment.tag = table_arena_tag(module->build_id, module->build_id_size, layout);
	if (unwind_tables_add(watch->tables, &segment) < 0)
		watch->nr_lost++;
}

/* Returns the path that /proc/PID/maps has, too: the agent may have read the file's name there before, and a file has
 * one name. The loader's path may be relative, or a link. */
static const char *real_path(struct module_watch *watch, uint32_t flags)
{
	if (flags & (DEFINITION_MODULE_MAIN | DEFINITION_MODULE_VDSO))
		return watch->path;
	return realpath(watch->path, watch->real_path) ? watch->real_path : watch->path;
}

static bool put(struct module_watch *watch, const struct definition_module *module)
{
	const char *path = real_path(watch, module->flags);

	return definition_writer_put(watch->writer, DEFINITION_MODULE, module, sizeof(*module),
				     path, (uint32_t)strlen(path));
}

/* Announces one segment, unless it is known and still loaded. */
static void announce(struct module_watch *watch, const struct definition_module *module,
		     const struct dl_phdr_info *info)
{
	const struct segment segment = {module->start, module->end,
					module->bias,  identity_of(watch->path, module),
					watch->pass,   false};
	uint32_t at = find_segment(watch, &segment);
	bool known = at < watch->nr_segments && same_segment(&watch->segments[at], &segment);

	if (known && !watch->segments[at].gone) {
		watch->segments[at].pass = watch->pass;
		return;
	}
	if (at == MODULE_WATCH_MAX || (!known && !put(watch, module))) {
		watch->nr_lost++;
		return;
	}
	if (at == watch->nr_segments)
		watch->nr_segments++;
	else if (!known)
		watch->replaced = true;
	watch->segments[at] = segment;
	add_to_tables(watch, module, info, segment.identity);
}

/* Retires the segments that the loader no longer lists. */
static void retire_gone(struct module_watch *watch)
{
	for (uint32_t i = 0; i < watch->nr_segments; i++) {
		struct segment *segment = &watch->segments[i];

		if (segment->gone || segment->pass == watch->pass)
			continue;
		segment->gone = true;
		if (watch->tables)
			unwind_tables_retire(watch->tables, segment->start);
	}
}

/* Writes the object's path, as the loader has it, into watch->path, and returns the flags that follow from it. */
static uint32_t find_path(struct module_watch *watch, const struct dl_phdr_info *info)
{
	/* The program itself comes first, without a name. */
	if (watch->nr_objects == 1 && info->dlpi_name[0] == '\0') {
		ssize_t size = readlink("/proc/self/exe", watch->path, sizeof(watch->path) - 1);

		watch->path[size > 0 ? size : 0] = '\0';
		return DEFINITION_MODULE_MAIN;
	}

	size_t size = strnlen(info->dlpi_name, sizeof(watch->path) - 1);

	memcpy(watch->path, info->dlpi_name, size);
	watch->path[size] = '\0';
	return cuda_file_flags(watch->path, size);
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
	struct module_watch *watch = user;
	struct definition_module module = {0};

	(void)size;
	if (watch->nr_objects++ == 0) {
		if (watch->announced && watch->adds == info->dlpi_adds &&
		    watch->subs == info->dlpi_subs)
			return 1;
		watch->adds = info->dlpi_adds;
		watch->subs = info->dlpi_subs;
		watch->pass++;
	}
	module.bias = info->dlpi_addr;
	module.flags = find_path(watch, info);
	if (watch->path[0] == '\0')
		return 0;
	for (int i = 0; i < info->dlpi_phnum && module.build_id_size == 0; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_NOTE)
			module.build_id_size = module_watch_build_id(
				(const uint8_t *)(info->dlpi_addr + header->p_vaddr),
				header->p_memsz, header->p_align, module.build_id);
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		module.start = info->dlpi_addr + header->p_vaddr;
		module.end = module.start + header->p_memsz;
		announce(watch, &module, info);
	}
	return 0;
}

bool module_watch_poll(struct module_watch *watch, bool last)
{
	uint32_t pass_before = watch->pass;
	bool complete;

	watch->nr_objects = 0;
	watch->nr_lost = 0;
	watch->replaced = false;
	dl_iterate_phdr(visit, watch);
	if (watch->pass != pass_before)
		retire_gone(watch);
	complete = watch->nr_lost == 0;
	watch->announced = complete;
	if (!complete && last)
		record_ring_count(watch->writer->ring, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST,
				  watch->nr_lost, 0);
	return watch->replaced;
}
