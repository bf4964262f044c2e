/* Libraries take each other's place while threads walk through them. The two libraries' paths are
 * the arguments. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "loaded_segments.h"
#include "unwind/unwind_table.h"
#include "unwind_check.h"

#define THREADS     3
#define ROUNDS      200
#define WALKS       40u /* a thread and phase */
#define STACK_BYTES (1u << 20)

typedef void plugin_function(void (*function)(void *), void *user, int levels);

struct worker {
	pthread_t thread;
	char *stack;
	struct unwind_check check; /* walks that must be right */
	struct unwind_check stale; /* walks between the loader's change and the tables' */
	uint32_t done;             /* in this phase */
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	pthread_rwlock_t library; /* held for writing while it changes */
	plugin_function *call;
	bool tables_known;
	atomic_bool stop;
	uint32_t phase;
} shared = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.moved = PTHREAD_COND_INITIALIZER,
	.library = PTHREAD_RWLOCK_INITIALIZER,
};

static const char *paths[2];
static struct unwind_tables *tables;
static struct worker workers[THREADS];

static void look(void *user)
{
	unwind_check_here(user);
	__asm__ volatile("" ::: "memory");
}

static void *walk(void *user)
{
	struct worker *worker = user;
	uint32_t phase = 0;

	for (int i = 0; !shared.stop; i++) {
		pthread_rwlock_rdlock(&shared.library);
		shared.call(look, shared.tables_known ? &worker->check : &worker->stale, i % 7);
		pthread_rwlock_unlock(&shared.library);
		pthread_mutex_lock(&shared.mutex);
		if (phase != shared.phase) {
			phase = shared.phase;
			worker->done = 0;
		}
		if (++worker->done == WALKS)
			pthread_cond_broadcast(&shared.moved);
		/* Not faster than the phases: a writer would starve. */
		while (worker->done >= WALKS && phase == shared.phase && !shared.stop)
			pthread_cond_wait(&shared.moved, &shared.mutex);
		pthread_mutex_unlock(&shared.mutex);
	}
	return NULL;
}

/* Until every thread has walked in the phase that begins here. */
static void pass_phase(void)
{
	pthread_mutex_lock(&shared.mutex);
	shared.phase++;
	for (int i = 0; i < THREADS; i++)
		workers[i].done = 0;
	pthread_cond_broadcast(&shared.moved);
	for (int i = 0; i < THREADS; i++)
		while (workers[i].done < WALKS)
			pthread_cond_wait(&shared.moved, &shared.mutex);
	pthread_mutex_unlock(&shared.mutex);
}

static void *load(int which, struct unwind_module *module)
{
	void *library = dlopen(paths[which], RTLD_NOW | RTLD_LOCAL);

	if (!library)
		fail_msg("%s", dlerror());
	*(void **)&shared.call = dlsym(library, "plugin_call");
	assert_true(loaded_segment_at((const void *)(uintptr_t)shared.call, module));
	return library;
}

static void start(struct worker *worker)
{
	pthread_attr_t attributes;

	worker->stack = malloc(STACK_BYTES);
	worker->stale.quiet = true; /* it may be wrong */
	worker->check.tables = worker->stale.tables = tables;
	worker->check.high = worker->stale.high = (uint64_t)(uintptr_t)worker->stack + STACK_BYTES;
	worker->check.seed = worker->stale.seed = 7 + (uint64_t)(worker - workers);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, worker->stack, STACK_BYTES);
	assert_int_equal(pthread_create(&worker->thread, &attributes, walk, worker), 0);
	pthread_attr_destroy(&attributes);
}

static void stop_all(void)
{
	pthread_mutex_lock(&shared.mutex);
	shared.stop = true;
	pthread_cond_broadcast(&shared.moved);
	pthread_mutex_unlock(&shared.mutex);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		free(workers[i].stack);
	}
}

static void replaced_library_is_walked_rightly_once_the_tables_know(void **state)
{
	struct unwind_module module, before;
	uint64_t walks = 0, stale = 0, same_place = 0, held = 0;
	void *library = load(0, &module);

	(void)state;
	for (int i = 0; i < THREADS; i++)
		start(&workers[i]);
	for (int round = 1; round <= ROUNDS; round++) {
		/* Another library, and the tables do not know: any stack, but no fault. */
		pthread_rwlock_wrlock(&shared.library);
		before = module;
		dlclose(library);
		library = load(round % 2, &module);
		same_place += module.start == before.start;
		shared.tables_known = false;
		pthread_rwlock_unlock(&shared.library);
		pass_phase();

		/* While walks go on. */
		unwind_tables_retire(tables, before.start);
		loaded_segments_enter(tables);
		unwind_tables_build(tables, UNWIND_BUILD_ALL);
		pthread_rwlock_wrlock(&shared.library);
		shared.tables_known = true;
		pthread_rwlock_unlock(&shared.library);
		pass_phase();
	}
	stop_all();
	for (int i = 0; i < THREADS; i++) {
		walks += workers[i].check.walks;
		stale += workers[i].stale.walks;
		assert_int_equal(workers[i].check.disagreements, 0);
		assert_int_equal(workers[i].check.record.disagreements, 0);
		assert_int_equal(workers[i].check.record.stale, 0);
		assert_int_equal(workers[i].stale.record.disagreements, 0);
		held += workers[i].check.record.held;
		assert_int_equal(workers[i].check.not_ready, 0);
	}
	printf("%lu walks compared, %lu with stale tables, %lu of %d libraries at the same place; "
	       "records held %lu times\n",
	       walks, stale, same_place, ROUNDS, held);
	assert_true(held > walks / 2);
	assert_true(walks >= (uint64_t)THREADS * (WALKS - 1) * ROUNDS);
	assert_true(same_place > 0);
	dlclose(library);
}

static int set_up(void **state)
{
	struct unwind_check *first = calloc(1, sizeof(*first));

	(void)state;
	tables = unwind_tables_create(UNWIND_BYTES_MAX);
	assert_non_null(tables);
	first->tables = tables;
	unwind_check_here(first); /* which loads what backtrace() needs */
	loaded_segments_enter(tables);
	unwind_tables_build(tables, UNWIND_BUILD_ALL);
	free(first);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unwind_tables_destroy(tables);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaced_library_is_walked_rightly_once_the_tables_know),
	};

	if (argc != 3)
		return 2;
	paths[0] = argv[1];
	paths[1] = argv[2];
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
