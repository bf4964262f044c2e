#include "http_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/error_text.h"

#define LIBRARY "libmicrohttpd.so.12"

static struct http_library functions; /* written once, by open_library() */
static char problem[256];             /* of open_library(); "": none */

static void open_library(void)
{
	static const struct {
		const char *name;
		void *place;
	} names[] = {
		{"MHD_start_daemon", &functions.start_daemon},
		{"MHD_stop_daemon", &functions.stop_daemon},
		{"MHD_run", &functions.run},
		{"MHD_get_timeout", &functions.get_timeout},
		{"MHD_get_daemon_info", &functions.get_daemon_info},
		{"MHD_get_connection_info", &functions.get_connection_info},
		{"MHD_lookup_connection_value", &functions.lookup_connection_value},
		{"MHD_create_response_from_buffer", &functions.create_response},
		{"MHD_add_response_header", &functions.add_response_header},
		{"MHD_queue_response", &functions.queue_response},
		{"MHD_destroy_response", &functions.destroy_response},
	};
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *function = handle;

	for (size_t i = 0; function && i < sizeof(names) / sizeof(*names); i++) {
		function = dlsym(handle, names[i].name);
		memcpy(names[i].place, &function, sizeof(function));
	}
	if (function)
		return;
	const char *why = dlerror();

	strncpy(problem, why ? why : LIBRARY, sizeof(problem) - 1);
}

int http_library_open(const struct http_library **library, char **error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_library);
	*library = &functions;
	return *problem ? error_text_set(error, -ENOPKG,
					 "libmicrohttpd is missing (Debian, Ubuntu: "
					 "libmicrohttpd12 or libmicrohttpd12t64): %s",
					 problem)
			: 0;
}
