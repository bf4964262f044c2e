#include "call_sites.h"

#include <stdbool.h>

#include "node-agent/files/elf_file.h"

struct search {
	struct elf_file *file;
	uint32_t (*find)(const char *symbol);
	struct call_sites *sites;
};

static bool is_known(const struct call_sites *sites, uint64_t offset)
{
	for (uint32_t i = 0; i < sites->count; i++)
		if (sites->offsets[i] == offset)
			return true;
	return false;
}

static int on_function(void *context, const struct elf_file_function *function)
{
	const struct search *search = context;
	struct call_sites *sites = search->sites;
	uint32_t number = search->find(function->name);
	uint64_t offset;

	if (number == 0 || sites->count == CALL_SITES_MAX ||
	    !elf_file_offset(search->file, function->start, &offset) || is_known(sites, offset))
		return 0;
	sites->offsets[sites->count] = offset;
	sites->functions[sites->count++] = number;
	return 0;
}

void call_sites_find(struct elf_file *file, uint32_t (*find)(const char *symbol),
		     struct call_sites *sites)
{
	struct search search = {file, find, sites};

	sites->count = 0;
	elf_file_each_function(file, on_function, &search);
}
