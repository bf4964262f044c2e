/* Compares, at each launch of a real program, the stacks that the guest takes with those of others: native frames with
 * backtrace(), Python frames with the interpreter's own (agreement_python.h), recognised stacks with walked ones. An
 * injection library of its own, in the guest's place.
 * Use: CUDA_INJECTION64_PATH=libstack_agreement.so AGREEMENT_CUPTI=LIBCUPTI PROGRAM
 * Writes its totals to stderr at exit, and the first differences. AGREEMENT_TO=FILE: writes them there. Other stacks than
 * whole ones are cut by the depth cap, or differ. */
#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agreement_python.h"

#include "inject/base/definition_writer.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_cbid.h"
#include "inject/launch/stack_capture.h"
#include "inject/module_watch.h"
#include "proto/ring/record_ring.h"
#include "proto/stack_word.h"
#include "unwind/unwind_table.h"

#define FRAMES_MAX       512
#define DIFFERENCES_TOLD 10u
#define LOOK_MS          10

int InitializeInjection(void);

static const char *const modes[] = {"leaf", "native", "full"};
enum { MODES = sizeof(modes) / sizeof(*modes), MODE_NATIVE = 1 };

static struct cupti_library cupti;
static struct record_ring *guest, *agent;
static struct python_frames *python;
static struct python_texts *texts;
static struct stack_capture walks[MODES], recognises[MODES];
static struct module_watch *watch;
static FILE *out;
static atomic_bool has_oracle; /* the interpreter's own frames can be asked for */

/* A launch counts where no file came or went and no table was missing meanwhile. */
static struct totals {
	uint64_t launches, counted, unready;
	uint64_t recognised[MODES], stacks_differ;
	uint64_t native_frames, native_whole, native_differ;
	uint64_t python_stacks, python_frames, python_differ, pythonless;
} totals;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* totals, and all captures */

/* One of each mode, so that one's trail is not another's. */
struct thread {
	struct stack_scratch walk[MODES], known[MODES];
};
static _Thread_local struct thread *own;

static void complain(uint64_t *count, const char *what, const char *detail)
{
	if (++*count <= DIFFERENCES_TOLD)
		fprintf(out, "differs: %s: %s\n", what, detail);
}

/* The walk of each mode, and its recognition. All come from one place, and so does backtrace(). ids[MODES][2]. */
static __attribute__((noinline)) int take(struct thread *thread, uint32_t (*ids)[2],
					  void **addresses)
{
	for (volatile int i = 0; i < 2 * MODES; i++)
		ids[i / 2][i % 2] =
			stack_capture_take(i % 2 ? &recognises[i / 2] : &walks[i / 2],
					   i % 2 ? &thread->known[i / 2] : &thread->walk[i / 2], 1);
	int nr = backtrace(addresses, FRAMES_MAX);

	__asm__ volatile("" ::: "memory"); /* no jump in place of the call */
	return nr;
}

/* The first frame is take()'s own, where both stand at different calls. */
static void compare_native(const uint64_t *words, int nr, void *const *addresses, int nr_addresses)
{
	char detail[128];
	int same = 1;

	while (same < nr && same < nr_addresses &&
	       words[same] == (uint64_t)(uintptr_t)addresses[same])
		same++;
	totals.native_frames += (uint64_t)same - 1;
	const bool cut = nr > 0 && words[nr - 1] == stack_word_mark(STACK_MARK_TRUNCATED);
	if (same == nr && same == nr_addresses) {
		totals.native_whole++;
	} else if (!cut || same < nr - 1) {
		snprintf(detail, sizeof(detail),
			 "after %d of %d frames: %" PRIx64 ", backtrace() has %d: %p", same, nr,
			 same < nr ? words[same] : 0, nr_addresses,
			 same < nr_addresses ? addresses[same] : NULL);
		complain(&totals.native_differ, "native frames", detail);
	}
}

struct expected {
	struct python_frame frames[FRAMES_MAX];
	uint32_t nr, next;
	bool differs;
	char detail[512];
};

static bool is_text(const char *text, const char *bytes, uint32_t size)
{
	return text && strlen(text) == size && memcmp(text, bytes, size) == 0;
}

static void compare_frame(void *user, const char *file, const char *name, int line)
{
	struct expected *expected = user;
	struct record_ring_code code = {0};

	if (expected->differs)
		return;
	while (expected->next < expected->nr && expected->frames[expected->next].incomplete)
		expected->next++;
	uint64_t word =
		expected->next < expected->nr
			? python_frames_word(python, &texts, &expected->frames[expected->next++])
			: 0;
	const uint32_t code_id = (uint32_t)(word >> STACK_WORD_LINE_BITS);
	if (word && stack_word_is_python(word) &&
	    record_ring_read_code(agent, code_id, &code) == 0 &&
	    is_text(file, code.file, code.file_size) && is_text(name, code.name, code.name_size) &&
	    (int)(word & STACK_WORD_LINE_MAX) == line)
		return;
	expected->differs = true;
	snprintf(expected->detail, sizeof(expected->detail), "%.*s:%.*s:%d, expected %s:%s:%d",
		 (int)code.file_size, code.file, (int)code.name_size, code.name,
		 (int)(word & STACK_WORD_LINE_MAX), file ? file : "?", name ? name : "?", line);
}

static void compare_python(void)
{
	static struct expected expected;
	bool cut;

	expected.nr = python_frames_walk(python, python_frames_first(python), expected.frames,
					 FRAMES_MAX, &cut);
	expected.next = 0;
	expected.differs = false;
	uint32_t nr = agreement_python_frames(compare_frame, &expected);
	while (expected.next < expected.nr && expected.frames[expected.next].incomplete)
		expected.next++;
	if (!expected.differs && expected.next != expected.nr) {
		expected.differs = true;
		snprintf(expected.detail, sizeof(expected.detail), "%u frames more than %u",
			 expected.nr - expected.next, nr);
	}
	totals.python_stacks++;
	totals.python_frames += nr;
	if (expected.differs)
		complain(&totals.python_differ, "Python frames", expected.detail);
}

static bool is_unready(const uint64_t *words, int nr)
{
	for (int i = 0; i < nr; i++)
		if (words[i] == stack_word_mark(STACK_MARK_MISSING))
			return true;
	return false;
}

static void compare(struct thread *thread)
{
	const enum python_state state = python_frames_state(python);
	uint32_t ids[MODES][2], epoch = unwind_tables_epoch(walks[0].tables);
	uint64_t words[RECORD_STACK_DEPTH], hits[MODES];
	void *addresses[FRAMES_MAX];

	for (int i = 0; i < MODES; i++)
		hits[i] = thread->known[i].known.hits;
	int nr_addresses = take(thread, ids, addresses);
	int nr = record_ring_read_stack(agent, ids[MODE_NATIVE][0], words);
	if (epoch != unwind_tables_epoch(walks[0].tables) || state != python_frames_state(python) ||
	    nr < 0 || is_unready(words, nr)) {
		totals.unready++;
		return;
	}
	totals.counted++;
	for (int i = 0; i < MODES; i++) {
		totals.recognised[i] += thread->known[i].known.hits - hits[i];
		if (ids[i][0] != ids[i][1])
			complain(&totals.stacks_differ, "a recognised stack", modes[i]);
	}
	compare_native(words, nr, addresses, nr_addresses);
}

/* The GIL comes before the mutex, so that no thread waits for it with the mutex. */
static void look(void)
{
	if (!own) {
		own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
		if (own == MAP_FAILED)
			abort();
	}
	const bool is_ready =
		python_frames_state(python) == PYTHON_READY && atomic_load(&has_oracle);
	const int state = is_ready ? agreement_python_enter() : -1;
	pthread_mutex_lock(&mutex);
	totals.launches++;
	compare(own);
	if (state >= 0)
		compare_python();
	else
		totals.pythonless++;
	pthread_mutex_unlock(&mutex);
	if (state >= 0)
		agreement_python_leave(state);
}

static void called(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	const struct cupti_callback_data *call = data;

	(void)user, (void)domain;
	if (call->site == CUPTI_ABI_API_ENTER && launch_cbid_is_launch(cbid))
		look();
}

/* Follows the loader, as the guest's helper thread does, which no callback may do. */
static void *follow(void *unused)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};

	for (;;) {
		module_watch_poll(watch, false);
		unwind_tables_build(walks[0].tables, UNWIND_BUILD_ALL);
		if (python_frames_find(python) == PYTHON_READY && !atomic_load(&has_oracle))
			atomic_store(&has_oracle, agreement_python_find());
		nanosleep(&pause, NULL);
	}
	return unused;
}

static void tell(void)
{
	pthread_mutex_lock(&mutex);
	fprintf(out,
		"agreement: %" PRIu64 " launches, %" PRIu64
		" of them while files came or tables were missing\n",
		totals.launches, totals.unready);
	fprintf(out, "agreement: %" PRIu64 " stacks, taken in three modes (", totals.counted);
	for (int i = 0; i < MODES; i++)
		fprintf(out, "%s%s: %" PRIu64, i ? ", " : "", modes[i], totals.recognised[i]);
	fprintf(out, " recognised), %" PRIu64 " unlike a walk\n", totals.stacks_differ);
	fprintf(out,
		"agreement: %" PRIu64 " native frames in %" PRIu64 " whole and %" PRIu64
		" other stacks, %" PRIu64 " unlike backtrace()\n",
		totals.native_frames, totals.native_whole, totals.counted - totals.native_whole,
		totals.native_differ);
	fprintf(out,
		"agreement: %" PRIu64 " Python frames in %" PRIu64 " stacks, %" PRIu64
		" unlike the interpreter's; %" PRIu64 " launches without Python\n",
		totals.python_frames, totals.python_stacks, totals.python_differ,
		totals.pythonless);
	fflush(out);
	pthread_mutex_unlock(&mutex);
}

static bool set_up(void)
{
	static struct definition_writer writer;
	int fd;

	if (record_ring_create(&RECORD_RING_SIZES_DEFAULT, &guest, &fd) < 0 ||
	    record_ring_map(fd, &agent) < 0)
		return false;
	close(fd);
	writer = DEFINITION_WRITER_INIT(guest);
	python = python_frames_create(guest);
	walks[0] = (struct stack_capture){
		.ring = guest,
		.stacks = stack_table_create(guest),
		.tables = unwind_tables_create(UNWIND_BYTES_MAX),
		.python = python,
	};
	watch = module_watch_create(&writer, walks[0].tables);
	for (int i = 0; i < MODES; i++) {
		recognises[i] = walks[0];
		recognises[i].walks_always = false;
		stack_options_parse(modes[i], &recognises[i].options);
		walks[i] = recognises[i];
		walks[i].walks_always = true;
	}
	return python && watch && walks[0].stacks && walks[0].tables;
}

static bool subscribe(const char *path)
{
	void *subscriber;

	if (!path || cupti_library_open(path, false, &cupti) < 0 ||
	    cupti.subscribe(&subscriber, called, NULL) != 0)
		return false;
	for (size_t i = 0; i < LAUNCH_CBIDS; i++)
		if (launch_cbid_is_launch(launch_cbids[i].cbid) &&
		    cupti.enable_callback(1, subscriber, CUPTI_ABI_DOMAIN_DRIVER,
					  launch_cbids[i].cbid) != 0)
			return false;
	return true;
}

/* Called by the driver, once. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
	const char *to = getenv("AGREEMENT_TO");
	pthread_t thread;
	void *first[1];

	out = to ? fopen(to, "w") : stderr;
	backtrace(first, 1); /* its first call loads a library */
	if (!out || !set_up() || !subscribe(getenv("AGREEMENT_CUPTI")) ||
	    pthread_create(&thread, NULL, follow, NULL) != 0) {
		fprintf(stderr, "stack_agreement: cannot begin\n");
		return 0;
	}
	atexit(tell);
	return 1;
}
