#include "symbolizer.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "debuginfod_source.h"
#include "fair_shares.h"
#include "foreign_call.h"
#include "foreign_file.h"
#include "job_file.h"
#include "module_call.h"
#include "symbol_cache.h"
#include "symbol_module.h"
#include "text_arena.h"

#define DEBUGINFOD_LIMIT_MS 20000u
#define CACHED_SYMBOLS_MIN  5000u  /* making fewer takes less than reading them is worth */
#define RESULTS_KEPT_MAX    256u   /* places for answers that are kept while none is awaited */
#define OPEN_FILES_MAX      512u
#define FILE_LIMIT_MS       2000u
#define FILE_SLOW_MS        60000u /* for one file that answers slowly: others wait */

struct request {
	uint32_t frame_id, module_id;
	uint64_t vaddr;
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

struct places {
	struct symbolizer_module *items; /* owns, and each path */
	size_t count, max;
};

struct module_slot {
	struct symbol_module *module; /* owns; NULL: none */
	struct module_call *left;     /* owns; has the module until it has returned. NULL: none */
	bool is_busy;
	uint64_t device; /* of foreign_call.h, as the next */
	uid_t user;
};

/* What only the worker touches while it runs. */
struct work {
	struct symbol_scope scope; /* owns cache and debuginfod; calls use it, too */
	struct module_slot *slots; /* owns; module_id < nr_slots */
	uint32_t nr_slots;
	uint32_t file_limit_ms;
	struct text_arena *texts; /* owns */
	char *debug_directory;    /* owns */
	struct module_call *spare; /* owns; for the next call; NULL: it makes one */
	char text[MODULE_CALL_TEXT_MAX];
};

struct symbolizer {
	pthread_t thread;
	int event_fd;
	uint64_t nr_requested, nr_collected; /* loop only */
	struct results taken;                /* loop only */
	size_t taken_at;
	struct work work; /* worker only */
	atomic_bool stop;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct requests waiting;
	struct places places; /* to be opened; before any request that waits */
	struct results done;
};

/* ---- the worker -------------------------------------------------------------------------------- */

static void free_places(struct places *places)
{
	for (size_t i = 0; i < places->count; i++)
		free((char *)places->items[i].path);
	free(places->items);
	*places = (struct places){0};
}

/* The place of the module of that id, with a module, until the next call. NULL: out of memory. */
static struct module_slot *make_slot(struct work *work, uint32_t module_id)
{
	if (module_id >= work->nr_slots) {
		uint32_t nr_slots = (module_id + 16) * 2;
		struct module_slot *slots = realloc(work->slots, nr_slots * sizeof(*slots));

		if (!slots)
			return NULL;
		memset(slots + work->nr_slots, 0,
		       (nr_slots - work->nr_slots) * sizeof(*slots));
		work->slots = slots;
		work->nr_slots = nr_slots;
	}
	struct module_slot *slot = &work->slots[module_id];
	if (!slot->module)
		slot->module = symbol_module_create(&work->scope);
	return slot->module ? slot : NULL;
}

/* Whether nobody uses the module at the moment; one that was left behind may have come back. */
static bool is_free(struct module_slot *slot)
{
	if (slot->left && slot->left->has_returned) {
		module_call_destroy(slot->left);
		slot->left = NULL;
	}
	return !slot->left && !slot->is_busy;
}

/* Takes the call. true: it was made and has come back, and is the caller's; else it is nobody's, or the slot's. */
static bool make_call(struct symbolizer *symbolizer, uint32_t module_id, struct module_call *call,
		      bool (*go_on)(void *context))
{
	struct work *work = &symbolizer->work;
	const struct foreign_patience patience = {work->file_limit_ms, go_on, symbolizer,
						  FILE_SLOW_MS};

	call->module = work->slots[module_id].module;
	call->call.device = work->slots[module_id].device;
	call->call.user = work->slots[module_id].user;
	work->slots[module_id].is_busy = true;
	int r = foreign_call_make(&call->call, &patience);
	work->slots[module_id].is_busy = false; /* there may be more of them by now */
	if (r == -ETIMEDOUT)
		work->slots[module_id].left = call;
	else if (r)
		module_call_give(&work->spare, call);
	return r == 0;
}

/* A look at another user's mappings may take as long as that user likes. */
static uint64_t device_of(const struct symbolizer_module *place)
{
	bool asks = place->pid > 0 && fair_shares_trust(place->owner);
	uint64_t device =
		asks ? job_file_device_mapped(place->pid, place->start, place->end) : 0;

	return device ? device : foreign_file_key(place->path);
}

static void open_place(struct symbolizer *symbolizer, const struct symbolizer_module *place,
		       bool (*go_on)(void *context))
{
	struct work *work = &symbolizer->work;
	struct module_slot *slot = make_slot(work, place->module_id);
	struct module_call *call = slot && is_free(slot) ? module_call_take(&work->spare) : NULL;

	if (!call)
		return;
	slot->device = device_of(place);
	slot->user = place->owner;
	call->opens = true;
	call->place = *place;
	call->path = strdup(place->path);
	call->place.path = call->path;
	call->call.path = call->path;
	if (!call->path || make_call(symbolizer, place->module_id, call, go_on))
		module_call_give(&work->spare, call);
}

static bool is_wanted(void *context)
{
	const struct symbolizer *symbolizer = context;

	return !symbolizer->stop;
}

/* Opens what waits to be opened: files go when their processes do, names can wait. */
static void open_waiting(struct symbolizer *symbolizer)
{
	pthread_mutex_lock(&symbolizer->lock);
	struct places places = symbolizer->places;
	symbolizer->places = (struct places){0};
	pthread_mutex_unlock(&symbolizer->lock);
	for (size_t i = 0; i < places.count && !symbolizer->stop; i++)
		open_place(symbolizer, &places.items[i], is_wanted);
	free_places(&places);
}

/* What is read may take long, from the network for one: files are opened meanwhile. */
static bool open_meanwhile(void *context)
{
	open_waiting(context);
	return is_wanted(context);
}

static const char *keep_text(struct work *work, const char *name, bool is_in_text)
{
	return is_in_text && name ? text_arena_add(work->texts, name, strlen(name)) : name;
}

static const char *look_up(struct symbolizer *symbolizer, const struct request *request)
{
	struct work *work = &symbolizer->work;
	struct module_slot *slot =
		request->module_id < work->nr_slots ? &work->slots[request->module_id] : NULL;
	bool is_in_text;

	if (!slot || !slot->module || !is_free(slot))
		return NULL;
	if (symbol_module_is_in_memory(slot->module))
		return symbol_module_find(slot->module, request->vaddr, work->text,
					  sizeof(work->text), &is_in_text);
	struct module_call *call = module_call_take(&work->spare);
	if (!call)
		return NULL;
	call->vaddr = request->vaddr;
	if (!make_call(symbolizer, request->module_id, call, open_meanwhile))
		return NULL;
	const char *name = keep_text(work, call->name, call->is_in_text);
	module_call_give(&work->spare, call);
	return name;
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
	const struct work *work = &symbolizer->work;
	struct symbolizer_result result = {.frame_id = request->frame_id,
					   .name = look_up(symbolizer, request)};

	if (request->module_id < work->nr_slots)
		result.owner = work->slots[request->module_id].user;

	pthread_mutex_lock(&symbolizer->lock);
	bool first = symbolizer->done.count == 0;
	symbolizer->done.items[symbolizer->done.count++] = result;
	pthread_mutex_unlock(&symbolizer->lock);
	if (first)
		raise_event(symbolizer);
}

/* false: it was stopped. The requests that wait are then in *batch, whose array is used again. */
static bool wait_for_requests(struct symbolizer *symbolizer, struct requests *batch)
{
	if (batch->max > RESULTS_KEPT_MAX) {
		free(batch->items);
		*batch = (struct requests){0};
	}
	struct requests empty = {.items = batch->items, .max = batch->max};

	pthread_mutex_lock(&symbolizer->lock);
	while (!symbolizer->stop && symbolizer->waiting.count == 0 && symbolizer->places.count == 0)
		pthread_cond_wait(&symbolizer->wake, &symbolizer->lock);
	*batch = symbolizer->waiting;
	symbolizer->waiting = empty;
	pthread_mutex_unlock(&symbolizer->lock);
	return !symbolizer->stop;
}

static void *work(void *argument)
{
	struct symbolizer *symbolizer = argument;
	struct requests batch = {0};

	pthread_setname_np(pthread_self(), "symbolizer");
	while (wait_for_requests(symbolizer, &batch)) {
		symbolizer->work.scope.pass++;
		open_waiting(symbolizer);
		for (size_t i = 0; i < batch.count && !symbolizer->stop; i++) {
			open_waiting(symbolizer);
			answer(symbolizer, &batch.items[i]);
		}
	}
	free(batch.items);
	return NULL;
}

/* ---- start and end ----------------------------------------------------------------------------- */

static bool has_left(const struct work *work)
{
	for (uint32_t i = 0; i < work->nr_slots; i++)
		if (work->slots[i].left && !work->slots[i].left->has_returned)
			return true;
	return false;
}

static void destroy_work(struct work *work)
{
	for (uint32_t i = 0; i < work->nr_slots; i++) {
		module_call_destroy(work->slots[i].left);
		symbol_module_destroy(work->slots[i].module);
	}
	free(work->slots);
	module_call_destroy(work->spare);
	symbol_cache_destroy(work->scope.cache);
	debuginfod_source_destroy(work->scope.debuginfod);
	pthread_mutex_destroy(&work->scope.shared_lock);
	text_arena_destroy(work->texts);
	free(work->debug_directory);
}

/* A call that was left behind goes on with all of this once its file system answers. */
static void destroy(struct symbolizer *symbolizer)
{
	if (has_left(&symbolizer->work))
		return;
	destroy_work(&symbolizer->work);
	free_places(&symbolizer->places);
	free(symbolizer->waiting.items);
	free(symbolizer->done.items);
	free(symbolizer->taken.items);
	if (symbolizer->event_fd >= 0)
		close(symbolizer->event_fd);
	pthread_cond_destroy(&symbolizer->wake);
	pthread_mutex_destroy(&symbolizer->lock);
	free(symbolizer);
}

/* Half of the descriptors are for rings and sockets. */
static uint32_t max_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 2 > OPEN_FILES_MAX)
		return OPEN_FILES_MAX;
	return (uint32_t)limit.rlim_cur / 2;
}

static int prepare_work(struct symbolizer *symbolizer, const struct symbolizer_options *options)
{
	struct work *work = &symbolizer->work;
	struct symbol_scope *scope = &work->scope;
	uint32_t limit_ms = options->debuginfod_limit_ms;

	pthread_mutex_init(&scope->shared_lock, NULL);
	work->file_limit_ms = options->file_limit_ms ? options->file_limit_ms : FILE_LIMIT_MS;
	work->texts = text_arena_create();
	if (!work->texts)
		return -ENOMEM;
	if (options->debug_directory) {
		work->debug_directory = strdup(options->debug_directory);
		if (!work->debug_directory)
			return -ENOMEM;
	}
	if (options->cache_directory) {
		scope->cache = symbol_cache_create(options->cache_directory, SYMBOL_CACHE_SIZE_MAX);
		if (!scope->cache)
			return -ENOMEM;
	}
	scope->cached_symbols_min =
		options->cached_symbols_min ? options->cached_symbols_min : CACHED_SYMBOLS_MIN;
	scope->inlines = options->inlines;
	scope->debug_directory = work->debug_directory;
	scope->max_open = max_open_files();
	scope->debuginfod = debuginfod_source_create(limit_ms ? limit_ms : DEBUGINFOD_LIMIT_MS,
						     is_wanted, symbolizer);
	return 0;
}

int symbolizer_start(const struct symbolizer_options *options, struct symbolizer **symbolizer)
{
	struct symbolizer *new_symbolizer = calloc(1, sizeof(*new_symbolizer));

	*symbolizer = NULL;
	if (!new_symbolizer)
		return -ENOMEM;
	pthread_mutex_init(&new_symbolizer->lock, NULL);
	pthread_cond_init(&new_symbolizer->wake, NULL);
	new_symbolizer->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = new_symbolizer->event_fd < 0 ? -errno : prepare_work(new_symbolizer, options);
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

/* ---- the loop's side --------------------------------------------------------------------------- */

/* Takes place->path on success. */
static int push_place(struct places *places, const struct symbolizer_module *place)
{
	if (places->count == places->max) {
		size_t max = places->max * 2 + 16;
		struct symbolizer_module *items = realloc(places->items, max * sizeof(*items));

		if (!items)
			return -ENOMEM;
		places->items = items;
		places->max = max;
	}
	places->items[places->count++] = *place;
	return 0;
}

int symbolizer_add_module(struct symbolizer *symbolizer, const struct symbolizer_module *module)
{
	struct symbolizer_module place = *module;
	char *path = strndup(module->path, PATH_MAX - 1);

	if (!path)
		return -ENOMEM;
	place.path = path;
	pthread_mutex_lock(&symbolizer->lock);
	int r = push_place(&symbolizer->places, &place);
	pthread_cond_signal(&symbolizer->wake);
	pthread_mutex_unlock(&symbolizer->lock);
	if (r)
		free(path);
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

/* All answers were collected: room for many was needed once. */
static void give_room_back(struct symbolizer *symbolizer)
{
	if (symbolizer->taken.max <= RESULTS_KEPT_MAX)
		return;
	free(symbolizer->taken.items);
	symbolizer->taken = (struct results){0};
	symbolizer->taken_at = 0;
	pthread_mutex_lock(&symbolizer->lock);
	free(symbolizer->done.items);
	symbolizer->done = (struct results){0};
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
	if (symbolizer_idle(symbolizer))
		give_room_back(symbolizer);
	return (uint32_t)count;
}

bool symbolizer_idle(const struct symbolizer *symbolizer)
{
	return symbolizer->nr_requested == symbolizer->nr_collected;
}
