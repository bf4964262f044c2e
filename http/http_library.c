#include "http_library.h"

#include <stddef.h>

#include "base/optional_library.h"

static const struct optional_library_symbol symbols[] = {
	{"MHD_start_daemon", offsetof(struct http_library, start_daemon)},
	{"MHD_stop_daemon", offsetof(struct http_library, stop_daemon)},
	{"MHD_run", offsetof(struct http_library, run)},
	{"MHD_get_timeout", offsetof(struct http_library, get_timeout)},
	{"MHD_get_daemon_info", offsetof(struct http_library, get_daemon_info)},
	{"MHD_get_connection_info", offsetof(struct http_library, get_connection_info)},
	{"MHD_lookup_connection_value", offsetof(struct http_library, lookup_connection_value)},
	{"MHD_create_response_from_buffer", offsetof(struct http_library, create_response)},
	{"MHD_create_response_from_fd64", offsetof(struct http_library, create_file_response)},
	{"MHD_get_connection_values", offsetof(struct http_library, get_connection_values)},
	{"MHD_lookup_connection_value_n", offsetof(struct http_library, lookup_connection_value_n)},
	{"MHD_add_response_header", offsetof(struct http_library, add_response_header)},
	{"MHD_queue_response", offsetof(struct http_library, queue_response)},
	{"MHD_destroy_response", offsetof(struct http_library, destroy_response)},
};

static struct http_library functions; /* written once, by optional_library_load() */
static struct optional_library microhttpd = {
	.file = "libmicrohttpd.so.12",
	.missing =
		"libmicrohttpd is missing (Debian, Ubuntu: libmicrohttpd12 or libmicrohttpd12t64)",
	.symbols = symbols,
	.nr_symbols = sizeof(symbols) / sizeof(*symbols),
	.functions = &functions,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

int http_library_open(const struct http_library **library, char **error)
{
	*library = &functions;
	return optional_library_load(&microhttpd, error);
}
