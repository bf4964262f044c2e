#include "debuginfod_source.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node-agent/files/elf_file.h"
#include "proto/batch/message.h"

#define LIBRARY       "libdebuginfod.so.1"
#define URLS_ENV      "DEBUGINFOD_URLS"
#define TIMEOUTS_MAX  2u
/* The client's interface (debuginfod_find_debuginfo(3)), declared here because it may be absent. */
struct debuginfod_client;
typedef int progress_function(struct debuginfod_client *client, long done, long total);

struct debuginfod_source {
	void *library;
	struct debuginfod_client *client;
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *client);
	int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int size,
		    char **path);
	void (*set_progress)(struct debuginfod_client *client, progress_function *progress);
	bool (*go_on)(void *context);
	void *context;
	uint32_t limit_ms, nr_timeouts;
	uint64_t begin_ms;
	bool given_up;
};

/* The one that is fetching on this thread: the library's progress function gets nothing of ours. */
static _Thread_local struct debuginfod_source *fetching;

static uint64_t now_ms(void)
{
	return clock_now_ns() / 1000000;
}

static int on_progress(struct debuginfod_client *client, long done, long total)
{
	struct debuginfod_source *source = fetching;

	(void)client;
	(void)done;
	(void)total;
	if (now_ms() - source->begin_ms >= source->limit_ms || !source->go_on(source->context))
		source->given_up = true;
	return source->given_up;
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
		source->client = source->begin();
	if (!source->client) {
		debuginfod_source_destroy(source);
		return NULL;
	}
	source->set_progress(source->client, on_progress);
	return source;
}

/* The library stays loaded: what it started at load time can't be taken back. */
void debuginfod_source_destroy(struct debuginfod_source *source)
{
	if (!source)
		return;
	if (source->client)
		source->end(source->client);
	free(source);
}

int debuginfod_source_open(struct debuginfod_source *source, const uint8_t *build_id,
			   uint32_t build_id_size, struct elf_file **debug)
{
	uint8_t found[WIRE_BUILD_ID_MAX];

	*debug = NULL;
	if (source->nr_timeouts == TIMEOUTS_MAX)
		return -ETIMEDOUT;
	if (build_id_size == 0 || build_id_size > WIRE_BUILD_ID_MAX)
		return -ENOENT;
	source->begin_ms = now_ms();
	source->given_up = false;
	fetching = source;
	int fd = source->find(source->client, build_id, (int)build_id_size, NULL);
	fetching = NULL;
	if (fd < 0 && source->given_up) {
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
