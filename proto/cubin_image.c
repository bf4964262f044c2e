#include "cubin_image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MACHINE_CUDA 190u

/* Returns whether [offset, offset + size) lies within `all` bytes. */
static bool is_within(uint64_t offset, uint64_t size, uint64_t all)
{
	return offset <= all && size <= all - offset;
}

static bool read_header(const struct cubin_image *image, uint32_t index, Elf64_Shdr *header)
{
	if (index >= image->nr_sections)
		return false;
	memcpy(header, image->data + image->sections_offset + index * sizeof(*header),
	       sizeof(*header));
	return header->sh_type == SHT_NOBITS || header->sh_type == SHT_NULL ||
	       is_within(header->sh_offset, header->sh_size, image->size);
}

static bool is_cubin(const struct cubin_image *image, const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == MACHINE_CUDA && header->e_shentsize == sizeof(Elf64_Shdr) &&
	       is_within(header->e_shoff, sizeof(Elf64_Shdr), image->size);
}

/* Numbers that do not fit in the file's header stand in the first section's. */
static bool read_sections(struct cubin_image *image, const Elf64_Ehdr *header)
{
	Elf64_Shdr first, names;
	uint64_t room = (image->size - header->e_shoff) / sizeof(first);

	image->sections_offset = header->e_shoff;
	image->nr_sections = 1;
	if (!read_header(image, 0, &first))
		return false;
	uint64_t count = header->e_shnum ? header->e_shnum : first.sh_size;
	if (count == 0 || count > room || count > UINT32_MAX)
		return false;
	image->nr_sections = (uint32_t)count;
	uint32_t index = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
	if (!read_header(image, index, &names) || names.sh_type != SHT_STRTAB)
		return false;
	image->names_offset = names.sh_offset;
	image->names_size = names.sh_size;
	return true;
}

int cubin_image_open(const void *data, size_t size, struct cubin_image *image)
{
	Elf64_Ehdr header;

	*image = (struct cubin_image){.data = data, .size = size};
	if (size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, data, sizeof(header));
	if (is_cubin(image, &header) && read_sections(image, &header))
		return 0;
	*image = (struct cubin_image){0};
	return -EBADMSG;
}

static struct cubin_section section_of(const Elf64_Shdr *header)
{
	bool has_bytes = header->sh_type != SHT_NOBITS && header->sh_type != SHT_NULL;

	return (struct cubin_section){
		.type = header->sh_type,
		.link = header->sh_link,
		.info = header->sh_info,
		.flags = header->sh_flags,
		.offset = has_bytes ? header->sh_offset : 0,
		.size = has_bytes ? header->sh_size : 0,
	};
}

bool cubin_image_section(const struct cubin_image *image, uint32_t index,
			 struct cubin_section *section)
{
	Elf64_Shdr header;

	*section = (struct cubin_section){0};
	if (!read_header(image, index, &header))
		return false;
	*section = section_of(&header);
	return true;
}

/* A hostile file may have many names that end nowhere near, so that no name is read to its end. */
static bool has_name(const struct cubin_image *image, const Elf64_Shdr *header, const char *name)
{
	size_t size = strlen(name) + 1;

	return is_within(header->sh_name, size, image->names_size) &&
	       memcmp(image->data + image->names_offset + header->sh_name, name, size) == 0;
}

uint32_t cubin_image_find(const struct cubin_image *image, const char *name,
			  struct cubin_section *section)
{
	Elf64_Shdr header;

	for (uint32_t i = 1; i < image->nr_sections; i++) {
		if (!read_header(image, i, &header) || !has_name(image, &header, name))
			continue;
		*section = section_of(&header);
		if (section->size > 0)
			return i;
	}
	*section = (struct cubin_section){0};
	return 0;
}

bool cubin_has_lines(const void *data, size_t size)
{
	struct cubin_image image;
	struct cubin_section section;

	return cubin_image_open(data, size, &image) == 0 &&
	       cubin_image_find(&image, ".debug_line", &section) != 0;
}
