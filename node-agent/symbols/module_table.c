#include "module_table.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

#include "file_memory.h"
#include "file_question.h"
#include "perf_map.h"
#include "symbolizer_module.h"

#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/files/content_id.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/files/foreign_file.h"
#include "node-agent/files/maps_file.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/files/process_maps.h"
#include "proto/options/cuda_file.h"

#define MAPS_SIZE_MAX  (16u << 20)
#define VDSO_NAME      "linux-vdso.so.1"
#define IDENTIFY_READS 4u      /* between two rereads, for files without a build id */
#define CODE_MIN       4096ull /* no system maps code below */
#if defined(__x86_64__)
#define CODE_MAX (1ull << 47) /* gaps and the kernel lie above */
#else
#define CODE_MAX (1ull << 52)
#endif

struct module_table {
	struct module_table_outputs outputs;
	struct process_maps *maps; /* owns */
	struct mapped_file_view view;
	bool reads_maps;
	bool forgets; /* drops files that are not mapped any more, since no guest announces files */
	uint32_t nr_file_reads;
	char *text; /* owns; /proc/PID/maps as last read */
	size_t text_size;
	uint64_t hole_start, hole_end; /* the last gap found in the text; end 0: none */
	uint32_t generated;            /* module id of generated code, or MESSAGE_FRAME_NO_MODULE */
	uint32_t nr_strangers, next_check; /* addresses in no file; their number at the next look */
	struct file_memory files;          /* of a process with a guest */
};

struct module_table *module_table_create(struct module_table_outputs outputs, pid_t pid, uid_t user,
					 bool reads_maps)
{
	struct module_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->outputs = outputs;
	mapped_file_view_init(&table->view, pid, user, pid > 0 ? proc_file_start_ticks(pid) : 0);
	table->reads_maps = reads_maps && pid > 0;
	table->generated = MESSAGE_FRAME_NO_MODULE;
	table->next_check = 1;
	table->maps = process_maps_create();
	if (!table->maps) {
		free(table);
		return NULL;
	}
	return table;
}

void module_table_destroy(struct module_table *table)
{
	if (!table)
		return;
	process_maps_destroy(table->maps);
	free(table->text);
	file_memory_fini(&table->files);
	free(table);
}

/* ---- files ------------------------------------------------------------------------------------- */

static bool same_entry(const struct maps_file_entry *a, const struct maps_file_entry *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->executable == b->executable &&
	       a->path_size == b->path_size &&
	       (a->path_size == 0 || memcmp(a->path, b->path, a->path_size) == 0);
}

/* Walks both texts at once, since both are in the order of addresses. */
static void forget_unmapped(struct module_table *table, const char *before, size_t before_size)
{
	struct maps_file_entry old, now = {0};
	const char *text = table->text;
	size_t size = table->text_size;

	while (maps_file_next(&before, &before_size, &old)) {
		if (!old.executable)
			continue;
		while (now.start < old.start && maps_file_next(&text, &size, &now))
			;
		if (!same_entry(&old, &now))
			process_maps_remove(table->maps, old.start, old.end);
	}
}

/* For a process that has ended, the last text stays valid. */
static bool read_text(struct module_table *table)
{
	char *before = table->text;
	size_t before_size = table->text_size;

	table->text = NULL;
	proc_file_read(table->view.pid, "maps", MAPS_SIZE_MAX, &table->text, &table->text_size);
	if (!table->text || table->text_size == 0) {
		free(table->text);
		table->text = before;
		table->text_size = before_size;
		return false;
	}
	table->hole_end = 0;
	if (before && table->forgets)
		forget_unmapped(table, before, before_size);
	free(before);
	return true;
}

static bool read_maps(struct module_table *table)
{
	if (!table->reads_maps || table->nr_file_reads == MODULE_TABLE_FILE_READS_MAX)
		return false;
	table->nr_file_reads++;
	return read_text(table);
}

bool module_table_reread(struct module_table *table)
{
	if (!table->reads_maps)
		return false;
	table->forgets = true;
	table->nr_file_reads = MODULE_TABLE_FILE_READS_MAX - IDENTIFY_READS;
	return read_text(table);
}

/* Walks that go astray ask for many addresses in one gap, so the gap is remembered. */
static bool find_in_text(struct module_table *table, uint64_t address,
			 struct maps_file_entry *entry)
{
	if (!table->text || (address >= table->hole_start && address < table->hole_end))
		return false;
	if (maps_file_find(table->text, table->text_size, address, entry))
		return true;
	table->hole_start = entry->start;
	table->hole_end = entry->end;
	return false;
}

/* Visits the file of a module if the mapped file can be told from others. Returns as foreign_file_visit(). */
static int visit_module(struct module_table *table, const struct symbolizer_module *place,
			struct foreign_file_visit **visit)
{
	struct maps_file_entry entry;
	int r;

	/* The text must be new: at an earlier time another file may have been mapped at this address. */
	if (read_maps(table) && find_in_text(table, place->start, &entry) && entry.path_size > 0) {
		r = foreign_file_visit(&table->view, &entry, visit);
		if (r == 0 || !*visit)
			return r;
	}
	return foreign_file_visit_old(&table->view, place->path, visit);
}

/* Gives a module an id made of its contents. Returns false if the file cannot be had. */
static bool identify(struct module_table *table, struct symbolizer_module *place,
		     enum content_wish content)
{
	struct foreign_file_visit *visit =
		table->reads_maps ? file_question_create(0, content) : NULL;
	const struct file_question *question;

	if (visit && visit_module(table, place, &visit) == 0) {
		question = (const struct file_question *)visit;
		place->kind = question->kind;
		place->build_id_size = question->id_size;
		memcpy(place->build_id, question->id, question->id_size);
	}
	free(visit);
	return place->build_id_size > 0;
}

/* Sets the process and owner of the module. The user is read after the mappings. A process of root may become a user's
 * meanwhile, and must not pass that user's file off as root's. */
static void set_process(struct module_table *table, struct symbolizer_module *place)
{
	struct mapped_file_view *view = &table->view;
	uid_t real, effective;

	if (view->user == 0 && view->pid > 0 && proc_file_users(view->pid, &real, &effective) == 0)
		view->user = real;
	place->owner = view->user;
	place->pid = view->pid;
	place->started_ns = view->started_ns;
	place->in_other_root = !view->is_ours;
}

static int enter(struct module_table *table, const char *path, size_t path_size,
		 struct symbolizer_module *place, uint32_t *path_id)
{
	struct message_module module = {.flags = place->flags,
					.owner = place->owner,
					.build_id_size = place->build_id_size};
	int r = string_dictionary_intern(table->outputs.strings, path, path_size, &module.path);

	*path_id = module.path;
	memcpy(module.build_id, place->build_id, place->build_id_size);
	return r ? r
		 : stack_dictionary_add_module(table->outputs.stacks, &module, &place->module_id);
}

static int announce(struct module_table *table, const struct symbolizer_module *place)
{
	return table->outputs.module ? table->outputs.module(table->outputs.context, place) : 0;
}

/* Finds the module of a file, and tells the symbolizer where it is. */
static int find_module(struct module_table *table, const struct definition_module *definition,
		       struct symbolizer_module *place)
{
	const size_t size = strlen(place->path);
	struct known_file file = {.identity = definition->identity, .owner = place->owner};

	place->build_id_size = definition->build_id_size;
	memcpy(place->build_id, definition->build_id, place->build_id_size);
	bool known = place->build_id_size > 0 || (place->flags & DEFINITION_MODULE_VDSO) ||
		     identify(table, place, CONTENT_WITHOUT_BUILD_ID);

	int r = enter(table, place->path, size, place, &file.path);
	file.module = place->module_id;
	if (r == 0 && definition->build_id_size > 0 && file_memory_is_taken(&table->files, &file)) {
		/* A build with a fixed id has come to the path. */
		place->build_id_size = 0;
		known = identify(table, place, CONTENT_ALWAYS);
		r = enter(table, place->path, size, place, &file.path);
	}
	if (r || !known)
		return r;
	file.module = place->module_id;
	r = file_memory_keep(&table->files, &file);
	return r ? r : announce(table, place);
}

int module_table_add(struct module_table *table, const struct definition_module *definition,
		     const char *path, size_t path_size)
{
	struct symbolizer_module place = {
		.flags = definition->flags & (DEFINITION_MODULE_MAIN | DEFINITION_MODULE_CUDA |
					      DEFINITION_MODULE_VDSO | DEFINITION_MODULE_CUDART),
		.start = definition->start,
		.end = definition->end};
	char terminated[PATH_MAX];
	int r = 0;

	path_size = strnlen(path, path_size);
	/* An entered file stays for the agent's life, so impossible addresses are refused here. */
	if (definition->start >= definition->end || definition->end > CODE_MAX ||
	    definition->build_id_size > WIRE_BUILD_ID_MAX || path_size == 0 ||
	    path_size >= PATH_MAX)
		return -EINVAL;
	memcpy(terminated, path, path_size);
	terminated[path_size] = '\0';
	place.path = terminated;
	set_process(table, &place);
	const struct known_file *file =
		file_memory_find(&table->files, definition->identity, place.owner);
	if (file)
		place.module_id = file->module;
	else
		r = find_module(table, definition, &place);
	return r ? r
		 : process_maps_add(table->maps, definition->start, definition->end,
				    definition->bias, place.module_id);
}

bool module_table_knows(const struct module_table *table,
			const struct definition_module *definition)
{
	return file_memory_find(&table->files, definition->identity, table->view.user) != NULL;
}

/* Keeps the file's place for stacks that are still to come. */
static int keep_unloaded(struct module_table *table, uint64_t start, uint64_t end,
			 uint32_t nr_stacks)
{
	struct unloaded_file file = {.start = start, .end = end, .nr_stacks = nr_stacks};
	uint64_t vaddr;

	if (!process_maps_find(table->maps, start, &file.module, &vaddr))
		return 0;
	file.bias = start - vaddr;
	return file_memory_unload(&table->files, &file);
}

int module_table_remove(struct module_table *table, uint64_t start, uint64_t end,
			uint32_t nr_stacks)
{
	if (start >= end)
		return -EINVAL;
	int r = keep_unloaded(table, start, end, nr_stacks);
	/* The maps may have the file still. */
	free(table->text);
	table->text = NULL;
	table->text_size = 0;
	return r ? r : process_maps_remove(table->maps, start, end);
}

int module_table_add_generated(struct module_table *table, const char *path, size_t path_size,
			       uint32_t *module_id)
{
	struct symbolizer_module place = {.kind = SYMBOLIZER_GENERATED};
	char terminated[PATH_MAX];
	uint32_t path_id;

	*module_id = MESSAGE_FRAME_NO_MODULE;
	if (path_size == 0 || path_size >= PATH_MAX)
		return -EINVAL;
	memcpy(terminated, path, path_size);
	terminated[path_size] = '\0';
	place.path = terminated;
	set_process(table, &place);
	int r = enter(table, terminated, path_size, &place, &path_id);
	if (r == 0)
		r = announce(table, &place);
	if (r == 0)
		*module_id = place.module_id;
	return r;
}

/* All 64-bit processes of a kernel have one vDSO, also in other time namespaces. So our own vDSO identifies it. */
static int open_vdso(const struct maps_file_entry *entry, struct elf_file **file)
{
	void *image = (void *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = image;

	*file = NULL;
	if (!image || entry->start <= UINT32_MAX ||
	    elf_file_open_memory(
		    image, header->e_shoff + (size_t)header->e_shnum * header->e_shentsize, file))
		return -ENOENT;
	return 0;
}

static int add_vdso(struct module_table *table, const struct maps_file_entry *entry)
{
	struct definition_module definition = {.start = entry->start,
					       .end = entry->end,
					       .bias = entry->start,
					       .flags = DEFINITION_MODULE_VDSO};
	struct elf_file *file;

	if (open_vdso(entry, &file))
		return -ENOENT;
	definition.build_id_size =
		elf_file_build_id(file, definition.build_id, sizeof(definition.build_id));
	elf_file_close(file);
	int r = definition.build_id_size
			? module_table_add(table, &definition, VDSO_NAME, strlen(VDSO_NAME))
			: -ENOENT;
	return r == -ENOMEM || r == 0 ? r : -ENOENT;
}

/* Fills the definition as a guest would. Returns false if the file cannot be had, or lacks the address. */
static bool define(struct module_table *table, const struct maps_file_entry *entry,
		   uint64_t address, struct definition_module *definition)
{
	struct foreign_file_visit *visit =
		file_question_create(address - entry->start + entry->offset, CONTENT_NEVER);
	const struct file_question *question;
	bool found = false;

	if (visit && foreign_file_visit(&table->view, entry, &visit) == 0) {
		question = (const struct file_question *)visit;
		definition->build_id_size = (uint8_t)question->id_size;
		memcpy(definition->build_id, question->id, question->id_size);
		definition->bias = address - question->vaddr;
		found = question->has_vaddr;
	}
	free(visit);
	return found;
}

/* Adds a file that the guest didn't announce. 0; -ENOENT: not found; -ENOMEM. */
static int add_from_proc(struct module_table *table, uint64_t address)
{
	struct definition_module definition = {0};
	struct maps_file_entry entry;

	if (!find_in_text(table, address, &entry) &&
	    !(read_maps(table) && find_in_text(table, address, &entry)))
		return -ENOENT;
	if (entry.vdso)
		return add_vdso(table, &entry);
	definition.start = entry.start;
	definition.end = entry.end;
	if (!entry.executable || entry.path_size == 0 ||
	    !define(table, &entry, address, &definition))
		return -ENOENT;
	definition.flags = cuda_file_flags(entry.path, entry.path_size);
	int r = module_table_add(table, &definition, entry.path, entry.path_size);
	return r == -ENOMEM || r == 0 ? r : -ENOENT;
}

/* ---- generated code ---------------------------------------------------------------------------- */

/* The identity is a random number, since the pid belongs to other processes on other hosts, or at a later time. */
static int add_generated(struct module_table *table)
{
	struct symbolizer_module place = {.kind = SYMBOLIZER_PERF_MAP};
	char path[64];
	int size = snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)table->view.pid);

	place.path = path;
	set_process(table, &place);
	place.build_id_size = CONTENT_ID_SIZE;
	if (getrandom(place.build_id, CONTENT_ID_SIZE, 0) != CONTENT_ID_SIZE)
		return -ENOENT;
	uint32_t path_id;
	int r = enter(table, path, (size_t)size, &place, &path_id);
	if (r == 0)
		r = announce(table, &place);
	if (r == 0)
		table->generated = place.module_id;
	return r;
}

struct perf_map_question {
	struct foreign_call call; /* first */
	pid_t pid;
	bool exists;
};

static void look_for_map(struct foreign_call *call)
{
	struct perf_map_question *question = (struct perf_map_question *)call;

	question->exists = perf_map_exists(question->pid);
}

static void destroy_map_question(struct foreign_call *call)
{
	free(call);
}

/* A foreign call looks, since the process's /tmp can be on any file system. */
static bool has_perf_map(const struct mapped_file_view *view)
{
	struct perf_map_question *question = calloc(1, sizeof(*question));
	bool exists = false;

	if (!question)
		return false;
	*question = (struct perf_map_question){.call = {.run = look_for_map,
							.returned = destroy_map_question,
							.user = view->user,
							.path = "/tmp"},
					       .pid = view->pid};
	int r = foreign_file_call(&question->call);
	if (r == 0)
		exists = question->exists;
	if (r != -ETIMEDOUT)
		free(question);
	return exists;
}

/* Finds the frame of an address in no file. The map may be written later than the first such address. So the table
 * looks for it at the first, second, fourth, eighth ... address. 0; -ENOENT: the process has no map; -ENOMEM. */
static int find_generated(struct module_table *table, uint64_t address, struct message_frame *frame)
{
	struct maps_file_entry entry;

	if (!table->reads_maps)
		return -ENOENT;
	if (table->generated == MESSAGE_FRAME_NO_MODULE) {
		if (++table->nr_strangers < table->next_check)
			return -ENOENT;
		table->next_check = table->nr_strangers * 2;
		if (!has_perf_map(&table->view))
			return -ENOENT;
		int r = add_generated(table);
		if (r)
			return r == -ENOMEM ? r : -ENOENT;
	}
	/* The whole mapping is added, so that the next address in it is found at once. */
	if (find_in_text(table, address, &entry) && entry.executable && entry.path_size == 0)
		process_maps_add(table->maps, entry.start, entry.end, 0, table->generated);
	frame->module = table->generated;
	frame->offset = address;
	return 0;
}

/* ---- look-up ----------------------------------------------------------------------------------- */

/* Finds code that no guest announced. 0; -ENOENT: the address is in no file, and was not generated; -ENOMEM. */
static int find_unannounced(struct module_table *table, uint64_t address,
			    struct message_frame *frame)
{
	int r = add_from_proc(table, address);

	if (r == 0 && process_maps_find(table->maps, address, &frame->module, &frame->offset))
		return 0;
	return r == -ENOMEM ? r : find_generated(table, address, frame);
}

int module_table_find(struct module_table *table, uint64_t address, struct message_frame *frame)
{
	int r = -ENOENT;

	frame->code = MESSAGE_FRAME_NATIVE;
	if (process_maps_find(table->maps, address, &frame->module, &frame->offset))
		return 0;
	/* Broken frame pointers give any number. */
	if (address >= CODE_MIN && address < CODE_MAX)
		r = find_unannounced(table, address, frame);
	if (r == -ENOENT) {
		frame->module = MESSAGE_FRAME_NO_MODULE;
		frame->offset = address;
		r = 0;
	}
	return r;
}

int module_table_find_of(struct module_table *table, uint32_t stack, uint64_t address,
			 struct message_frame *frame)
{
	const struct unloaded_file *file = file_memory_at(&table->files, stack, address);

	if (!file)
		return module_table_find(table, address, frame);
	*frame = (struct message_frame){.module = file->module,
					.code = MESSAGE_FRAME_NATIVE,
					.offset = address - file->bias};
	return 0;
}

static int visit_vdso(const struct maps_file_entry *entry, struct foreign_file_visit *visit)
{
	struct elf_file *file;
	int r = open_vdso(entry, &file);

	if (r)
		return r;
	visit->look(visit, file);
	elf_file_close(file);
	return 0;
}

int module_table_visit(struct module_table *table, uint64_t address,
		       struct foreign_file_visit **visit)
{
	struct maps_file_entry entry;

	if (!table->reads_maps || !find_in_text(table, address, &entry))
		return -ENOENT;
	if (entry.vdso)
		return visit_vdso(&entry, *visit);
	if (entry.path_size == 0)
		return -ENOENT;
	return foreign_file_visit(&table->view, &entry, visit);
}

void module_table_text(const struct module_table *table, const char **text, size_t *size)
{
	*text = table->text ? table->text : "";
	*size = table->text ? table->text_size : 0;
}
