#include "cubin_functions.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proto/cubin_image.h"

#define NAMES_FACTOR 4u
#define NESTING_MAX  32u    /* real files have two levels */
#define OUTER_MAX    65535u /* bytes of an outer function's name that may begin another one's */

/* ---- symbols */

static bool is_function(const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_shndx < SHN_LORESERVE && symbol->st_size > 0 &&
	       symbol->st_size <= UINT64_MAX - symbol->st_value;
}

static int copy_names(struct cubin_functions *functions, const struct cubin_image *image,
		      const struct cubin_section *strings)
{
	if (strings->type != SHT_STRTAB || strings->size > UINT32_MAX)
		return -EBADMSG;
	functions->names = malloc(strings->size + 1);
	if (!functions->names)
		return -ENOMEM;
	memcpy(functions->names, image->data + strings->offset, strings->size);
	functions->names[strings->size] = '\0';
	functions->names_size = strings->size + 1;
	return 0;
}

static int add_function(struct cubin_functions *functions, const Elf64_Sym *symbol)
{
	if (symbol->st_name >= functions->names_size)
		return -EBADMSG;
	if (array_reserve(&functions->items, &functions->room, functions->count + 1ull,
			  sizeof(*functions->items)))
		return -ENOMEM;
	functions->items[functions->count++] = (struct cubin_function){
		.start = symbol->st_value,
		.size = symbol->st_size,
		.section = symbol->st_shndx,
		.name = symbol->st_name,
	};
	return 0;
}

static int read_symbols(struct cubin_functions *functions, const struct cubin_image *image)
{
	struct cubin_section symbols, strings;
	Elf64_Sym symbol;
	int error = -EBADMSG;

	if (cubin_image_find(image, ".symtab", &symbols) && symbols.type == SHT_SYMTAB &&
	    cubin_image_section(image, symbols.link, &strings))
		error = copy_names(functions, image, &strings);
	for (uint64_t at = 0; !error && symbols.size - at >= sizeof(symbol); at += sizeof(symbol)) {
		memcpy(&symbol, image->data + symbols.offset + at, sizeof(symbol));
		if (is_function(&symbol))
			error = add_function(functions, &symbol);
	}
	return error;
}

/* ---- by place */

static int compare_place(const void *a, const void *b)
{
	const struct cubin_function *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool has_address(const struct cubin_function *function, uint32_t section, uint64_t address)
{
	return function->section == section && address >= function->start &&
	       address - function->start < function->size;
}

/* The function before, or one that has it, is the parent. A function that is passed over ends before all that follow,
 * so that each is passed over once. */
static void find_parents(struct cubin_functions *functions)
{
	for (uint32_t i = 1; i < functions->count; i++) {
		struct cubin_function *function = &functions->items[i];
		uint32_t parent = i;

		while (parent && !has_address(&functions->items[parent - 1], function->section,
					      function->start))
			parent = functions->items[parent - 1].parent;
		function->parent = parent;
	}
}

const struct cubin_function *cubin_functions_at(const struct cubin_functions *functions,
						uint32_t section, uint64_t address)
{
	uint32_t low = 0, high = functions->count;

	while (low < high) { /* items before low start at or before the address */
		uint32_t middle = low + (high - low) / 2;
		const struct cubin_function *function = &functions->items[middle];

		if (function->section < section ||
		    (function->section == section && function->start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = 0; low && i < NESTING_MAX; i++) {
		if (has_address(&functions->items[low - 1], section, address))
			return &functions->items[low - 1];
		low = functions->items[low - 1].parent;
	}
	return NULL;
}

/* ---- by name */

static bool has_name(const void *context, uint32_t id, const void *key)
{
	const struct cubin_functions *functions = context;

	return strcmp(functions->names + functions->items[id - 1].name, key) == 0;
}

static int index_names(struct cubin_functions *functions, uint64_t budget)
{
	for (uint32_t i = 0; i < functions->count; i++) {
		const char *name = functions->names + functions->items[i].name;
		size_t size = strnlen(name, budget);

		if (size == budget)
			return -EBADMSG;
		budget -= size + 1;
		uint32_t hash = hash_index_hash(name, size);
		uint32_t id = hash_index_find(&functions->index, hash, has_name, functions, name);
		if (id)
			functions->items[id - 1].is_doubtful = true;
		else if (hash_index_insert(&functions->index, hash, i + 1))
			return -ENOMEM;
	}
	return 0;
}

const struct cubin_function *cubin_functions_find(const struct cubin_functions *functions,
						  const char *name)
{
	uint32_t hash = hash_index_hash(name, strlen(name));
	uint32_t id = hash_index_find(&functions->index, hash, has_name, functions, name);

	return id && !functions->items[id - 1].is_doubtful ? &functions->items[id - 1] : NULL;
}

/* Returns what follows "$__internal_3_$"; NULL: the name begins otherwise. */
static const char *behind_internal(const char *name)
{
	static const char mark[] = "$__internal_";

	if (strncmp(name, mark, strlen(mark)) != 0)
		return NULL;
	name += strlen(mark);
	name += strspn(name, "0123456789");
	return strncmp(name, "_$", 2) == 0 ? name + 2 : NULL;
}

const char *cubin_functions_name(const struct cubin_functions *functions,
				 const struct cubin_function *function)
{
	const char *name = functions->names + function->name, *rest = NULL;

	if (*name != '$' || !function->parent)
		return name;
	const char *outer = functions->names + functions->items[function->parent - 1].name;
	size_t size = strnlen(outer, OUTER_MAX);
	if (strncmp(name + 1, outer, size) == 0 && name[1 + size] == '$')
		rest = name + size + 2;
	else
		rest = behind_internal(name);
	return rest && *rest ? rest : name;
}

int cubin_functions_init(struct cubin_functions *functions, const struct cubin_image *image)
{
	int error = read_symbols(functions, image);

	if (error)
		return error;
	if (functions->count)
		qsort(functions->items, functions->count, sizeof(*functions->items), compare_place);
	find_parents(functions);
	return index_names(functions, (uint64_t)NAMES_FACTOR * image->size);
}

void cubin_functions_fini(struct cubin_functions *functions)
{
	free(functions->items);
	free(functions->names);
	hash_index_fini(&functions->index);
	*functions = (struct cubin_functions){0};
}
