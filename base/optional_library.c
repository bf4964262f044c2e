#include "optional_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "error_text.h"

static int load(struct optional_library *library, char **error)
{
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL), *symbol = handle;

	for (size_t i = 0; symbol && i < library->nr_symbols; i++) {
		symbol = dlsym(handle, library->symbols[i].name);
		memcpy((char *)library->functions + library->symbols[i].offset, &symbol,
		       sizeof(symbol));
	}
	library->is_loaded = symbol != NULL;
	if (library->is_loaded)
		return 0;
	const char *why = dlerror();

	error_text_set(error, -ENOPKG, "%s: %s", library->missing, why ? why : library->file);
	if (handle)
		dlclose(handle);
	return -ENOPKG;
}

int optional_library_load(struct optional_library *library, char **error)
{
	pthread_mutex_lock(&library->lock);
	int status = library->is_loaded ? 0 : load(library, error);
	pthread_mutex_unlock(&library->lock);
	return status;
}
