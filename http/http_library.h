/* libmicrohttpd's functions, loaded when the first server starts. Part of http_server.c; any thread may open it, and
 * use its functions afterwards. */
#ifndef HTTP_LIBRARY_H
#define HTTP_LIBRARY_H

#include <microhttpd.h>

struct http_library {
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_run) run;
	__typeof__(&MHD_get_timeout) get_timeout;
	__typeof__(&MHD_get_daemon_info) get_daemon_info;
	__typeof__(&MHD_get_connection_info) get_connection_info;
	__typeof__(&MHD_lookup_connection_value) lookup_connection_value;
	__typeof__(&MHD_create_response_from_buffer) create_response;
	__typeof__(&MHD_create_response_from_fd64) create_file_response;
	__typeof__(&MHD_get_connection_values) get_connection_values;
	__typeof__(&MHD_lookup_connection_value_n) lookup_connection_value_n;
	__typeof__(&MHD_add_response_header) add_response_header;
	__typeof__(&MHD_queue_response) queue_response;
	__typeof__(&MHD_destroy_response) destroy_response;
};

/* 0, and *library is borrowed for good; -ENOPKG: there is no such library, and *error is one line that the caller owns
 * (free()). */
int http_library_open(const struct http_library **library, char **error);

#endif
