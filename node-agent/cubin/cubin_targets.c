#include "cubin_targets.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Types of relocations, which no header of CUDA's has: HPCToolkit, src/hpcstruct/RelocateCubin.cpp. */
enum {
	R_NV_32 = 1,
	R_NV_64 = 2,
	R_NV_G32 = 3,
	R_NV_G64 = 4,
};

struct reading {
	const struct cubin_image *image;
	struct cubin_section symbols;
	uint64_t left; /* relocations */
};

static bool read_symbol(const struct reading *reading, uint64_t index, Elf64_Sym *symbol)
{
	if (index >= reading->symbols.size / sizeof(*symbol))
		return false;
	memcpy(symbol, reading->image->data + reading->symbols.offset + index * sizeof(*symbol),
	       sizeof(*symbol));
	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE;
}

static bool is_address(uint64_t type)
{
	return type == R_NV_32 || type == R_NV_64 || type == R_NV_G32 || type == R_NV_G64;
}

static int add(struct cubin_targets *targets, const struct reading *reading,
	       const Elf64_Rela *relocation, uint32_t keeps)
{
	Elf64_Sym symbol;

	if (!is_address(ELF64_R_TYPE(relocation->r_info)) ||
	    !read_symbol(reading, ELF64_R_SYM(relocation->r_info), &symbol))
		return 0;
	if (array_reserve(&targets->items, &targets->room, targets->count + 1ull,
			  sizeof(*targets->items)))
		return -ENOMEM;
	targets->items[targets->count++] = (struct cubin_target){
		.at = relocation->r_offset,
		.addend = symbol.st_value + (uint64_t)relocation->r_addend,
		.section = symbol.st_shndx,
		.keeps = keeps,
	};
	return 0;
}

static int read_section(struct cubin_targets *targets, struct reading *reading,
			const struct cubin_section *section)
{
	bool has_addends = section->type == SHT_RELA;
	size_t size = has_addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	const uint8_t *bytes = reading->image->data + section->offset;
	uint64_t count = section->size / size;
	int error = 0;

	if (count > reading->left)
		return -EBADMSG;
	reading->left -= count;
	for (uint64_t i = 0; !error && i < count; i++) {
		Elf64_Rela relocation = {0};

		memcpy(&relocation, bytes + i * size, size);
		error = add(targets, reading, &relocation, has_addends ? 0 : 1);
	}
	return error;
}

static int compare(const void *a, const void *b)
{
	const struct cubin_target *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->section < y->section ? -1 : x->section > y->section;
}

int cubin_targets_init(struct cubin_targets *targets, const struct cubin_image *image,
		       uint32_t table)
{
	struct reading reading = {.image = image, .left = image->size / sizeof(Elf64_Rel)};
	struct cubin_section section;
	int error = 0;

	if (!cubin_image_find(image, ".symtab", &reading.symbols) ||
	    reading.symbols.type != SHT_SYMTAB)
		return -EBADMSG;
	for (uint32_t i = 1; !error && i < image->nr_sections; i++)
		if (cubin_image_section(image, i, &section) && section.info == table &&
		    (section.type == SHT_RELA || section.type == SHT_REL))
			error = read_section(targets, &reading, &section);
	if (!error && targets->count)
		qsort(targets->items, targets->count, sizeof(*targets->items), compare);
	return error;
}

void cubin_targets_fini(struct cubin_targets *targets)
{
	free(targets->items);
	*targets = (struct cubin_targets){0};
}

static int compare_key(const void *key, const void *item)
{
	uint64_t at = *(const uint64_t *)key;
	const struct cubin_target *target = item;

	return at < target->at ? -1 : at > target->at;
}

const struct cubin_target *cubin_targets_find(const struct cubin_targets *targets, uint64_t at)
{
	return targets->count ? bsearch(&at, targets->items, targets->count,
					sizeof(*targets->items), compare_key)
			      : NULL;
}
