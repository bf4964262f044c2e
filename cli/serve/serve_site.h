/* Answers a browser's requests: a list of profiles, their pages, and their timelines. Everybody needs the token,
 * because all users of a machine reach its ports. Paths of files never come from a request. The server's thread uses
 * it. */
#ifndef SERVE_SITE_H
#define SERVE_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "http/http_server.h"

#define SERVE_SITE_TOKEN 33u   /* bytes, with the NUL */
#define SERVE_SITE_LIST  1000u /* profiles in the list: the newest ones of each directory */

struct serve_site;

/* paths: directories with profiles, or profiles; borrowed until destroy. has_windows: whoever has the token may open
 * capture windows of their jobs. 0; -errno: *site is NULL. */
int serve_site_create(const char *const *paths, uint32_t nr_paths, bool has_windows,
		      struct serve_site **site);

/* Accepts NULL. */
void serve_site_destroy(struct serve_site *site);

/* What the address ends with: "/?token=…" has it. Borrowed until destroy. */
const char *serve_site_token(const struct serve_site *site);

/* Who serves one profile opens it: its page is begun before anybody asks, here and when the list is shown. Does nothing
 * if there are several. Not beside serve_site_answer(). */
void serve_site_begin(struct serve_site *site);

/* Ends what takes too long, and begins what waits. The tend() of http_server_options with the site as its context. */
void serve_site_tend(void *context);

/* An http_answer_fn with the site as its context. */
int serve_site_answer(void *context, const struct http_request *request,
		      struct http_answer *answer);

#endif
