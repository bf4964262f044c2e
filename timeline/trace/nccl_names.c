#include "nccl_names.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/nccl_kernel.h"

enum known { KNOWN_NOT, KNOWN_NCCL, KNOWN_OTHER };

int nccl_names_init(struct nccl_names *names, const struct catalog *catalog)
{
	*names = (struct nccl_names){.catalog = catalog,
				     .nr_strings = catalog_size(catalog).strings + 1};
	names->known = calloc(names->nr_strings, 1);
	return names->known ? 0 : -ENOMEM;
}

void nccl_names_fini(struct nccl_names *names)
{
	free(names->known);
	*names = (struct nccl_names){0};
}

bool nccl_names_have(struct nccl_names *names, uint32_t name_id)
{
	uint32_t size;

	if (name_id >= names->nr_strings)
		return false;
	if (names->known[name_id] == KNOWN_NOT) {
		const char *name = catalog_string(names->catalog, name_id, &size);

		names->known[name_id] =
			name && nccl_kernel_is(name, size) ? KNOWN_NCCL : KNOWN_OTHER;
	}
	return names->known[name_id] == KNOWN_NCCL;
}
