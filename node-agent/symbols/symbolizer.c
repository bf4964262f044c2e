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
#include "line_shares.h"
#include "module_call.h"
#include "symbol_cache.h"
#include "symbol_module.h"
#include "symbol_queue.h"
#include "text_arena.h"
#include "turn_lock.h"

#include "base/array.h"
#include "base/clock.h"
#include "node-agent/base/agent_task.h"
#include "node-agent/base/trusted_user.h"
#include "node-agent/files/foreign_call.h"
#include "node-agent/files/foreign_file.h"
#include "node-agent/files/permitted_file.h"

#define DEBUGINFOD_LIMIT_MS 20000u
#define CACHED_SYMBOLS_MIN  5000u /* a smaller table is made again as fast as it is read */
#define RESULTS_KEPT_MAX    256u  /* room for answers that is kept while no request is open */
#define OPEN_FILES_MAX      512u
#define FILE_LIMIT_MS       2000u
#define FILE_SLOW_MS        60000u /* for one file that answers slowly */
#define TURN_LOOKS_MAX      50u    /* of FOREIGN_CALL_LOOK_MS, while a file of a line is read */

/* A growing array. The worker hands over the whole array, so that the lock is held only for an instant. */
struct results {
	struct symbolizer_result *items; /* owns */
	size_t count;
	uint32_t max;
};

struct module_slot {
	struct symbol_module *module; /* owns; NULL: none */
	struct module_call *left;     /* owns; uses the module until it has returned. NULL: none */
	bool is_busy;
	uint64_t device; /* user and device of foreign_call.h */
	uid_t user;
};

/* Only the worker that has the turn touches this. */
struct work {
	struct symbol_scope scope; /* owns its pointers; foreign calls use it, too */
	struct module_slot *slots; /* owns; module_id < nr_slots */
	uint32_t nr_slots;
	uint32_t file_limit_ms;
	struct text_arena *texts;  /* owns */
	char *debug_directory;     /* owns */
	struct module_call *spare; /* owns; for the next call; NULL: the next call allocates one */
};

/* Workers take turns. The worker that has the turn keeps it while a file of its line is read. Once the reading thread
 * sleeps, or has run for TURN_LOOKS_MAX, the turn goes to another worker, which serves another user. */
struct symbolizer {
	int event_fd;
	uint64_t nr_collected; /* loop only, as nr_requested */
	struct results taken;
	size_t taken_at;
	struct work work; /* the worker with the turn uses it */
	struct turn_lock turn;
	atomic_bool stop;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t wake, ended;
	uint32_t nr_workers, nr_idle;
	struct symbol_queue queue;
	struct results done;
};

struct worker {
	struct symbolizer *symbolizer;
	struct symbol_line *line; /* the line that the worker serves */
	bool has_turn;
	uint32_t nr_looks; /* at the reading thread, since it has the turn */
};

/* ---- turns --------------------------------------------------------------------------------------- */

static void take_turn(struct worker *worker)
{
	turn_lock_take(&worker->symbolizer->turn);
	worker->has_turn = true;
	worker->nr_looks = 0;
}

static void *work(void *argument);

/* Needs the lock. If no thread can be started, the existing workers serve all lines in turn. */
static int start_worker(struct symbolizer *symbolizer)
{
	pthread_t thread;
	int r = -pthread_create(&thread, NULL, work, symbolizer);

	symbolizer->nr_workers += r == 0;
	return r;
}

/* Needs the lock. Waiting work needs a worker, unless the worker with the turn will see it. */
static void call_worker(struct symbolizer *symbolizer)
{
	if (!turn_lock_is_free(&symbolizer->turn) || !symbol_queue_waits(&symbolizer->queue))
		return;
	if (symbolizer->nr_idle > 0)
		pthread_cond_signal(&symbolizer->wake);
	else if (symbolizer->nr_workers < SYMBOL_QUEUE_SERVED_MAX)
		start_worker(symbolizer);
}

static void give_turn(struct worker *worker)
{
	struct symbolizer *symbolizer = worker->symbolizer;

	worker->has_turn = false;
	turn_lock_give(&symbolizer->turn);
	pthread_mutex_lock(&symbolizer->lock);
	call_worker(symbolizer);
	pthread_mutex_unlock(&symbolizer->lock);
}

static bool is_wanted(void *context)
{
	const struct symbolizer *symbolizer = context;

	return !symbolizer->stop;
}

/* Called while a file of the worker's line is read. Returns false if the file is not wanted any more. */
static bool let_others(void *context, bool asleep)
{
	struct worker *worker = context;

	if (worker->has_turn && (asleep || ++worker->nr_looks >= TURN_LOOKS_MAX))
		give_turn(worker);
	return is_wanted(worker->symbolizer);
}

/* ---- the worker -------------------------------------------------------------------------------- */

/* Returns the module's slot, and creates the module if needed. Borrowed until the next call. NULL: out of memory. */
static struct module_slot *make_slot(struct work *work, uint32_t module_id)
{
	if (array_reserve_zeroed(&work->slots, &work->nr_slots, module_id + 1ul,
				 sizeof(*work->slots)))
		return NULL;
	struct module_slot *slot = &work->slots[module_id];
	if (!slot->module)
		slot->module = symbol_module_create(&work->scope);
	return slot->module ? slot : NULL;
}

/* Returns whether no call uses the module. A call that was left behind may have come back. */
static bool is_free(struct module_slot *slot)
{
	if (slot->left && slot->left->has_returned) {
		module_call_destroy(slot->left);
		slot->left = NULL;
	}
	return !slot->left && !slot->is_busy;
}

static bool open_meanwhile(void *context, bool asleep);

/* Returns true if the call came back; the caller then owns it. Else the slot owns it, or it was given back. */
static bool make_call(struct worker *worker, uint32_t module_id, struct module_call *call)
{
	struct work *work = &worker->symbolizer->work;
	const struct foreign_patience patience = {work->file_limit_ms,
						  call->opens ? let_others : open_meanwhile, worker,
						  FILE_SLOW_MS};

	call->module = work->slots[module_id].module;
	call->call.device = work->slots[module_id].device;
	call->call.user = work->slots[module_id].user;
	work->slots[module_id].is_busy = true;
	int r = foreign_call_make(&call->call, &patience);
	if (!worker->has_turn)
		take_turn(worker);
	work->slots[module_id].is_busy = false; /* the array may have moved */
	if (r == -ETIMEDOUT)
		work->slots[module_id].left = call;
	else if (r)
		module_call_give(&work->spare, call);
	return r == 0;
}

/* Reading another user's mappings may take as long as that user likes. */
static uint64_t device_of(const struct symbolizer_module *place)
{
	bool asks = place->pid > 0 && trusted_user(place->owner);
	uint64_t device =
		asks ? permitted_file_device_mapped(place->pid, place->start, place->end) : 0;

	return device ? device : foreign_file_key(place->path);
}

static void open_place(struct worker *worker, const struct symbolizer_module *place)
{
	struct work *work = &worker->symbolizer->work;
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
	if (!call->path || make_call(worker, place->module_id, call))
		module_call_give(&work->spare, call);
}

/* Opens the next file of the worker's line. Returns false if none waits. */
static bool open_next(struct worker *worker)
{
	struct symbolizer_module place;

	pthread_mutex_lock(&worker->symbolizer->lock);
	bool found = symbol_line_place(worker->line, &place);
	pthread_mutex_unlock(&worker->symbolizer->lock);
	if (!found)
		return false;
	if (!worker->has_turn)
		take_turn(worker);
	open_place(worker, &place);
	free((char *)place.path);
	return true;
}

/* Reading may take long, for example from the network. Meanwhile the line's other files are opened: they vanish with
 * their processes, while names can wait. */
static bool open_meanwhile(void *context, bool asleep)
{
	struct worker *worker = context;

	while (!worker->symbolizer->stop && open_next(worker))
		;
	return let_others(worker, asleep);
}

static const char *keep_text(struct work *work, const char *name, bool is_in_text)
{
	return is_in_text && name ? text_arena_add(work->texts, name, strlen(name)) : name;
}

static const char *look_up(struct worker *worker, const struct symbol_request *request)
{
	struct work *work = &worker->symbolizer->work;
	struct module_slot *slot =
		request->module_id < work->nr_slots ? &work->slots[request->module_id] : NULL;
	bool is_in_text;

	if (!slot || !slot->module || !is_free(slot))
		return NULL;
	if (symbol_module_is_in_memory(slot->module))
		return symbol_module_find(slot->module, request, NULL, 0, &is_in_text);
	struct module_call *call = module_call_take(&work->spare);
	if (!call)
		return NULL;
	call->request = *request;
	if (!make_call(worker, request->module_id, call))
		return NULL;
	const char *name = keep_text(work, call->name, call->is_in_text);
	module_call_give(&work->spare, call);
	return name;
}

static void raise_event(struct symbolizer *symbolizer)
{
	uint64_t one = 1;

	if (write(symbolizer->event_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full, so the descriptor is already readable */
}

/* symbolizer_request() makes room for the answer before a worker can take the request, so no answer is lost. */
static void answer(struct worker *worker, const struct symbol_request *request)
{
	struct symbolizer *symbolizer = worker->symbolizer;
	const struct work *work = &symbolizer->work;
	struct symbolizer_result result = {.frame_id = request->frame_id,
					   .name = look_up(worker, request)};

	if (request->module_id < work->nr_slots)
		result.owner = work->slots[request->module_id].user;

	pthread_mutex_lock(&symbolizer->lock);
	bool first = symbolizer->done.count == 0;
	symbolizer->done.items[symbolizer->done.count++] = result;
	pthread_mutex_unlock(&symbolizer->lock);
	if (first)
		raise_event(symbolizer);
}

/* Does the next task or answers the next request. While a task runs, another worker may have the turn. */
static void serve_next(struct worker *worker)
{
	struct symbolizer *symbolizer = worker->symbolizer;
	struct symbol_request request;

	pthread_mutex_lock(&symbolizer->lock);
	struct agent_task *task = symbol_line_task(worker->line);
	bool found = !task && symbol_line_request(worker->line, &request);
	pthread_mutex_unlock(&symbolizer->lock);
	if (task) {
		give_turn(worker);
		task->run(task, true);
	}
	if (found)
		answer(worker, &request);
}

/* Needs the lock. Returns NULL if the worker is to end: the symbolizer stops, or another worker waits already. */
static struct symbol_line *wait_for_line(struct symbolizer *symbolizer)
{
	struct symbol_line *line = NULL;

	while (!symbolizer->stop && !(line = symbol_queue_take(&symbolizer->queue)) &&
	       symbolizer->nr_idle == 0) {
		symbolizer->nr_idle++;
		pthread_cond_wait(&symbolizer->wake, &symbolizer->lock);
		symbolizer->nr_idle--;
	}
	return line;
}

static void *work(void *argument)
{
	struct symbolizer *symbolizer = argument;
	struct worker worker = {.symbolizer = symbolizer};

	pthread_detach(pthread_self());
	pthread_setname_np(pthread_self(), "symbolizer");
	pthread_mutex_lock(&symbolizer->lock);
	while ((worker.line = wait_for_line(symbolizer))) {
		pthread_mutex_unlock(&symbolizer->lock);
		/* A worker does one thing a turn, so that no user waits for all work of another user. */
		take_turn(&worker);
		if (!open_next(&worker))
			serve_next(&worker);
		if (worker.has_turn)
			give_turn(&worker);
		pthread_mutex_lock(&symbolizer->lock);
		symbol_queue_give(&symbolizer->queue, worker.line);
	}
	symbolizer->nr_workers--;
	pthread_cond_signal(&symbolizer->ended);
	pthread_mutex_unlock(&symbolizer->lock);
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
	line_shares_destroy(work->scope.line_shares);
	text_arena_destroy(work->texts);
	free(work->debug_directory);
}

/* A call that was left behind still uses this memory, so the memory is then not freed. */
static void destroy(struct symbolizer *symbolizer)
{
	if (has_left(&symbolizer->work))
		return;
	destroy_work(&symbolizer->work);
	symbol_queue_fini(&symbolizer->queue);
	free(symbolizer->done.items);
	free(symbolizer->taken.items);
	if (symbolizer->event_fd >= 0)
		close(symbolizer->event_fd);
	pthread_cond_destroy(&symbolizer->wake);
	turn_lock_fini(&symbolizer->turn);
	pthread_cond_destroy(&symbolizer->ended);
	pthread_mutex_destroy(&symbolizer->lock);
	free(symbolizer);
}

/* The other half of the descriptors is for rings and sockets. */
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

	work->file_limit_ms = options->file_limit_ms ? options->file_limit_ms : FILE_LIMIT_MS;
	work->texts = text_arena_create();
	scope->line_shares = line_shares_create();
	if (!work->texts || !scope->line_shares)
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
	turn_lock_init(&new_symbolizer->turn);
	pthread_cond_init(&new_symbolizer->ended, NULL);
	new_symbolizer->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = new_symbolizer->event_fd < 0 ? -errno : prepare_work(new_symbolizer, options);
	if (r == 0)
		r = start_worker(new_symbolizer);
	if (r) {
		destroy(new_symbolizer);
		return r;
	}
	*symbolizer = new_symbolizer;
	return 0;
}

void symbolizer_stop(struct symbolizer *symbolizer, uint32_t wait_ms)
{
	const struct timespec until = clock_in(CLOCK_REALTIME, wait_ms * 1000000ull);

	if (!symbolizer)
		return;
	pthread_mutex_lock(&symbolizer->lock);
	symbolizer->stop = true;
	pthread_cond_broadcast(&symbolizer->wake);
	while (symbolizer->nr_workers > 0 &&
	       pthread_cond_timedwait(&symbolizer->ended, &symbolizer->lock, &until) == 0)
		;
	uint32_t nr_left = symbolizer->nr_workers;
	pthread_mutex_unlock(&symbolizer->lock);
	if (nr_left == 0)
		destroy(symbolizer);
}

int symbolizer_fd(const struct symbolizer *symbolizer)
{
	return symbolizer->event_fd;
}

/* ---- the loop's side --------------------------------------------------------------------------- */

int symbolizer_add_module(struct symbolizer *symbolizer, const struct symbolizer_module *module)
{
	pthread_mutex_lock(&symbolizer->lock);
	int r = symbol_queue_add_place(&symbolizer->queue, module);
	call_worker(symbolizer);
	pthread_mutex_unlock(&symbolizer->lock);
	return r;
}

int symbolizer_request(struct symbolizer *symbolizer, uint32_t frame_id, uint32_t module_id,
		       uint64_t vaddr)
{
	atomic_ullong *nr_requested = &symbolizer->work.scope.nr_requested;
	const struct symbol_request request = {frame_id, module_id, vaddr, *nr_requested + 1};
	uint64_t open = request.number - symbolizer->nr_collected;

	pthread_mutex_lock(&symbolizer->lock);
	int r = array_reserve(&symbolizer->done.items, &symbolizer->done.max, open,
			      sizeof(*symbolizer->done.items));
	if (r == 0)
		r = symbol_queue_add_request(&symbolizer->queue, &request);
	if (r == 0)
		*nr_requested = request.number;
	call_worker(symbolizer);
	pthread_mutex_unlock(&symbolizer->lock);
	return r;
}

int symbolizer_give(struct symbolizer *symbolizer, uid_t user, struct agent_task *task)
{
	pthread_mutex_lock(&symbolizer->lock);
	int r = symbol_queue_add_task(&symbolizer->queue, user, task);
	call_worker(symbolizer);
	pthread_mutex_unlock(&symbolizer->lock);
	return r;
}

/* Swaps the collected array for the full array, and gives it equal room, on which the open requests rely. */
static void take_results(struct symbolizer *symbolizer)
{
	struct results *taken = &symbolizer->taken;
	uint64_t counter;

	if (read(symbolizer->event_fd, &counter, sizeof(counter)) < 0)
		return; /* nothing waits */
	pthread_mutex_lock(&symbolizer->lock);
	if (array_reserve(&taken->items, &taken->max, symbolizer->done.max,
			  sizeof(*taken->items)) == 0) {
		struct results empty = {.items = taken->items, .max = taken->max};

		*taken = symbolizer->done;
		symbolizer->done = empty;
		symbolizer->taken_at = 0;
	} else {
		raise_event(symbolizer); /* the next call takes them */
	}
	pthread_mutex_unlock(&symbolizer->lock);
}

/* Frees room that only a burst of requests needed, once all answers were collected. */
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
	return symbolizer->work.scope.nr_requested == symbolizer->nr_collected;
}
