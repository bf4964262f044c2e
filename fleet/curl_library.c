#include "curl_library.h"

#include <stddef.h>

#include "base/optional_library.h"

static const struct optional_library_symbol symbols[] = {
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

static struct curl_library functions; /* written once, by optional_library_load() */
static struct optional_library curl = {
	/* Debian, Red Hat, SUSE; its functions are the same since 2006 */
	.file = "libcurl.so.4",
	.missing =
		"libcurl is missing, which exports need (Debian, Ubuntu: libcurl4 or libcurl4t64)",
	.symbols = symbols,
	.nr_symbols = sizeof(symbols) / sizeof(*symbols),
	.functions = &functions,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

int curl_library_open(const struct curl_library **library, char **error)
{
	*library = &functions;
	return optional_library_load(&curl, error);
}
