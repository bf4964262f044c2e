#include "debuginfod_source.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node-agent/files/elf_file.h"
#include "proto/batch/message.h"

#define LIBRARY      "libdebuginfod.so.1"
#define URLS_ENV     "DEBUGINFOD_URLS"
#define TIMEOUTS_MAX 2u
/* The client's interface (debuginfod_find_debuginfo(3)), declared here because it may be absent. */
struct debuginfod_client;
typedef int progress_function(struct debuginfod_client *client, long done, long total);

struct debuginfod_source {
	void *library;
	/* Owns. The next fetch uses it, since a client keeps its connections. NULL: the next fetch makes one. */
	_Atomic(struct debuginfod_client *) spare;
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *client);
	int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int size,
		    char **path);
	void (*set_progress)(struct debuginfod_client *client, progress_function *progress);
	bool (*go_on)(void *context);
	void *context;
	uint32_t limit_ms;
	atomic_uint nr_timeouts;
};

struct fetch {
	const struct debuginfod_source *source;
	uint64_t begin_ms;
	bool given_up;
};

/* This thread's fetch, since the library hands no argument of ours to the progress function. */
static _Thread_local struct fetch *fetching;

static int on_progress(struct debuginfod_client *client, long done, long total)
{
	const struct debuginfod_source *source = fetching->source;

	(void)client;
	(void)done;
	(void)total;
	if (clock_now_ms() - fetching->begin_ms >= source->limit_ms ||
	    !source->go_on(source->context))
		fetching->given_up = true;
	return fetching->given_up;
}

static bool resolve(struct debuginfod_source *source)
{
	void *library = source->library;

	source->begin = (struct debuginfod_client * (*)(void)) dlsym(library, "debuginfod_begin");
	source->end = (void (*)(struct debuginfod_client *))dlsym(library, "debuginfod_end");
	source->find = (int (*)(struct debuginfod_client *, const unsigned char *, int,
				char **))dlsym(library, "debuginfod_find_debuginfo");
	source->set_progress = (void (*)(struct debuginfod_client *, progress_function *))dlsym(
		library, "debuginfod_set_progressfn");
	return source->begin && source->end && source->find && source->set_progress;
}

/* Only one thread at a time may use a client. */
static struct debuginfod_client *take_client(struct debuginfod_source *source)
{
	struct debuginfod_client *client = atomic_exchange(&source->spare, NULL);

	if (!client && (client = source->begin()))
		source->set_progress(client, on_progress);
	return client;
}

static void give_client(struct debuginfod_source *source, struct debuginfod_client *client)
{
	client = atomic_exchange(&source->spare, client);
	if (client)
		source->end(client);
}

struct debuginfod_source *debuginfod_source_create(uint32_t limit_ms, bool (*go_on)(void *context),
						   void *context)
{
	const char *urls = getenv(URLS_ENV);

	if (!urls || !*urls)
		return NULL;
	struct debuginfod_source *source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->limit_ms = limit_ms;
	source->go_on = go_on;
	source->context = context;
	source->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (source->library && resolve(source))
		source->spare = take_client(source);
	if (!source->spare) {
		debuginfod_source_destroy(source);
		return NULL;
	}
	return source;
}

/* The library stays loaded, since its initialisation cannot be undone. */
void debuginfod_source_destroy(struct debuginfod_source *source)
{
	if (!source)
		return;
	if (source->spare)
		source->end(source->spare);
	free(source);
}

int debuginfod_source_open(struct debuginfod_source *source, const uint8_t *build_id,
			   uint32_t build_id_size, struct elf_file **debug)
{
	struct fetch fetch = {.source = source, .begin_ms = clock_now_ms()};
	uint8_t found[WIRE_BUILD_ID_MAX];

	*debug = NULL;
	if (source->nr_timeouts >= TIMEOUTS_MAX)
		return -ETIMEDOUT;
	if (build_id_size == 0 || build_id_size > WIRE_BUILD_ID_MAX)
		return -ENOENT;
	struct debuginfod_client *client = take_client(source);
	if (!client)
		return -ENOMEM;
	fetching = &fetch;
	int fd = source->find(client, build_id, (int)build_id_size, NULL);
	if (fd == -EEXIST) /* another fetch has meanwhile made the client's cache directory */
		fd = source->find(client, build_id, (int)build_id_size, NULL);
	fetching = NULL;
	give_client(source, client);
	if (fd < 0 && fetch.given_up) {
		source->nr_timeouts++;
		return -ETIMEDOUT;
	}
	if (fd < 0)
		return fd == -ENOSYS ? -ENOENT : fd;
	int r = elf_file_open_fd(fd, debug);
	if (r)
		return r;
	if (elf_file_build_id(*debug, found, sizeof(found)) == build_id_size &&
	    memcmp(found, build_id, build_id_size) == 0)
		return 0;
	elf_file_close(*debug);
	*debug = NULL;
	return -ENOENT;
}
