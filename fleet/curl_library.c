#include "curl_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error_text.h"

#define LIBRARY "libcurl.so.4" /* Debian, Red Hat, SUSE; its functions are the same since 2006 */

static const struct symbol {
	const char *name;
	size_t offset;
} symbols[] = {
	{"curl_easy_init", offsetof(struct curl_library, easy_init)},
	{"curl_easy_cleanup", offsetof(struct curl_library, easy_cleanup)},
	{"curl_easy_reset", offsetof(struct curl_library, easy_reset)},
	{"curl_easy_setopt", offsetof(struct curl_library, easy_setopt)},
	{"curl_easy_perform", offsetof(struct curl_library, easy_perform)},
	{"curl_easy_getinfo", offsetof(struct curl_library, easy_getinfo)},
	{"curl_easy_strerror", offsetof(struct curl_library, easy_strerror)},
	{"curl_easy_escape", offsetof(struct curl_library, easy_escape)},
	{"curl_free", offsetof(struct curl_library, free)},
	{"curl_slist_append", offsetof(struct curl_library, slist_append)},
	{"curl_slist_free_all", offsetof(struct curl_library, slist_free_all)},
};

const struct curl_library *curl_library_load(char **error)
{
	static struct curl_library library;
	static bool is_loaded;

	if (is_loaded)
		return &library;
	void *handle = dlopen(LIBRARY, RTLD_NOW);
	for (size_t i = 0; handle && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *symbol = dlsym(handle, symbols[i].name);

		if (!symbol)
			handle = NULL;
		*(void **)((char *)&library + symbols[i].offset) = symbol;
	}
	is_loaded = handle != NULL;
	if (!is_loaded)
		error_text_set(error, -ENOSYS, "%s cannot be loaded, which exports need: %s",
			       LIBRARY, dlerror());
	return is_loaded ? &library : NULL;
}
