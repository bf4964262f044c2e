/* The guest's reading of Python frames as a library of its own, for python_frames_test.py, which
 * loads it into an interpreter with ctypes and compares. Needs no header of Python's. Not part of
 * the guest. Any thread. */
#include <execinfo.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/base/definition_writer.h"
#include "inject/launch/stack_capture.h"
#include "inject/module_watch.h"
#include "proto/ring/record_ring.h"
#include "python/python_frames.h"
#include "unwind/unwind_table.h"

#define PROBE __attribute__((visibility("default")))

#define FRAMES_MAX      2048
#define FLAG_END        1
#define FLAG_INCOMPLETE 2

int probe_open(void);
int probe_find(void);
int probe_state(void);
const char *probe_text(void);
int probe_ambiguous(void);
int probe_loop_ranges(uint64_t *bytes);
int probe_walk(uint64_t *words, uint64_t *keys, uint8_t *flags, int max, int *loops);
void probe_walk_forever(int fd);
int probe_code(uint32_t code_id, char *file, char *name);
double probe_time(int rounds, int what);
void probe_captures(uint64_t *captures, uint64_t *recognised, uint64_t *differ);

static struct record_ring *guest, *agent;
static struct python_frames *python;
static __thread struct python_texts *texts;

/* Whole stacks, each walked and then, if it can be, recognised. One thread at a time; others that come meanwhile do
 * without. */
static struct {
	pthread_mutex_t mutex;
	struct stack_capture walks, recognises;
	struct stack_scratch walk, known;
	uint64_t captures, differ, recognised;
} compared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int open_captures(void)
{
	static struct definition_writer writer;

	writer = DEFINITION_WRITER_INIT(guest);
	compared.recognises = (struct stack_capture){
		.ring = guest,
		.stacks = stack_table_create(guest),
		.tables = unwind_tables_create(UNWIND_BYTES_MAX),
		.python = python,
		.options = STACK_OPTIONS_DEFAULT,
	};
	struct module_watch *watch = module_watch_create(&writer, compared.recognises.tables);
	if (!compared.recognises.stacks || !compared.recognises.tables || !watch)
		return -1;
	module_watch_poll(watch, false);
	unwind_tables_build(compared.recognises.tables, UNWIND_BUILD_ALL);
	compared.walks = compared.recognises;
	compared.walks.walks_always = true;
	return 0;
}

/* Both captures come from one place. The thread may be another one than before. */
static __attribute__((noinline)) void compare_captures(void)
{
	uint32_t ids[2];

	if (pthread_mutex_trylock(&compared.mutex) != 0)
		return;
	uint64_t hits = compared.known.known.hits;
	compared.walk.bounds = compared.known.bounds = (struct stack_bounds){0};
	for (volatile int i = 0; i < 2; i++)
		ids[i] = stack_capture_take(i ? &compared.recognises : &compared.walks,
					    i ? &compared.known : &compared.walk, 1);
	compared.captures++;
	compared.differ += ids[0] != ids[1];
	compared.recognised += compared.known.known.hits > hits;
	pthread_mutex_unlock(&compared.mutex);
}

PROBE void probe_captures(uint64_t *captures, uint64_t *recognised, uint64_t *differ)
{
	*captures = compared.captures;
	*recognised = compared.recognised;
	*differ = compared.differ;
}

/* 0: ready to look for an interpreter. */
PROBE int probe_open(void)
{
	int fd;

	if (record_ring_create(&RECORD_RING_SIZES_DEFAULT, &guest, &fd) < 0 ||
	    record_ring_map(fd, &agent) < 0)
		return -1;
	close(fd);
	python = python_frames_create(guest);
	return python ? open_captures() : -1;
}

PROBE int probe_find(void)
{
	return (int)python_frames_find(python);
}

PROBE int probe_state(void)
{
	return (int)python_frames_state(python);
}

PROBE const char *probe_text(void)
{
	return python_frames_text(python);
}

PROBE int probe_ambiguous(void)
{
	return python_frames_ambiguous(python);
}

/* The number of the evaluation loop's ranges; *bytes: all of them together. */
PROBE int probe_loop_ranges(uint64_t *bytes)
{
	const struct unwind_stops *stops = python_frames_stops(python);

	*bytes = 0;
	for (uint32_t i = 0; i < stops->nr; i++)
		*bytes += stops->ranges[i].end - stops->ranges[i].start;
	return (int)stops->nr;
}

/* Evaluation loops on the native stack, as the C library's own unwinder sees it. */
static int count_loops(void)
{
	const struct unwind_stops *stops = python_frames_stops(python);
	void *addresses[4 * FRAMES_MAX];
	int depth = backtrace(addresses, 4 * FRAMES_MAX), loops = 0;

	for (int i = 0; i < depth; i++)
		for (uint32_t stop = 0; stop < stops->nr; stop++) {
			uint64_t address = (uint64_t)(uintptr_t)addresses[i] - 1;

			loops += address >= stops->ranges[stop].start &&
				 address < stops->ranges[stop].end;
		}
	return depth == 4 * FRAMES_MAX ? -1 : loops;
}

/* The frames' stack words, leaf first, with keys and FLAG_… for each; *loops (may be NULL):
 * evaluation loops on the native stack. Returns their number, or -1 - number: there are more. */
PROBE int probe_walk(uint64_t *words, uint64_t *keys, uint8_t *flags, int max, int *loops)
{
	struct python_frame frames[FRAMES_MAX];
	bool cut;
	int nr = (int)python_frames_walk(python, python_frames_first(python), frames,
					 (uint32_t)(max < FRAMES_MAX ? max : FRAMES_MAX), &cut);

	for (int i = 0; i < nr; i++) {
		words[i] = python_frames_word(python, &texts, &frames[i]);
		keys[i] = frames[i].key;
		flags[i] = (uint8_t)((frames[i].segment_end ? FLAG_END : 0) |
				     (frames[i].incomplete ? FLAG_INCOMPLETE : 0));
	}
	if (loops)
		*loops = count_loops();
	compare_captures();
	return cut ? -1 - nr : nr;
}

/* Walks until the process ends, which it must survive: for a thread that the interpreter does not
 * wait for. Writes a byte to fd once it has begun. */
PROBE void probe_walk_forever(int fd)
{
	struct python_frame frames[FRAMES_MAX];
	bool cut;

	for (bool begun = false;; begun = true) {
		uint32_t nr = python_frames_walk(python, python_frames_first(python), frames,
						 FRAMES_MAX, &cut);

		if (!begun && write(fd, "w", 1) != 1)
			return;
		for (uint32_t i = 0; i < nr; i++)
			python_frames_word(python, &texts, &frames[i]);
	}
}

/* NUL-terminated, RECORD_CODE_TEXT_MAX + 1 bytes each. 0, or -errno. */
PROBE int probe_code(uint32_t code_id, char *file, char *name)
{
	struct record_ring_code code;
	int error = record_ring_read_code(agent, code_id, &code);

	if (error < 0)
		return error;
	memcpy(file, code.file, code.file_size);
	file[code.file_size] = '\0';
	memcpy(name, code.name, code.name_size);
	name[code.name_size] = '\0';
	return 0;
}

/* Nanoseconds of one walk of this thread's frames; what 1: with their words. */
PROBE double probe_time(int rounds, int what)
{
	struct python_frame frames[FRAMES_MAX];
	struct timespec start, end;
	uint64_t sum = 0;
	bool cut;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int round = 0; round < rounds; round++) {
		uint32_t nr = python_frames_walk(python, python_frames_first(python), frames,
						 FRAMES_MAX, &cut);

		for (uint32_t i = 0; what && i < nr; i++)
			sum += python_frames_word(python, &texts, &frames[i]);
		__asm__ volatile("" : : "r"(sum), "r"(frames) : "memory");
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
	       rounds;
}
