#include "symbol_module.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "debug_file.h"
#include "debuginfod_source.h"
#include "inline_frames.h"
#include "line_shares.h"
#include "mini_debuginfo.h"
#include "perf_map.h"
#include "symbol_cache.h"
#include "symbol_queue.h"
#include "symbol_table.h"
#include "symbolizer_module.h"

#include "node-agent/files/content_id.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/files/permitted_file.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/generated/generated_file.h"
#include "node-agent/generated/kernel_lines.h"
#include "proto/definition.h"

struct symbol_module {
	struct symbol_scope *scope;
	struct symbolizer_module place; /* path: owned below */
	char *path;                     /* owns */
	struct elf_file *file;          /* owns; opened at the first place, closed once read */
	struct elf_file *debug;         /* owns; kept open for inlines */
	struct symbol_table *table;     /* owns */
	struct inline_frames *inlines;  /* owns; borrows file or debug */
	struct perf_map *map;           /* owns */
	struct kernel_lines *lines;     /* owns */
	uint64_t map_covers;            /* the last request that was made before map was read */
	bool loaded;
};

struct symbol_module *symbol_module_create(struct symbol_scope *scope)
{
	struct symbol_module *module = calloc(1, sizeof(*module));

	if (module)
		module->scope = scope;
	return module;
}

static void close_file(struct symbol_module *module, struct elf_file **file)
{
	if (!*file)
		return;
	if (elf_file_fd(*file) >= 0)
		module->scope->nr_open--;
	elf_file_close(*file);
	*file = NULL;
}

static void keep_file(struct symbol_module *module, struct elf_file **place, struct elf_file *file)
{
	*place = file;
	if (file && elf_file_fd(file) >= 0)
		module->scope->nr_open++;
}

void symbol_module_destroy(struct symbol_module *module)
{
	if (!module)
		return;
	inline_frames_destroy(module->inlines);
	kernel_lines_destroy(module->lines);
	symbol_table_destroy(module->table);
	if (module->map)
		module->scope->nr_open--;
	perf_map_close(module->map);
	close_file(module, &module->debug);
	close_file(module, &module->file);
	free(module->path);
	free(module);
}

/* ---- the file ---------------------------------------------------------------------------------- */

static bool is_same(const struct symbolizer_module *place, struct elf_file *file)
{
	uint8_t id[WIRE_BUILD_ID_MAX];

	if (place->build_id_size == 0)
		return true;
	uint32_t size = elf_file_build_id(file, id, sizeof(id));
	if (place->kind == SYMBOLIZER_CONTENT_ID) {
		if (!content_id_of(file, id))
			return false;
		size = CONTENT_ID_SIZE;
	}
	return size == place->build_id_size && memcmp(id, place->build_id, size) == 0;
}

/* The file's names go into the profiles of all processes of the owner, and of no other user. */
static bool is_believed(const struct symbolizer_module *place, int fd)
{
	struct stat status;
	uid_t real, effective;

	if (permitted_file_is_of_root(fd))
		return true;
	/* This check comes after the file was opened, since the pid may belong to another process by now. */
	if (place->pid > 0 && proc_file_users(place->pid, &real, &effective) == 0 &&
	    real == place->owner)
		return true;
	return fstat(fd, &status) == 0 && (status.st_uid == place->owner ||
					   permitted_file_is_older(&status, place->started_ns));
}

static bool take_file(struct symbol_module *module, int fd)
{
	struct elf_file *file;

	if (elf_file_open_fd(fd, &file))
		return false;
	if (!is_same(&module->place, file) || !is_believed(&module->place, elf_file_fd(file))) {
		elf_file_close(file);
		return false;
	}
	keep_file(module, &module->file, file);
	return true;
}

static void open_file(struct symbol_module *module)
{
	const struct symbolizer_module *place = &module->place;

	if (place->pid > 0 &&
	    (take_file(module, permitted_file_open_mapped(place->pid, place->start, place->end)) ||
	     take_file(module, permitted_file_open_in(place->pid, module->path, place->owner, 0))))
		return;
	if (!place->in_other_root)
		take_file(module, permitted_file_open_in(0, module->path, place->owner, 0));
}

/* The kernel maps one vDSO into all processes of an architecture. Ours serves if its build id matches. */
static void open_vdso(struct symbol_module *module)
{
	void *image = (void *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = image;
	struct elf_file *file;

	if (!image)
		return;
	size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (elf_file_open_memory(image, size, &file))
		return;
	if (is_same(&module->place, file))
		keep_file(module, &module->file, file);
	else
		elf_file_close(file);
}

/* ---- what is read of it ------------------------------------------------------------------------ */

static uint32_t build_id_size(const struct symbol_module *module)
{
	return module->place.kind == SYMBOLIZER_BUILD_ID ? module->place.build_id_size : 0;
}

static struct debug_file_query query_of(const struct symbol_module *module)
{
	return (struct debug_file_query){
		.file = module->file,
		.path = module->path,
		.pid = module->place.pid,
		.user = module->place.owner,
		.in_other_root = module->place.in_other_root,
		.directory = module->scope->debug_directory,
		.build_id_size = build_id_size(module),
		.build_id = module->place.build_id,
	};
}

static int open_shared(void *context, const uint8_t *build_id, uint32_t size,
		       struct elf_file **file)
{
	struct debug_file_query query = query_of(context);

	query.file = NULL;
	query.build_id_size = size;
	query.build_id = build_id;
	return debug_file_open(&query, file);
}

/* Opens the debug file on this machine, else the file inside the module's file, else a file from the network. Returns
 * whether the opened file may have DWARF. */
static bool open_debug(struct symbol_module *module, bool wants_dwarf, bool may_fetch,
		       struct elf_file **debug)
{
	const struct debug_file_query query = query_of(module);

	if (debug_file_open(&query, debug) == 0)
		return true;
	bool has_mini = module->file && mini_debuginfo_open(module->file, debug) == 0;
	struct debuginfod_source *network = module->scope->debuginfod;
	struct elf_file *fetched;

	if (!network || !may_fetch || (has_mini && !wants_dwarf) ||
	    debuginfod_source_open(network, query.build_id, query.build_id_size, &fetched))
		return false;
	elf_file_close(*debug);
	*debug = fetched;
	return true;
}

/* Returns the user for whom a table of these files is. An image in memory came out of the module's own file. */
static uid_t owner_of(const struct symbol_module *module, struct elf_file *debug)
{
	bool is_of_root = module->file && elf_file_fd(module->file) >= 0 &&
			  permitted_file_is_of_root(elf_file_fd(module->file));

	if (debug && elf_file_fd(debug) >= 0)
		is_of_root = is_of_root && permitted_file_is_of_root(elf_file_fd(debug));
	return is_of_root ? SYMBOL_CACHE_ROOT : module->place.owner;
}

static void load_table(struct symbol_module *module)
{
	const struct symbolizer_module *place = &module->place;
	struct symbol_cache *cache = module->scope->cache;

	if (!cache || build_id_size(module) == 0)
		return;
	if (symbol_cache_load(cache, SYMBOL_CACHE_ROOT, place->build_id, place->build_id_size,
			      &module->table) &&
	    place->owner != SYMBOL_CACHE_ROOT)
		symbol_cache_load(cache, place->owner, place->build_id, place->build_id_size,
				  &module->table);
}

/* A table without the names of the debug file is not stored, since the debug file may come later. */
static void build_table(struct symbol_module *module, struct elf_file *debug)
{
	struct elf_file *const files[] = {module->file, debug};
	struct symbol_scope *scope = module->scope;

	if (symbol_table_create(files, 2, &module->table))
		return;
	if (!scope->cache || build_id_size(module) == 0 ||
	    symbol_table_count(module->table) < scope->cached_symbols_min ||
	    !(debug || elf_file_has_symtab(module->file)))
		return;
	symbol_cache_store(scope->cache, owner_of(module, debug), module->place.build_id,
			   build_id_size(module), module->table);
}

static void read_names(struct symbol_module *module, bool wants_dwarf, bool may_fetch,
		       struct elf_file **debug, bool *may_have_dwarf)
{
	struct elf_file *file = module->file;
	bool is_image = file && elf_file_fd(file) < 0;

	if (!is_image)
		load_table(module);
	bool wants_symbols = !module->table && !(file && elf_file_has_symtab(file));
	if (!is_image && (wants_symbols || wants_dwarf))
		*may_have_dwarf = open_debug(module, wants_dwarf, may_fetch, debug);
	if (!module->table)
		build_table(module, *debug);
}

static void load(struct symbol_module *module, bool may_fetch)
{
	struct symbol_scope *scope = module->scope;
	struct elf_file *file = module->file, *debug = NULL;
	bool wants_dwarf = scope->inlines && !(file && elf_file_has_dwarf(file));
	bool may_have_dwarf = false, kept = false;

	module->loaded = true;
	read_names(module, wants_dwarf, may_fetch, &debug, &may_have_dwarf);
	if (scope->inlines && file && !wants_dwarf)
		kept = inline_frames_create(file, open_shared, module, &module->inlines) == 0;
	if (!kept)
		close_file(module, &module->file);
	if (scope->inlines && may_have_dwarf && !module->inlines &&
	    inline_frames_create(debug, open_shared, module, &module->inlines) == 0)
		keep_file(module, &module->debug, debug);
	else
		elf_file_close(debug);
}

/* ---- interface --------------------------------------------------------------------------------- */

static bool set_place(struct symbol_module *module, const struct symbolizer_module *place)
{
	char *path = strndup(place->path, PATH_MAX - 1);

	if (!path)
		return false;
	free(module->path);
	module->path = path;
	module->place = *place;
	module->place.path = path;
	return true;
}

/* It is read at once, since the program may remove it when it ends. */
static void read_generated(struct symbol_module *module)
{
	const struct generated_file_place place = {
		.pid = module->place.pid,
		.owner = module->place.owner,
		.in_other_root = module->place.in_other_root,
		.path = module->path,
	};

	struct line_shares *shares = module->scope->line_shares;
	struct kernel_lines *lines = generated_file_read(&place);

	module->loaded = true;
	if (lines && shares && !line_shares_take(shares, place.owner, kernel_lines_size(lines))) {
		kernel_lines_destroy(lines);
		lines = NULL;
	}
	module->lines = lines;
}

/* Each new code of a generated file tells the same place again, and a search for lines walks through a whole cache. */
static bool had_no_lines_at(const struct symbol_module *module,
			    const struct symbolizer_module *place)
{
	const struct symbolizer_module *before = &module->place;

	return module->loaded && before->kind == SYMBOLIZER_GENERATED && !module->lines &&
	       before->pid == place->pid && before->started_ns == place->started_ns &&
	       before->in_other_root == place->in_other_root &&
	       strcmp(module->path, place->path) == 0;
}

void symbol_module_open(struct symbol_module *module, const struct symbolizer_module *place)
{
	if (module->file || module->table || module->inlines || module->map || module->lines ||
	    had_no_lines_at(module, place) || !set_place(module, place))
		return;
	module->loaded = false;
	if (place->kind == SYMBOLIZER_GENERATED) {
		read_generated(module);
		return;
	}
	if (place->kind == SYMBOLIZER_PERF_MAP) {
		if (module->scope->nr_open < module->scope->max_open &&
		    perf_map_open(place->pid, &module->map) == 0)
			module->scope->nr_open++;
		return;
	}
	if (place->flags & DEFINITION_MODULE_VDSO)
		open_vdso(module);
	else
		open_file(module);
	if (module->file && module->scope->nr_open > module->scope->max_open) {
		load(module, false);
		inline_frames_destroy(module->inlines);
		module->inlines = NULL;
		close_file(module, &module->file);
		close_file(module, &module->debug);
	}
}

bool symbol_module_is_in_memory(const struct symbol_module *module)
{
	return !module->map && !module->inlines && (module->loaded || !module->path);
}

static const char *find_in_map(struct symbol_module *module, const struct symbol_request *request)
{
	if (request->number > module->map_covers) {
		module->map_covers = module->scope->nr_requested;
		perf_map_refresh(module->map);
	}
	return perf_map_find(module->map, request->vaddr);
}

const char *symbol_module_find(struct symbol_module *module, const struct symbol_request *request,
			       char *text, size_t max, bool *is_in_text)
{
	const uint64_t vaddr = request->vaddr;

	*is_in_text = false;
	if (module->map) {
		const char *name = find_in_map(module, request);

		if (!name || max == 0)
			return NULL;
		snprintf(text, max, "%s", name);
		*is_in_text = true;
		return text;
	}
	if (module->lines)
		return kernel_lines_find(module->lines, vaddr);
	if (!module->path)
		return NULL;
	if (!module->loaded)
		load(module, true);
	const char *name = module->table ? symbol_table_find(module->table, vaddr) : NULL;
	if (module->inlines && inline_frames_describe(module->inlines, vaddr, name, text, max) > 0)
		*is_in_text = true;
	return *is_in_text ? text : name;
}
