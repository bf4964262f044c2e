#include "module_watch.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file_identity.h"

#include "inject/base/definition_writer.h"
#include "inject/base/stack_table.h"
#include "proto/options/cuda_file.h"
#include "proto/ring/record_ring.h"
#include "proto/sparse_memory.h"
#include "unwind/eh_frame_identity.h"
#include "unwind/table_arena.h"
#include "unwind/unwind_table.h"

/* A segment that the agent and the tables know. */
struct segment {
	uint64_t start, end, bias;
	uint64_t identity; /* of its file */
	uint32_t pass;     /* the pass in which it was seen last */
};

struct module_watch {
	struct definition_writer *writer;
	struct unwind_tables *tables; /* may be NULL */
	struct stack_table *stacks;   /* may be NULL */
	/* the loader's counters: at the last pass, and its loads at the last complete one */
	unsigned long long adds, subs, settled_adds;
	bool announced, replaced;
	bool replaced_first; /* code that nothing was known to come and go beside */
	/* at the end of the last poll: launches of the process, and stacks in places where code was unloaded */
	uint64_t launches, in_places;
	/* the loader's objects, counted before this pass, and its counters then */
	uint32_t nr_all;
	unsigned long long adds_then, subs_then;
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

void module_watch_tell(struct module_watch *watch, struct stack_table *stacks)
{
	watch->stacks = stacks;
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

/* ---- segments come and go */

/* Returns the index of the segment; nr_segments: it is not known. */
static uint32_t find_segment(const struct module_watch *watch,
			     const struct definition_module *module)
{
	uint32_t i = 0;

	while (i < watch->nr_segments &&
	       (watch->segments[i].start != module->start ||
		watch->segments[i].end != module->end || watch->segments[i].bias != module->bias))
		i++;
	return i;
}

/* Returns false if the agent cannot be told yet. */
static bool unload(struct module_watch *watch, uint32_t i)
{
	const struct segment *segment = &watch->segments[i];

	/* Stacks that are added from here on have no frame in the segment. So their ids are above those that are there
	 * when the agent is told. */
	if (watch->stacks)
		stack_table_unloaded(watch->stacks, segment->start, segment->end);
	const struct definition_unload definition = {
		.start = segment->start,
		.end = segment->end,
		.nr_stacks = record_ring_own_stacks(watch->writer->ring),
	};

	if (!definition_writer_put(watch->writer, DEFINITION_UNLOAD, &definition,
				   sizeof(definition), NULL, 0))
		return false;
	if (watch->tables)
		unwind_tables_retire(watch->tables, segment->start);
	watch->segments[i] = watch->segments[--watch->nr_segments];
	return true;
}

/* Retires the segments whose place another one takes. */
static bool clear(struct module_watch *watch, const struct definition_module *module)
{
	for (uint32_t i = watch->nr_segments; i-- > 0;) {
		const struct segment *known = &watch->segments[i];

		if (known->end <= module->start || known->start >= module->end)
			continue;
		if (!watch->stacks ||
		    !stack_table_is_place(watch->stacks, known->start, known->end))
			watch->replaced_first = true;
		if (!unload(watch, i))
			return false;
		watch->replaced = true;
	}
	return true;
}

static void add_to_tables(struct module_watch *watch, const struct definition_module *module,
			  const struct dl_phdr_info *info, uint64_t content)
{
	struct unwind_module segment = {
		.start = module->start,
		.end = module->end,
		/* The same file's segments have tables of their own. */
		.identity = module->identity ^ (module->start - module->bias),
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

/* Announces one segment that is new, or lies where another file's was. */
static void announce(struct module_watch *watch, const struct definition_module *module,
		     const struct dl_phdr_info *info, uint64_t content)
{
	uint32_t at = find_segment(watch, module);

	if (at < watch->nr_segments && watch->segments[at].identity == module->identity) {
		watch->segments[at].pass = watch->pass;
		return;
	}
	if (!clear(watch, module) || watch->nr_segments == MODULE_WATCH_MAX ||
	    !put(watch, module)) {
		watch->nr_lost++;
		return;
	}
	watch->segments[watch->nr_segments++] = (struct segment){
		module->start, module->end, module->bias, module->identity, watch->pass};
	if (watch->stacks)
		stack_table_loaded(watch->stacks, module->start, module->end, module->identity);
	add_to_tables(watch, module, info, content);
}

/* Retires the segments that the loader no longer lists. */
static void retire_gone(struct module_watch *watch)
{
	for (uint32_t i = watch->nr_segments; i-- > 0;)
		if (watch->segments[i].pass != watch->pass && !unload(watch, i))
			watch->nr_lost++;
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

/* The loader appends what it loads to its list. So an object that is not among as many last ones as were loaded since
 * the last complete pass is one that was there. Others may have taken the place of an equal one. */
static bool was_there(const struct module_watch *watch)
{
	unsigned long long loads = watch->adds - watch->settled_adds;

	return loads < watch->nr_all && watch->nr_objects <= watch->nr_all - loads;
}

/* Goes on to the object's next executable segment. */
static bool next_segment(const struct dl_phdr_info *info, int *i, struct definition_module *module)
{
	while (++*i < info->dlpi_phnum) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[*i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		module->start = info->dlpi_addr + header->p_vaddr;
		module->end = module->start + header->p_memsz;
		return true;
	}
	return false;
}

/* Returns whether all of the object's segments are known. If so, they stay. */
static bool keep(struct module_watch *watch, const struct dl_phdr_info *info)
{
	struct definition_module module = {.bias = info->dlpi_addr};

	for (int i = -1; next_segment(info, &i, &module);) {
		uint32_t at = find_segment(watch, &module);

		if (at == watch->nr_segments)
			return false;
		watch->segments[at].pass = watch->pass;
	}
	return true;
}

static void look_at(struct module_watch *watch, const struct dl_phdr_info *info)
{
	struct definition_module module = {.bias = info->dlpi_addr,
					   .flags = find_path(watch, info)};
	uint64_t content;

	if (watch->path[0] == '\0')
		return;
	for (int i = 0; i < info->dlpi_phnum && module.build_id_size == 0; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_NOTE)
			module.build_id_size = module_watch_build_id(
				(const uint8_t *)(info->dlpi_addr + header->p_vaddr),
				header->p_memsz, header->p_align, module.build_id);
	}
	content = eh_frame_identity(info);
	module.identity = file_identity_of(watch->path, &module, content);
	for (int i = -1; next_segment(info, &i, &module);)
		announce(watch, &module, info, content);
}

static int visit(struct dl_phdr_info *info, size_t size, void *user)
{
	struct module_watch *watch = user;

	(void)size;
	if (watch->nr_objects++ == 0) {
		if (watch->announced && watch->adds == info->dlpi_adds &&
		    watch->subs == info->dlpi_subs)
			return 1;
		watch->adds = info->dlpi_adds;
		watch->subs = info->dlpi_subs;
		watch->pass++;
		if (watch->adds != watch->adds_then || watch->subs != watch->subs_then)
			watch->nr_all = 0; /* too late: all may be new */
	}
	if (!was_there(watch) || !keep(watch, info))
		look_at(watch, info);
	return 0;
}

/* The first object tells whether there is news, the number of all of them which may be new. */
static int count_objects(struct dl_phdr_info *info, size_t size, void *user)
{
	struct module_watch *watch = user;

	(void)size;
	watch->adds_then = info->dlpi_adds;
	watch->subs_then = info->dlpi_subs;
	return watch->nr_all++ == 0 && watch->announced && watch->adds == info->dlpi_adds &&
	       watch->subs == info->dlpi_subs;
}

static void look(struct module_watch *watch, bool last)
{
	uint32_t pass_before = watch->pass;

	watch->nr_all = watch->nr_objects = watch->nr_lost = 0;
	if (dl_iterate_phdr(count_objects, watch))
		return;
	dl_iterate_phdr(visit, watch);
	if (watch->pass != pass_before)
		retire_gone(watch);
	watch->announced = watch->nr_lost == 0;
	if (watch->announced)
		watch->settled_adds = watch->adds;
	else if (last)
		record_ring_count(watch->writer->ring, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST,
				  watch->nr_lost, 0);
}

/* The first time that a file is replaced, all stacks may have had frames in it. Later they were counted. */
static void count_stale(struct module_watch *watch, uint64_t launches, uint64_t in_places)
{
	struct record_ring *ring = watch->writer->ring;
	uint64_t count =
		watch->replaced_first || record_ring_is_probed(ring) ? launches : in_places;

	if (count)
		record_ring_count(ring, LEDGER_DEVICE_NONE, LEDGER_STACK_STALE, count, 0);
}

bool module_watch_poll(struct module_watch *watch, bool last)
{
	const uint64_t launches = watch->launches, in_places = watch->in_places;

	watch->replaced = watch->replaced_first = false;
	look(watch, last);
	watch->launches = record_ring_own_launches(watch->writer->ring);
	watch->in_places = watch->stacks ? stack_table_in_places(watch->stacks) : 0;
	if (watch->replaced)
		count_stale(watch, watch->launches - launches, watch->in_places - in_places);
	return watch->replaced;
}
