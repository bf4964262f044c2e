#include "loaded_segments.h"

#include <link.h>
#include <stddef.h>

#include "inject/module_watch.h"
#include "unwind/eh_frame_identity.h"
#include "unwind/table_arena.h"

struct visit {
	struct unwind_tables *tables;
	uint64_t address;
	struct unwind_module found;
};

static uint64_t identity_of(const char *path)
{
	uint64_t hash = 14695981039346656037u;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 1099511628211u;
	return hash;
}

/* As the guest names tables that processes share. */
static uint64_t tag_of(const struct dl_phdr_info *info, const struct unwind_module *module)
{
	const uint64_t layout[] = {module->start - info->dlpi_addr, module->end - module->start,
				   module->eh_frame_hdr - info->dlpi_addr,
				   module->eh_frame_hdr_size, eh_frame_identity(info)};
	uint8_t build_id[DEFINITION_BUILD_ID_MAX] = {0};
	uint32_t size = 0;

	for (int i = 0; i < info->dlpi_phnum && size == 0; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_NOTE)
			size = module_watch_build_id(
				(const uint8_t *)(info->dlpi_addr + header->p_vaddr),
				header->p_memsz, header->p_align, build_id);
	}
	return table_arena_tag(build_id, size, layout);
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *user)
{
	struct visit *visit = user;
	struct unwind_module module = {.identity = identity_of(info->dlpi_name),
				       .image = eh_frame_image_loaded(info)};

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_GNU_EH_FRAME) {
			module.eh_frame_hdr = info->dlpi_addr + header->p_vaddr;
			module.eh_frame_hdr_size = header->p_memsz;
		}
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		module.start = info->dlpi_addr + header->p_vaddr;
		module.end = module.start + header->p_memsz;
		module.tag = tag_of(info, &module);
		if (visit->tables)
			unwind_tables_add(visit->tables, &module);
		else if (visit->address >= module.start && visit->address < module.end)
			visit->found = module;
	}
	return 0;
}

void loaded_segments_enter(struct unwind_tables *tables)
{
	struct visit visit = {.tables = tables};

	dl_iterate_phdr(visit_object, &visit);
}

bool loaded_segment_at(const void *address, struct unwind_module *module)
{
	struct visit visit = {.address = (uint64_t)(uintptr_t)address};

	dl_iterate_phdr(visit_object, &visit);
	*module = visit.found;
	return module->end != 0;
}
