/* libcurl, loaded when it is first needed: only exports need it, and loading it takes longer than starting any verb.
 * Any thread may open it. */
#ifndef CURL_LIBRARY_H
#define CURL_LIBRARY_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

struct curl_library {
	typeof(curl_easy_init) *easy_init;
	typeof(curl_easy_cleanup) *easy_cleanup;
	typeof(curl_easy_reset) *easy_reset;
	typeof(curl_easy_setopt) *easy_setopt;
	typeof(curl_easy_perform) *easy_perform;
	typeof(curl_easy_getinfo) *easy_getinfo;
	typeof(curl_easy_strerror) *easy_strerror;
	typeof(curl_easy_escape) *easy_escape;
	typeof(curl_free) *free;
	typeof(curl_slist_append) *slist_append;
	typeof(curl_slist_free_all) *slist_free_all;
};

/* 0, and *library is borrowed for good; -ENOPKG: there is no such library, and *error is one line that the caller owns
 * (free()). */
int curl_library_open(const struct curl_library **library, char **error);

#endif
