#include "symbolizer.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "elf_file.h"
#include "proto/definition.h"
#include "symbol_table.h"

struct request {
	uint32_t frame_id, module_id;
	uint64_t vaddr;
};

struct module {
	struct symbolizer_module what; /* path: owned */
	struct symbol_table *table;    /* owns */
	bool loaded;
};

/* A growing array; both sides hand whole arrays over, so that the lock is held for an instant. */
struct requests {
	struct request *items; /* owns */
	size_t count, max;
};

struct results {
	struct symbolizer_result *items; /* owns */
	size_t count, max;
};

struct symbolizer {
	pthread_t thread;
	int event_fd;
	uint64_t nr_requested, nr_collected; /* loop only */
	struct results taken;                /* loop only */
	size_t taken_at;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	struct requests waiting;
	struct results done;
	struct module **modules; /* owns; the array is changed under the lock, a module belongs to
				    the worker */
	uint32_t nr_modules;     /* module_id < nr_modules; some are NULL */
};

static bool same_build_id(const struct symbolizer_module *module, struct elf_file *file)
{
	uint8_t build_id[WIRE_BUILD_ID_MAX];

	if (module->build_id_size == 0)
		return true;
	return elf_file_build_id(file, build_id, sizeof(build_id)) == module->build_id_size &&
	       memcmp(build_id, module->build_id, module->build_id_size) == 0;
}

static bool load_file(struct module *module, const char *path)
{
	struct elf_file *file;

	if (elf_file_open(path, &file))
		return false;
	bool same = same_build_id(&module->what, file);
	if (same)
		symbol_table_create(file, &module->table);
	elf_file_close(file);
	return same;
}

/* The kernel maps the same vDSO into every process of one architecture: ours will do if the build
 * id says so. */
static void load_vdso(struct module *module)
{
	void *image = (void *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = image;
	struct elf_file *file;

	if (!image)
		return;
	size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (elf_file_open_memory(image, size, &file))
		return;
	if (same_build_id(&module->what, file))
		symbol_table_create(file, &module->table);
	elf_file_close(file);
}

static void load(struct module *module)
{
	const struct symbolizer_module *what = &module->what;
	char path[PATH_MAX + 64];

	module->loaded = true;
	if (what->flags & DEFINITION_MODULE_VDSO) {
		load_vdso(module);
		return;
	}
	if (what->path[0] != '/')
		return;
	if (what->pid > 0) {
		snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)what->pid,
			 (unsigned long)what->start, (unsigned long)what->end);
		if (load_file(module, path))
			return;
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)what->pid, what->path);
		if (load_file(module, path))
			return;
	}
	load_file(module, what->path);
}

static struct module *find_module(struct symbolizer *symbolizer, uint32_t module_id)
{
	pthread_mutex_lock(&symbolizer->lock);
	struct module *module =
		module_id < symbolizer->nr_modules ? symbolizer->modules[module_id] : NULL;
	pthread_mutex_unlock(&symbolizer->lock);
	return module;
}

static const char *look_up(struct symbolizer *symbolizer, const struct request *request)
{
	struct module *module = find_module(symbolizer, request->module_id);

	if (!module)
		return NULL;
	if (!module->loaded)
		load(module);
	return module->table ? symbol_table_find(module->table, request->vaddr) : NULL;
}

static void raise_event(struct symbolizer *symbolizer)
{
	uint64_t one = 1;

	if (write(symbolizer->event_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full: it is readable, as it should be */
}

/* Room for the answers is made before the question is taken, by symbolizer_request(): an answer
 * can't get lost. */
static void answer(struct symbolizer *symbolizer, const struct request *request)
{
	struct symbolizer_result result = {.frame_id = request->frame_id,
					   .name = look_up(symbolizer, request)};

	pthread_mutex_lock(&symbolizer->lock);
	bool first = symbolizer->done.count == 0;
	symbolizer->done.items[symbolizer->done.count++] = result;
	pthread_mutex_unlock(&symbolizer->lock);
	if (first)
		raise_event(symbolizer);
}

static void *work(void *argument)
{
	struct symbolizer *symbolizer = argument;
	struct requests batch = {0};

	pthread_setname_np(pthread_self(), "symbolizer");
	pthread_mutex_lock(&symbolizer->lock);
	while (!symbolizer->stop) {
		struct requests empty = {.items = batch.items, .max = batch.max};

		if (symbolizer->waiting.count == 0) {
			pthread_cond_wait(&symbolizer->wake, &symbolizer->lock);
			continue;
		}
		batch = symbolizer->waiting;
		symbolizer->waiting = empty;
		for (size_t i = 0; i < batch.count && !symbolizer->stop; i++) {
			pthread_mutex_unlock(&symbolizer->lock);
			answer(symbolizer, &batch.items[i]);
			pthread_mutex_lock(&symbolizer->lock);
		}
	}
	pthread_mutex_unlock(&symbolizer->lock);
	free(batch.items);
	return NULL;
}

static void destroy(struct symbolizer *symbolizer)
{
	for (uint32_t i = 0; i < symbolizer->nr_modules; i++) {
		struct module *module = symbolizer->modules[i];

		if (!module)
			continue;
		symbol_table_destroy(module->table);
		free((char *)module->what.path);
		free(module);
	}
	free(symbolizer->modules);
	free(symbolizer->waiting.items);
	free(symbolizer->done.items);
	free(symbolizer->taken.items);
	if (symbolizer->event_fd >= 0)
		close(symbolizer->event_fd);
	pthread_cond_destroy(&symbolizer->wake);
	pthread_mutex_destroy(&symbolizer->lock);
	free(symbolizer);
}

int symbolizer_start(struct symbolizer **symbolizer)
{
	struct symbolizer *new_symbolizer = calloc(1, sizeof(*new_symbolizer));

	*symbolizer = NULL;
	if (!new_symbolizer)
		return -ENOMEM;
	pthread_mutex_init(&new_symbolizer->lock, NULL);
	pthread_cond_init(&new_symbolizer->wake, NULL);
	new_symbolizer->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = new_symbolizer->event_fd < 0 ? -errno : 0;
	if (r == 0)
		r = -pthread_create(&new_symbolizer->thread, NULL, work, new_symbolizer);
	if (r) {
		destroy(new_symbolizer);
		return r;
	}
	*symbolizer = new_symbolizer;
	return 0;
}

void symbolizer_stop(struct symbolizer *symbolizer, uint32_t wait_ms)
{
	struct timespec until;

	if (!symbolizer)
		return;
	pthread_mutex_lock(&symbolizer->lock);
	symbolizer->stop = true;
	pthread_cond_signal(&symbolizer->wake);
	pthread_mutex_unlock(&symbolizer->lock);

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	if (pthread_timedjoin_np(symbolizer->thread, NULL, &until) == 0)
		destroy(symbolizer);
	else
		pthread_detach(symbolizer->thread);
}

int symbolizer_fd(const struct symbolizer *symbolizer)
{
	return symbolizer->event_fd;
}

static struct module *copy_module(const struct symbolizer_module *what)
{
	struct module *module = calloc(1, sizeof(*module));
	char *path = strndup(what->path, PATH_MAX - 1);

	if (!module || !path) {
		free(module);
		free(path);
		return NULL;
	}
	module->what = *what;
	module->what.path = path;
	return module;
}

int symbolizer_add_module(struct symbolizer *symbolizer, const struct symbolizer_module *what)
{
	struct module *module = NULL;
	int r = -ENOMEM;

	if (find_module(symbolizer, what->module_id))
		return 0;
	module = copy_module(what);
	if (!module)
		return -ENOMEM;
	pthread_mutex_lock(&symbolizer->lock);
	if (what->module_id >= symbolizer->nr_modules) {
		uint32_t nr_modules = (what->module_id + 16) * 2;
		struct module **modules =
			realloc(symbolizer->modules, nr_modules * sizeof(struct module *));

		if (!modules)
			goto out;
		memset(modules + symbolizer->nr_modules, 0,
		       (nr_modules - symbolizer->nr_modules) * sizeof(struct module *));
		symbolizer->modules = modules;
		symbolizer->nr_modules = nr_modules;
	}
	symbolizer->modules[what->module_id] = module;
	module = NULL;
	r = 0;
out:
	pthread_mutex_unlock(&symbolizer->lock);
	if (module) {
		free((char *)module->what.path);
		free(module);
	}
	return r;
}

static int reserve_results(struct results *results, size_t max)
{
	if (max <= results->max)
		return 0;
	struct symbolizer_result *items = realloc(results->items, max * sizeof(*items));
	if (!items)
		return -ENOMEM;
	results->items = items;
	results->max = max;
	return 0;
}

static int push_request(struct requests *requests, const struct request *request)
{
	if (requests->count == requests->max) {
		size_t max = requests->max * 2 + 64;
		struct request *items = realloc(requests->items, max * sizeof(*items));

		if (!items)
			return -ENOMEM;
		requests->items = items;
		requests->max = max;
	}
	requests->items[requests->count++] = *request;
	return 0;
}

int symbolizer_request(struct symbolizer *symbolizer, uint32_t frame_id, uint32_t module_id,
		       uint64_t vaddr)
{
	struct request request = {frame_id, module_id, vaddr};
	uint64_t open = symbolizer->nr_requested + 1 - symbolizer->nr_collected;

	pthread_mutex_lock(&symbolizer->lock);
	int r = open <= symbolizer->done.max ? 0
					     : reserve_results(&symbolizer->done, open * 2 + 64);
	if (r == 0)
		r = push_request(&symbolizer->waiting, &request);
	pthread_cond_signal(&symbolizer->wake);
	pthread_mutex_unlock(&symbolizer->lock);
	if (r == 0)
		symbolizer->nr_requested++;
	return r;
}

/* Swaps the collected array for the full one; it is given the same room, which the open requests
 * rely on. */
static void take_results(struct symbolizer *symbolizer)
{
	struct results *taken = &symbolizer->taken;
	uint64_t counter;

	if (read(symbolizer->event_fd, &counter, sizeof(counter)) < 0)
		return; /* nothing there */
	pthread_mutex_lock(&symbolizer->lock);
	if (reserve_results(taken, symbolizer->done.max) == 0) {
		struct results empty = {.items = taken->items, .max = taken->max};

		*taken = symbolizer->done;
		symbolizer->done = empty;
		symbolizer->taken_at = 0;
	} else {
		raise_event(symbolizer); /* later */
	}
	pthread_mutex_unlock(&symbolizer->lock);
}

uint32_t symbolizer_collect(struct symbolizer *symbolizer, struct symbolizer_result *results,
			    uint32_t max)
{
	struct results *taken = &symbolizer->taken;

	if (symbolizer->taken_at == taken->count) {
		taken->count = symbolizer->taken_at = 0;
		take_results(symbolizer);
	}
	size_t count = taken->count - symbolizer->taken_at;
	if (count > max)
		count = max;
	if (count > 0)
		memcpy(results, taken->items + symbolizer->taken_at, count * sizeof(*results));
	symbolizer->taken_at += count;
	symbolizer->nr_collected += count;
	return (uint32_t)count;
}

bool symbolizer_idle(const struct symbolizer *symbolizer)
{
	return symbolizer->nr_requested == symbolizer->nr_collected;
}
