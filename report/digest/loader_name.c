#include "loader_name.h"

#include <stddef.h>
#include <string.h>

bool loader_name_is(const char *name)
{
	static const char *const parts[] = {"dataloader", "data_loader", "_next_data",
					    "_get_data",  "fetch_batch", "load_batch",
					    "next_batch", "get_batch",   "prefetch"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strcasestr(name, parts[i]))
			return true;
	return false;
}
