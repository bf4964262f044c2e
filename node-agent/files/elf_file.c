#include "elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "permitted_file.h"

#define NOTES_SIZE_MAX   (1u << 20)
#define SYMBOLS_SIZE_MAX (512u << 20) /* bytes of a symbol table, and of its names */

struct elf_file {
	Elf *elf;
	int fd;       /* -1: an image in memory */
	void *buffer; /* owns; NULL: the image is borrowed, or in a file */
};

static int begin(int fd, Elf *elf, struct elf_file **file)
{
	struct elf_file *new_file = NULL;

	*file = NULL;
	if (elf && elf_kind(elf) == ELF_K_ELF)
		new_file = calloc(1, sizeof(*new_file));
	if (!new_file) {
		bool is_elf = elf && elf_kind(elf) == ELF_K_ELF;

		elf_end(elf);
		if (fd >= 0)
			close(fd);
		return is_elf ? -ENOMEM : -ENOEXEC;
	}
	new_file->elf = elf;
	new_file->fd = fd;
	*file = new_file;
	return 0;
}

int elf_file_open_fd(int fd, struct elf_file **file)
{
	struct stat status;

	*file = NULL;
	if (fd < 0)
		return fd;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return -ENOEXEC;
	}
	elf_version(EV_CURRENT);
	/* libelf does not map the file: if the file is truncated meanwhile, a mapping would raise SIGBUS. */
	return begin(fd, elf_begin(fd, ELF_C_READ, NULL), file);
}

int elf_file_open(const char *path, struct elf_file **file)
{
	return elf_file_open_fd(permitted_file_open(path), file);
}

int elf_file_open_memory(void *image, size_t size, struct elf_file **file)
{
	elf_version(EV_CURRENT);
	return begin(-1, elf_memory(image, size), file);
}

int elf_file_open_buffer(void *image, size_t size, struct elf_file **file)
{
	int r = elf_file_open_memory(image, size, file);

	if (r)
		free(image);
	else
		(*file)->buffer = image;
	return r;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->buffer);
	free(file);
}

static uint32_t find_build_id(Elf_Data *notes, uint8_t *build_id, uint32_t max)
{
	GElf_Nhdr head;
	size_t name, body, next = 0;

	while ((next = gelf_getnote(notes, next, &head, &name, &body)) > 0) {
		const char *bytes = notes->d_buf;

		if (head.n_type != NT_GNU_BUILD_ID || head.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(bytes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0)
			continue;
		uint32_t size = head.n_descsz < max ? head.n_descsz : max;
		memcpy(build_id, bytes + body, size);
		return size;
	}
	return 0;
}

uint32_t elf_file_build_id(struct elf_file *file, uint8_t *build_id, uint32_t max)
{
	size_t nr_segments = 0;

	if (elf_getphdrnum(file->elf, &nr_segments))
		return 0;
	for (size_t i = 0; i < nr_segments; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(file->elf, (int)i, &segment) || segment.p_type != PT_NOTE ||
		    segment.p_filesz > NOTES_SIZE_MAX)
			continue;
		Elf_Data *notes =
			elf_getdata_rawchunk(file->elf, (int64_t)segment.p_offset, segment.p_filesz,
					     segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		uint32_t size = notes ? find_build_id(notes, build_id, max) : 0;
		if (size)
			return size;
	}
	return 0;
}

static bool find_segment(struct elf_file *file, bool by_address, uint64_t where, GElf_Phdr *segment)
{
	size_t nr_segments = 0;

	if (elf_getphdrnum(file->elf, &nr_segments))
		return false;
	for (size_t i = 0; i < nr_segments; i++) {
		if (!gelf_getphdr(file->elf, (int)i, segment) || segment->p_type != PT_LOAD)
			continue;
		uint64_t begin = by_address ? segment->p_vaddr : segment->p_offset;
		if (where >= begin && where - begin < segment->p_filesz)
			return true;
	}
	return false;
}

bool elf_file_vaddr(struct elf_file *file, uint64_t offset, uint64_t *vaddr)
{
	GElf_Phdr segment;
	bool found = find_segment(file, false, offset, &segment);

	*vaddr = found ? offset - segment.p_offset + segment.p_vaddr : 0;
	return found;
}

bool elf_file_offset(struct elf_file *file, uint64_t vaddr, uint64_t *offset)
{
	GElf_Phdr segment;
	bool found = find_segment(file, true, vaddr, &segment);

	*offset = found ? vaddr - segment.p_vaddr + segment.p_offset : 0;
	return found;
}

static Elf_Scn *find_section(Elf *elf, uint32_t type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

int elf_file_fd(const struct elf_file *file)
{
	return file->fd;
}

const void *elf_file_memory(struct elf_file *file, size_t *size)
{
	*size = 0;
	return file->fd < 0 ? elf_rawfile(file->elf, size) : NULL;
}

struct Elf *elf_file_handle(struct elf_file *file)
{
	return file->elf;
}

/* Returns the next section behind *section whose name begins with prefix, or NULL. */
static const char *next_section(Elf *elf, const char *prefix, Elf_Scn **section, GElf_Shdr *header)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((*section = elf_nextscn(elf, *section))) {
		const char *name = gelf_getshdr(*section, header)
					   ? elf_strptr(elf, names, header->sh_name)
					   : NULL;

		if (name && strncmp(name, prefix, strlen(prefix)) == 0)
			return name;
	}
	return NULL;
}

/* Returns the section of this name if it has contents in this file, else NULL. */
static Elf_Scn *find_named(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	const char *found;

	do {
		found = next_section(elf, name, &section, header);
	} while (found && strcmp(found, name) != 0);
	return found && header->sh_type != SHT_NOBITS ? section : NULL;
}

bool elf_file_section(struct elf_file *file, const char *name, size_t max, const void **data,
		      size_t *size)
{
	GElf_Shdr header;
	Elf_Scn *section = find_named(file->elf, name, &header);

	*data = NULL;
	*size = 0;
	if (!section || header.sh_size == 0 || header.sh_size > max)
		return false;
	Elf_Data *raw = elf_rawdata(section, NULL);
	if (!raw || !raw->d_buf || raw->d_size == 0)
		return false;
	*data = raw->d_buf;
	*size = raw->d_size;
	return true;
}

bool elf_file_section_place(struct elf_file *file, const char *name, uint64_t *vaddr,
			    uint64_t *size)
{
	GElf_Shdr header;

	*vaddr = *size = 0;
	if (!find_named(file->elf, name, &header) || !(header.sh_flags & SHF_ALLOC))
		return false;
	*vaddr = header.sh_addr;
	*size = header.sh_size;
	return true;
}

bool elf_file_has_symtab(struct elf_file *file)
{
	GElf_Shdr header;

	return find_section(file->elf, SHT_SYMTAB, &header);
}

bool elf_file_has_dwarf(struct elf_file *file)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	return next_section(file->elf, ".debug_info", &section, &header) &&
	       header.sh_type != SHT_NOBITS;
}

uint64_t elf_file_dwarf_size(struct elf_file *file)
{
	Elf_Scn *section = NULL;
	uint64_t total = 0;
	GElf_Shdr header;

	/* elfutils would decompress these sections of the old format, however large they are. */
	if (next_section(file->elf, ".zdebug", &section, &header))
		return UINT64_MAX;
	section = NULL;
	while (next_section(file->elf, ".debug_", &section, &header)) {
		uint64_t size = header.sh_type == SHT_NOBITS ? 0 : header.sh_size;
		GElf_Chdr compressed;

		if (header.sh_flags & SHF_COMPRESSED) {
			if (!gelf_getchdr(section, &compressed))
				return UINT64_MAX;
			size = compressed.ch_size;
		}
		if (total + size < total)
			return UINT64_MAX;
		total += size;
	}
	return total;
}

static uint8_t binding_of(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 0;
	case STB_WEAK:
		return 1;
	default:
		return 2;
	}
}

static bool is_function(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

int elf_file_each_function(struct elf_file *file,
			   int (*callback)(void *context, const struct elf_file_function *function),
			   void *context)
{
	GElf_Shdr header, names;
	Elf_Scn *section = find_section(file->elf, SHT_SYMTAB, &header);

	if (!section)
		section = find_section(file->elf, SHT_DYNSYM, &header);
	if (!section || header.sh_entsize == 0 ||
	    !gelf_getshdr(elf_getscn(file->elf, header.sh_link), &names))
		return -ENOENT;
	if (header.sh_size > SYMBOLS_SIZE_MAX || names.sh_size > SYMBOLS_SIZE_MAX)
		return -EFBIG;
	Elf_Data *data = elf_getdata(section, NULL);
	if (!data)
		return -ENOENT;

	uint64_t count = header.sh_size / header.sh_entsize;
	for (uint64_t i = 1; i < count; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) || !is_function(&symbol))
			continue;
		const char *name = elf_strptr(file->elf, header.sh_link, symbol.st_name);
		if (!name || !*name)
			continue;
		struct elf_file_function function = {
			.start = symbol.st_value,
			.size = symbol.st_size,
			.name = name,
			.binding = binding_of(&symbol),
		};
		int r = callback(context, &function);
		if (r)
			return r;
	}
	return 0;
}

void elf_file_find_exported(struct elf_file *file, const char *const names[], uint32_t nr_names,
			    uint64_t values[])
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(file->elf, SHT_DYNSYM, &header);
	Elf_Data *data = NULL;

	memset(values, 0, nr_names * sizeof(*values));
	if (section && header.sh_entsize && header.sh_size <= SYMBOLS_SIZE_MAX)
		data = elf_getdata(section, NULL);
	for (uint64_t i = 1; data && i < header.sh_size / header.sh_entsize; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(file->elf, header.sh_link, symbol.st_name);
		for (uint32_t wanted = 0; name && wanted < nr_names; wanted++)
			if (strcmp(name, names[wanted]) == 0)
				values[wanted] = symbol.st_value;
	}
}
