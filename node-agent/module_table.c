#include "module_table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "maps_file.h"
#include "proc_file.h"
#include "process_maps.h"
#include "ring_source.h"
#include "symbolizer.h"

#define MAPS_SIZE_MAX (16u << 20)

struct module_table {
	const struct ring_source_outputs *outputs;
	struct process_maps *maps; /* owns */
	pid_t pid;
	bool reads_maps;
	uint32_t nr_file_reads;
	char *text; /* owns; /proc/PID/maps as last read */
	size_t text_size;
};

struct module_table *module_table_create(const struct ring_source_outputs *outputs, pid_t pid,
					 bool reads_maps)
{
	struct module_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->outputs = outputs;
	table->pid = pid;
	table->reads_maps = reads_maps && pid > 0;
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
	free(table);
}

int module_table_add(struct module_table *table, const struct definition_module *definition,
		     const char *path, size_t path_size)
{
	struct message_module module = {.flags = definition->flags &
						 (DEFINITION_MODULE_MAIN | DEFINITION_MODULE_CUDA |
						  DEFINITION_MODULE_VDSO)};
	struct symbolizer_module place = {
		.pid = table->pid, .start = definition->start, .end = definition->end};
	char terminated[PATH_MAX];
	uint32_t module_id;

	path_size = strnlen(path, path_size);
	if (definition->start >= definition->end || path_size == 0 || path_size >= PATH_MAX)
		return -EINVAL;
	memcpy(terminated, path, path_size);
	terminated[path_size] = '\0';

	module.build_id_size = definition->build_id_size < WIRE_BUILD_ID_MAX
				       ? definition->build_id_size
				       : WIRE_BUILD_ID_MAX;
	memcpy(module.build_id, definition->build_id, module.build_id_size);
	int r = string_dictionary_intern(table->outputs->strings, path, path_size, &module.path);
	if (r == 0)
		r = stack_dictionary_add_module(table->outputs->stacks, &module, &module_id);
	if (r == 0)
		r = process_maps_add(table->maps, definition->start, definition->end,
				     definition->bias, module_id);
	if (r || !table->outputs->module)
		return r;
	place.module_id = module_id;
	place.flags = module.flags;
	place.path = terminated;
	place.build_id_size = module.build_id_size;
	memcpy(place.build_id, module.build_id, module.build_id_size);
	return table->outputs->module(table->outputs->context, &place);
}

/* Finds the address in the text at hand, else in a new one. */
static bool find_mapping(struct module_table *table, uint64_t address,
			 struct maps_file_entry *entry)
{
	if (table->text && maps_file_find(table->text, table->text_size, address, entry))
		return true;
	if (!table->reads_maps || table->nr_file_reads == MODULE_TABLE_FILE_READS_MAX)
		return false;
	table->nr_file_reads++;
	free(table->text);
	proc_file_read(table->pid, "maps", MAPS_SIZE_MAX, &table->text, &table->text_size);
	return table->text && maps_file_find(table->text, table->text_size, address, entry);
}

static int open_mapped(struct module_table *table, const struct maps_file_entry *entry,
		       struct elf_file **file)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)table->pid,
		 (unsigned long)entry->start, (unsigned long)entry->end);
	if (elf_file_open(path, file) == 0)
		return 0;
	if (entry->deleted || entry->path_size >= PATH_MAX)
		return -ENOENT; /* what is at the path now is another file */
	snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)table->pid, (int)entry->path_size,
		 entry->path);
	return elf_file_open(path, file);
}

/* A file that the guest didn't announce, added as if it had. 0; -ENOENT: not found; -ENOMEM. */
static int add_from_proc(struct module_table *table, uint64_t address)
{
	struct definition_module definition = {0};
	struct maps_file_entry entry;
	struct elf_file *file;
	uint64_t vaddr;

	if (!find_mapping(table, address, &entry) || !entry.executable || entry.path_size == 0)
		return -ENOENT;
	if (open_mapped(table, &entry, &file))
		return -ENOENT;
	definition.start = entry.start;
	definition.end = entry.end;
	definition.build_id_size =
		elf_file_build_id(file, definition.build_id, sizeof(definition.build_id));
	bool found = elf_file_vaddr(file, address - entry.start + entry.offset, &vaddr);
	elf_file_close(file);
	if (!found)
		return -ENOENT;
	definition.bias = address - vaddr;
	int r = module_table_add(table, &definition, entry.path, entry.path_size);
	return r == -ENOMEM || r == 0 ? r : -ENOENT;
}

int module_table_find(struct module_table *table, uint64_t address, struct message_frame *frame)
{
	bool found = process_maps_find(table->maps, address, &frame->module, &frame->offset);

	if (!found) {
		int r = add_from_proc(table, address);

		if (r == -ENOMEM)
			return r;
		found = r == 0 &&
			process_maps_find(table->maps, address, &frame->module, &frame->offset);
	}
	if (!found) {
		frame->module = MESSAGE_FRAME_NO_MODULE;
		frame->offset = address;
	}
	return 0;
}
