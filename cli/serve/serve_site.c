#include "serve_site.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "page_cache.h"
#include "serve_list.h"

#include "base/log.h"
#include "proto/options/duration.h"
#include "report/names/clean_text.h"

#define NAME_SIZE    20u
#define PAGE_PREFIX  "/p/"
#define VALUE_MAX    128u
#define QUERY_VALUES 4u
#define NS_DIGITS    16u /* 115 days */
#define RANGE_SIZE   40u
#define RETRY_S      "5" /* a place is free as soon as an asker has taken its page */
#define HTML_TYPE    "text/html; charset=utf-8"

struct serve_site {
	char token[SERVE_SITE_TOKEN];
	/* What only the list's own forms send: no other site can read it. "": nobody opens windows. */
	char window_key[SERVE_SITE_TOKEN];
	uint32_t nr_windows;      /* opened so far */
	struct serve_list *list;  /* owns */
	struct page_cache *pages; /* owns */
};

/* Asks after the page, soon at first, and then reloads the address, so that the state behind its '#' stays. */
static const char waiting_page[] =
	"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>flamegrid</title>"
	"<meta name=\"color-scheme\" content=\"light dark\">"
	"<body><p>The page is being made…</p>"
	"<script>const ask = (ms) => setTimeout(() => fetch(location.href, {method: 'HEAD'})"
	".then(({status}) => status === 202 || status === 503 ? ask(Math.min(500, ms * 1.05)) : "
	"location.reload(),"
	" () => ask(500)), ms);"
	"ask(40)</script>"
	"<noscript><meta http-equiv=\"refresh\" content=\"1\"></noscript></body></html>\n";

static const char full_page[] =
	"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>flamegrid</title>"
	"<meta name=\"color-scheme\" content=\"light dark\">"
	"<meta http-equiv=\"refresh\" content=\"" RETRY_S "\">"
	"<body><p>More pages are asked for than can wait. This one asks again each " RETRY_S
	" s.</p></body></html>\n";

static const char no_timeline_page[] =
	"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>flamegrid</title>"
	"<meta name=\"color-scheme\" content=\"light dark\">"
	"<body><p>The profile has no timeline, so no part of its time can be shown. "
	"<code>flamegrid run --timeline all</code> keeps one. "
	"A part of a profile has none: ask the whole.</p>"
	"<p><a href=\"./\">The page of the profile</a></p></body></html>\n";

static int make_token(char token[static SERVE_SITE_TOKEN])
{
	uint8_t random[SERVE_SITE_TOKEN / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	for (uint32_t i = 0; i < sizeof(random); i++)
		snprintf(token + 2ul * i, 3, "%02x", random[i]);
	return 0;
}

int serve_site_create(const char *const *paths, uint32_t nr_paths, bool has_windows,
		      struct serve_site **site)
{
	struct serve_site *new_site = calloc(1, sizeof(*new_site));

	*site = NULL;
	if (!new_site)
		return -ENOMEM;
	new_site->list = serve_list_create(paths, nr_paths, SERVE_SITE_LIST);
	int error = new_site->list ? page_cache_create(&new_site->pages) : -ENOMEM;

	if (!error)
		error = make_token(new_site->token);
	if (!error && has_windows)
		error = make_token(new_site->window_key);
	if (error) {
		serve_site_destroy(new_site);
		return error;
	}
	*site = new_site;
	return 0;
}

void serve_site_destroy(struct serve_site *site)
{
	if (!site)
		return;
	serve_list_destroy(site->list);
	page_cache_destroy(site->pages);
	free(site);
}

const char *serve_site_token(const struct serve_site *site)
{
	return site->token;
}

/* ---- who asks */

/* In a time that does not tell how much of it is right. size: of text. */
static bool is_equal(const char *token, const char *text, size_t size)
{
	unsigned char difference = 0;

	if (size != SERVE_SITE_TOKEN - 1)
		return false;
	for (size_t i = 0; i < size; i++)
		difference |= (unsigned char)text[i] ^ (unsigned char)token[i];
	return difference == 0;
}

static bool is_token(const struct serve_site *site, const char *text, size_t size)
{
	return is_equal(site->token, text, size);
}

/* Browsers send a host's cookies to all of its ports, so each start has a name of its own. */
static const char *name_cookie(const struct serve_site *site, char name[static NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "flamegrid-%.8s=", site->token);
	return name;
}

static bool has_cookie(const struct serve_site *site, const char *cookies)
{
	char name[NAME_SIZE];
	const size_t begin = strlen(name_cookie(site, name));

	for (const char *at = cookies; *at;) {
		const size_t size = strcspn(at, ";");

		if (strncmp(at, name, begin) == 0 && is_token(site, at + begin, size - begin))
			return true;
		at += size;
		at += strspn(at, "; ");
	}
	return false;
}

static int answer_text(struct http_answer *answer, uint32_t status, const char *type,
		       const char *text)
{
	answer->status = status;
	answer->type = type;
	answer->body = strdup(text);
	answer->size = strlen(text);
	return answer->body ? 0 : -ENOMEM;
}

static int refuse(struct http_answer *answer)
{
	return answer_text(answer, 403, "text/plain; charset=utf-8",
			   "Open the address that `flamegrid serve` printed: it has the token.\n");
}

/* From the address with the token to the one without it, which no history or picture gives away. */
static int let_in(const struct serve_site *site, const char *path, struct http_answer *answer)
{
	static const char known[] = "0123456789abcdefghijklmnopqrstuvwxyz./";
	char name[NAME_SIZE], cookie[128];

	snprintf(cookie, sizeof(cookie), "%s%s; Path=/; HttpOnly; SameSite=Strict",
		 name_cookie(site, name), site->token);
	const bool is_known = path[strspn(path, known)] == '\0' && path[1] != '/';
	int error = http_answer_header(answer, "Set-Cookie", cookie);

	if (!error)
		error = http_answer_header(answer, "Location", is_known ? path : "/");
	return error ? error : answer_text(answer, 303, "text/plain; charset=utf-8", "");
}

/* ---- pages */

struct wanted_flame {
	struct page_wanted wanted;
	const char *argv[5];
	char key[PAGE_CACHE_KEY];
};

/* The page of the whole profile. flame stays where it is as long as it is used. */
static void want_flame(const struct served_profile *profile, struct wanted_flame *flame)
{
	*flame = (struct wanted_flame){
		.wanted = {flame->key, flame->argv, sizeof(flame->argv) / sizeof(*flame->argv),
			   profile->changed_ns, profile->is_live},
		.argv = {"report", "--format", "html", "--", profile->path},
	};
	snprintf(flame->key, sizeof(flame->key), "%s page", profile->id);
}

void serve_site_begin(struct serve_site *site)
{
	const struct served_profile *profile = serve_list_only(site->list);
	struct wanted_flame flame;
	struct page page;

	if (!profile)
		return;
	want_flame(profile, &flame);
	page_cache_get(site->pages, &flame.wanted, PAGE_AHEAD, &page);
	if (page.fd >= 0)
		close(page.fd);
	free(page.error);
}

/* Has the sums made from which pages of long ranges come quickly. They are kept beside the profile, so what the command
 * prints is all that is a page here. */
static void begin_sums(struct serve_site *site, const struct served_profile *profile)
{
	const char *const argv[] = {"timeline", "--sums", "--", profile->path};
	char key[PAGE_CACHE_KEY];
	const struct page_wanted wanted = {key, argv, sizeof(argv) / sizeof(*argv),
					   profile->changed_ns, false};
	struct page page;

	if (profile->is_live || !profile->has_timeline)
		return;
	snprintf(key, sizeof(key), "%s sums", profile->id);
	page_cache_get(site->pages, &wanted, PAGE_AHEAD, &page);
	if (page.fd >= 0)
		close(page.fd);
	free(page.error);
}

static int answer_list(struct serve_site *site, struct http_answer *answer)
{
	answer->status = 200;
	answer->type = HTML_TYPE;
	int error = http_answer_header(answer, "Content-Security-Policy",
				       "default-src 'none'; style-src 'unsafe-inline'; form-action "
				       "'self'; frame-ancestors 'none'");

	if (!error)
		error = serve_list_write(site->list, *site->window_key ? site->window_key : NULL,
					 &answer->body, &answer->size);
	if (!error)
		serve_site_begin(site);
	return error;
}

static int answer_full(struct http_answer *answer)
{
	int error = http_answer_header(answer, "Retry-After", RETRY_S);

	return error ? error : answer_text(answer, 503, HTML_TYPE, full_page);
}

static enum page_ask ask_of(const struct http_request *request)
{
	return request->is_head ? PAGE_LOOK : PAGE_TAKE;
}

static int give_page(enum page_state state, struct page *page, const char *type,
		     struct http_answer *answer)
{
	switch (state) {
	case PAGE_MAKING:
		return answer_text(answer, 202, HTML_TYPE, waiting_page);
	case PAGE_FULL:
		return answer_full(answer);
	case PAGE_FAILED:
	case PAGE_NOTHING:
	case PAGE_REFUSED:
		answer->status = state == PAGE_NOTHING ? 404 : state == PAGE_REFUSED ? 400 : 500;
		answer->type = "text/plain; charset=utf-8";
		answer->body = page->error;
		answer->size = page->error ? strlen(page->error) : 0;
		return page->error ? 0 : -ENOMEM;
	case PAGE_READY:
		break;
	}
	answer->status = 200;
	answer->type = type;
	answer->fd = page->fd;
	answer->size = page->size;
	return 0;
}

static int answer_page(struct serve_site *site, const struct http_request *request,
		       const struct page_wanted *wanted, const char *type,
		       struct http_answer *answer)
{
	struct page page;
	const enum page_state state = page_cache_get(site->pages, wanted, ask_of(request), &page);

	return give_page(state, &page, type, answer);
}

/* A value that is not there, or is empty, as a form sends it. */
static bool is_given(const struct http_query *query, const char *name)
{
	const char *value = http_query_value(query, name);

	return value && *value;
}

/* A number is nanoseconds, and may have 16 digits, which a double has not. With a unit it is as of the command. Without
 * a value *ns stays. false: the text is no time. */
static bool take_time(const struct http_query *query, const char *name, uint64_t *ns)
{
	const char *text = http_query_value(query, name);

	if (!is_given(query, name))
		return true;
	if (text[strspn(text, "0123456789.")])
		return duration_parse(text, ns, NULL) == 0;
	if (strlen(text) > NS_DIGITS || strchr(text, '.'))
		return false;
	*ns = strtoull(text, NULL, 10);
	return true;
}

static int answer_no_timeline(struct http_answer *answer)
{
	return answer_text(answer, 404, HTML_TYPE, no_timeline_page);
}

/* The page of a range, which the time axis of the whole page leads to. */
static int answer_range(struct serve_site *site, const struct served_profile *profile,
			const struct http_request *request, struct http_answer *answer)
{
	char key[PAGE_CACHE_KEY], from[RANGE_SIZE], to[RANGE_SIZE] = "";
	const char *argv[PAGE_CACHE_ARGUMENTS] = {"timeline", "--format", "html", from};
	uint32_t count = 4;
	uint64_t from_ns = 0, to_ns = UINT64_MAX;

	if (!take_time(request->query, "from", &from_ns) ||
	    !take_time(request->query, "to", &to_ns) || from_ns >= to_ns)
		return answer_text(answer, 400, "text/plain; charset=utf-8",
				   "from and to are times from the profile's first event, such as "
				   "1.5s; a number alone is nanoseconds. from is less than to.\n");
	if (!profile->has_timeline)
		return answer_no_timeline(answer);
	snprintf(from, sizeof(from), "--from=%" PRIu64 "ns", from_ns);
	if (to_ns != UINT64_MAX) {
		snprintf(to, sizeof(to), "--to=%" PRIu64 "ns", to_ns);
		argv[count++] = to;
	}
	snprintf(key, sizeof(key), "%s page %s %s", profile->id, from, to);
	argv[count++] = "--";
	argv[count++] = profile->path;
	const struct page_wanted wanted = {key, argv, count, profile->changed_ns, profile->is_live};
	const int error = answer_page(site, request, &wanted, HTML_TYPE, answer);

	begin_sums(site, profile); /* behind the page, which somebody waits for */
	return error;
}

static int answer_flame(struct serve_site *site, const struct served_profile *profile,
			const struct http_request *request, struct http_answer *answer)
{
	const struct http_query *query = request->query;
	static const char *const names[] = {"from", "to", "within", "token", NULL};

	/* A page of another time than the one that was asked for would mislead. */
	if (!http_query_has_only(query, names))
		return answer_text(answer, 400, "text/plain; charset=utf-8",
				   "A page takes from and to; step, around-worst and ranks are of "
				   "/timeline.\n");
	if (is_given(query, "from") || is_given(query, "to"))
		return answer_range(site, profile, request, answer);
	struct wanted_flame flame;

	want_flame(profile, &flame);
	const int error = answer_page(site, request, &flame.wanted, HTML_TYPE, answer);

	if (answer->status == 200) /* ranges come next */
		begin_sums(site, profile);
	return error;
}

/* Values that a time, a number or a list of ranks can have; the command says whether they are one. */
static bool is_value(const char *text)
{
	static const char known[] = "0123456789.,-nusmhd";

	return strlen(text) < VALUE_MAX && text[strspn(text, known)] == '\0';
}

/* Names the file by the profile, the ranks and the time: "demo_from=10s_to=12s.perfetto". Options have no quotes. */
static int name_download(const struct served_profile *profile, const char *const *options,
			 uint32_t nr_options, struct http_answer *answer)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	fputs("attachment; filename=\"", out);
	serve_list_write_name(profile, out);
	for (uint32_t i = 0; i < nr_options; i++)
		fprintf(out, "_%s", options[i] + strlen("--"));
	fputs(".perfetto\"", out);
	int error = fclose(out) ? -ENOMEM : http_answer_header(answer, "Content-Disposition", text);

	free(text);
	return error;
}

static int answer_timeline(struct serve_site *site, const struct served_profile *profile,
			   const struct http_request *request, struct http_answer *answer)
{
	const struct http_query *query = request->query;
	static const char *const names[QUERY_VALUES] = {"from", "to", "step", "ranks"};
	static const char *const all[] = {"from",         "to",    "step", "ranks",
					  "around-worst", "token", NULL};
	char key[PAGE_CACHE_KEY], values[QUERY_VALUES][VALUE_MAX + 16];
	const char *argv[PAGE_CACHE_ARGUMENTS] = {"timeline"};
	uint32_t count = 1;
	int size = snprintf(key, sizeof(key), "%s timeline", profile->id);

	if (!http_query_has_only(query, all))
		return answer_text(answer, 400, "text/plain; charset=utf-8",
				   "A timeline takes from, to, step, around-worst and ranks.\n");
	if (!profile->has_timeline)
		return answer_no_timeline(answer);
	if (http_query_value(query, "around-worst"))
		argv[count++] = "--around-worst";
	for (uint32_t i = 0; i < QUERY_VALUES; i++) {
		const char *value = http_query_value(query, names[i]);

		if (!value || !*value)
			continue;
		if (!is_value(value))
			return answer_text(answer, 400, "text/plain; charset=utf-8",
					   "from, to, step and ranks are as of `flamegrid "
					   "timeline`.\n");
		snprintf(values[i], sizeof(values[i]), "--%s=%s", names[i], value);
		argv[count++] = values[i];
	}
	for (uint32_t i = 1; i < count && size < (int)sizeof(key); i++)
		size += snprintf(key + size, sizeof(key) - (size_t)size, " %s", argv[i]);
	if (size >= (int)sizeof(key))
		return answer_text(answer, 400, "text/plain; charset=utf-8",
				   "from, to, step and ranks are too long.\n");
	const uint32_t nr_options = count - 1;
	argv[count++] = "--";
	argv[count++] = profile->path;
	const struct page_wanted wanted = {key, argv, count, profile->changed_ns, profile->is_live};
	int error = answer_page(site, request, &wanted, "application/octet-stream", answer);

	if (!error && answer->status == 200)
		error = name_download(profile, argv + 1, nr_options, answer);
	return error;
}

/* ---- capture windows */

/* Whether a form of our own list sent it: it has the key, and the browser says that the page is ours. */
static bool is_ours(const struct serve_site *site, const struct http_request *request)
{
	static const char scheme[] = "http://";
	const char *key = http_query_value(request->query, "key");

	return *site->window_key && key && is_equal(site->window_key, key, strlen(key)) &&
	       *request->host && strncmp(request->origin, scheme, strlen(scheme)) == 0 &&
	       strcmp(request->origin + strlen(scheme), request->host) == 0;
}

static bool is_duration(const char *text)
{
	return text &&
	       (strcmp(text, "1s") == 0 || strcmp(text, "10s") == 0 || strcmp(text, "60s") == 0);
}

static void note_window(const struct served_profile *profile, const char *duration)
{
	char *clean = clean_text_of(profile->path, strlen(profile->path));

	log_notice("a browser opens a capture window of %s: %s", duration, clean ? clean : "");
	free(clean);
}

static int open_window(struct serve_site *site, const struct served_profile *profile,
		       const struct http_request *request, struct http_answer *answer)
{
	const char *duration = http_query_value(request->query, "duration");
	char key[PAGE_CACHE_KEY], option[32], path[64];

	if (!is_ours(site, request)) {
		log_warning("a request for a capture window is refused: it is not from a button of "
			    "the list");
		return answer_text(answer, 403, "text/plain; charset=utf-8",
				   "Only the buttons of the list open capture windows.\n");
	}
	if (!is_duration(duration) || !profile->is_commanded)
		return answer_text(answer, 400, "text/plain; charset=utf-8",
				   "A window lasts 1s, 10s or 60s, and its job runs.\n");
	snprintf(key, sizeof(key), "%s window %" PRIu32, profile->id, site->nr_windows + 1);
	snprintf(option, sizeof(option), "--duration=%s", duration);
	const char *const argv[] = {"control", "start", option, "--", profile->path};
	const struct page_wanted wanted = {key, argv, sizeof(argv) / sizeof(*argv), 0, false};

	if (!page_cache_begin(site->pages, &wanted))
		return answer_text(answer, 503, "text/plain; charset=utf-8",
				   "Pages are being made: try again.\n");
	site->nr_windows++;
	note_window(profile, duration);
	snprintf(path, sizeof(path), "/p/%s/window?number=%" PRIu32, profile->id, site->nr_windows);
	int error = http_answer_header(answer, "Location", path);

	return error ? error : answer_text(answer, 303, "text/plain; charset=utf-8", "");
}

/* What `flamegrid control` said of a window that was opened. */
static int answer_window(struct serve_site *site, const struct served_profile *profile,
			 const struct http_request *request, struct http_answer *answer)
{
	const char *number = http_query_value(request->query, "number");
	char key[PAGE_CACHE_KEY];
	struct page page;

	if (!number || strlen(number) > NS_DIGITS)
		return -ENOENT;
	snprintf(key, sizeof(key), "%s window %s", profile->id, number);
	const enum page_state state = page_cache_look(site->pages, key, ask_of(request), &page);

	return state == PAGE_NOTHING && !page.error
		       ? -ENOENT
		       : give_page(state, &page, "text/plain; charset=utf-8", answer);
}

static int answer_profile(struct serve_site *site, const struct http_request *request,
			  struct http_answer *answer)
{
	const char *id = request->path + strlen(PAGE_PREFIX);
	const struct served_profile *profile = serve_list_find(site->list, id, strcspn(id, "/"));
	const char *what = strchr(id, '/');

	if (!profile || !what)
		return -ENOENT;
	if (request->is_post)
		return strcmp(what, "/window") == 0 ? open_window(site, profile, request, answer)
						    : -ENOENT;
	if (strcmp(what, "/window") == 0)
		return answer_window(site, profile, request, answer);
	if (strcmp(what, "/") == 0)
		return answer_flame(site, profile, request, answer);
	if (strcmp(what, "/timeline") == 0)
		return answer_timeline(site, profile, request, answer);
	return -ENOENT;
}

void serve_site_tend(void *context)
{
	const struct serve_site *site = context;

	page_cache_tend(site->pages);
}

int serve_site_answer(void *context, const struct http_request *request, struct http_answer *answer)
{
	struct serve_site *site = context;
	const char *token = http_query_value(request->query, "token");

	http_answer_header(answer, "Cache-Control", "no-store");
	http_answer_header(answer, "Referrer-Policy", "same-origin");
	http_answer_header(answer, "X-Content-Type-Options", "nosniff");
	if (!request->is_post && token && is_token(site, token, strlen(token)))
		return let_in(site, request->path, answer);
	if (!has_cookie(site, request->cookie))
		return refuse(answer);
	if (strcmp(request->path, "/") == 0 && !request->is_post)
		return answer_list(site, answer);
	if (strcmp(request->path, "/favicon.ico") == 0) /* browsers ask for it */
		return answer_text(answer, 204, "text/plain", "");
	if (strncmp(request->path, PAGE_PREFIX, strlen(PAGE_PREFIX)) == 0)
		return answer_profile(site, request, answer);
	return -ENOENT;
}
