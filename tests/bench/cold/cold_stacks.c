#include "cold_stacks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/launch/launch_cbid.h"
#include "tests/python/fake_objects.h"

#include "cold_clock.h"
#include "cold_frames.h"
#include "cold_python.h"

#define THREADS       2u
#define STACKS        500u
#define OUTERS        24u /* paths that several stacks share */
#define CODES         200u
#define NATIVE        24u /* frames of one part of a stack at most */
#define PYTHON        40u
#define CAPTURES      6000u
#define STEP_CAPTURES 600u
#define STEP_RANDOM   362436069u
#define WARM          8u /* captures of the same stack, of which the first are not counted */
#define WARM_SKIP     3u
/* Another program had the processor meanwhile. Such captures are left out. */
#define INTERRUPTED 60000u

/* Between two captures. More of either makes the walk slower than real programs do (docs/measurements). */
#define WORK_CALLS 50u
#define WORK_LINES (32u << 10 >> 6)

/* Frames lie close together. Codes lie anywhere, so that they do not share the sets of a cache. */
#define FRAME_BYTES 176u
#define CODE_SLACK  2048u
#define CODE_BYTES  (sizeof(struct fake_code) + CODE_SLACK)

struct part {
	cold_frame *frames[NATIVE + 2];
	uint8_t sites[NATIVE + 2];
	uint32_t nr;
};

struct stack {
	uint32_t outer, nr_python;
	uint16_t code[PYTHON], instruction[PYTHON]; /* leaf first */
	struct part inner;
};

enum setting {
	SETTING_PARTS,
	SETTING_WALKS,
	SETTING_RECOGNISES,
	SETTING_STEPS,
	SETTING_LAUNCHES,
	SETTINGS
};

enum series {
	SERIES_PYTHON,
	SERIES_NATIVE,
	SERIES_INTERN,
	SERIES_WALKS,
	SERIES_WALKS_WARM,
	SERIES_RECOGNISES,
	SERIES_RECOGNISES_WARM,
	SERIES_STEPS,
	SERIES_LAUNCHES,
	SERIES_NR
};

static const char *const series_names[SERIES_NR] = {
	"Python walk",        "native walk",        "interning",
	"capture that walks", "  again, warm",      "capture that recognises",
	"  again, warm",      "  in a fixed order", "whole launch, a fixed order"};

/* One thread's program. */
struct job {
	const struct launch_callback *launch;
	const struct stack_capture *walks, *recognises, *capture;
	struct part outers[OUTERS];
	bool has_python[OUTERS];
	struct stack stacks[STACKS];
	uint32_t of_outer[OUTERS][STACKS], nr_of_outer[OUTERS];
	struct python_library library;
	struct fake_code *codes[CODES]; /* in code_memory */
	struct fake_object thread_state, c_frame;
	_Alignas(16) char code_memory[CODES * CODE_BYTES];
	_Alignas(16) char frames[(PYTHON + 1) * FRAME_BYTES + sizeof(struct fake_object)];
	char work[COLD_WORK_BYTES];
	_Alignas(64) struct stack_scratch scratch;
	uint64_t random, sink, overhead;
	enum setting setting;
	bool counts;
	const struct stack *present;
	uint32_t nr[SERIES_NR], captures;
	uint32_t cycles[SERIES_NR][CAPTURES * WARM];
	pthread_barrier_t *start;
};

static uint32_t below(struct job *job, uint32_t limit)
{
	job->random ^= job->random << 13;
	job->random ^= job->random >> 7;
	job->random ^= job->random << 17;
	return (uint32_t)(job->random >> 32) % limit;
}

static void note(struct job *job, enum series series, uint64_t from, uint64_t to)
{
	uint64_t took = to - from;

	if (job->counts && job->nr[series] < CAPTURES * WARM)
		job->cycles[series][job->nr[series]++] =
			(uint32_t)(took > job->overhead ? took - job->overhead : 0);
}

static __attribute__((noinline)) void work(struct job *job)
{
	uint64_t seed = job->sink + below(job, UINT32_MAX);

	for (uint32_t i = 0; i < WORK_CALLS; i++)
		seed = cold_works[(seed >> 20) % COLD_WORKS](seed + i);
	for (uint32_t i = 0; i < WORK_LINES; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		job->work[(seed >> 20) % (COLD_WORK_BYTES / 64) * 64]++;
	}
	job->sink = seed;
}

/* ---- the last frames */

/* Does what stack_capture_take() does without ranges and marks, one part at a time. */
static __attribute__((noinline)) void take_parts(struct job *job)
{
	const struct unwind_start start = UNWIND_START_HERE();
	const struct stack_capture *capture = job->capture;
	struct stack_scratch *scratch = &job->scratch;
	enum unwind_end end;
	uint64_t hash;
	bool cut;

	uint64_t high = stack_bounds_high(&scratch->bounds, start.sp, 1);
	uint64_t t0 = cold_clock_now();
	uint32_t nr_python =
		python_frames_walk(capture->python, python_frames_first(capture->python),
				   scratch->python, PYTHON, &cut);
	uint64_t t1 = cold_clock_now();
	scratch->nr = unwind_walk(capture->tables, &scratch->rules, &start, high,
				  nr_python ? python_frames_stops(capture->python) : NULL,
				  scratch->keys, capture->options.native_depth, &end);
	uint64_t t2 = cold_clock_now();
	for (uint32_t i = 0; i < nr_python; i++)
		scratch->keys[scratch->nr++] = scratch->python[i].key;
	uint32_t id = stack_table_find(capture->stacks, &scratch->stacks, scratch->keys,
				       scratch->nr, &hash);
	uint64_t t3 = cold_clock_now();
	if (id == RECORD_STACK_NONE)
		stack_table_add(capture->stacks, &scratch->stacks, hash, scratch->keys,
				scratch->nr);
	note(job, SERIES_PYTHON, t0, t1);
	note(job, SERIES_NATIVE, t1, t2);
	note(job, SERIES_INTERN, t2, t3);
}

static __attribute__((noinline)) void take_whole(struct job *job, enum series series)
{
	uint64_t before = cold_clock_now();

	job->sink += stack_capture_take(job->capture, &job->scratch, 1);
	note(job, series, before, cold_clock_now());
}

static __attribute__((noinline)) void launch(struct job *job)
{
	const int result = 0;
	struct cupti_callback_data data = {.correlation_id = job->captures + 1,
					   .return_value = &result};
	uint64_t before = cold_clock_now();

	launch_callback_enter(job->launch, LAUNCH_CBID_KERNEL, &data);
	data.site = CUPTI_ABI_API_EXIT;
	launch_callback_exit(job->launch, LAUNCH_CBID_KERNEL, &data);
	note(job, SERIES_LAUNCHES, before, cold_clock_now());
}

static void capture_frame(struct cold_path *path)
{
	struct job *job = path->user;

	if (job->setting == SETTING_PARTS) {
		take_parts(job);
	} else if (job->setting == SETTING_STEPS) {
		take_whole(job, SERIES_STEPS);
	} else if (job->setting == SETTING_LAUNCHES) {
		launch(job);
	} else {
		enum series series =
			job->setting == SETTING_WALKS ? SERIES_WALKS : SERIES_RECOGNISES;

		for (uint32_t i = 0; i < (job->captures % 8 ? 1 : WARM); i++) {
			bool counts = job->counts;

			/* The compiler must not make two places of the call. */
			__asm__ volatile("" : "+r"(i));
			job->counts = counts && (i == 0 || i >= WARM_SKIP);
			take_whole(job, i ? (enum series)(series + 1) : series);
			job->counts = counts;
		}
	}
	__asm__ volatile("" ::: "memory");
}

/* ---- the program */

static struct fake_object *frame_at(struct job *job, uint32_t i)
{
	return (struct fake_object *)(job->frames + i * FRAME_BYTES);
}

/* The interpreter would have written the frames while it ran. */
static __attribute__((noinline)) void enter_python(struct job *job, const struct stack *stack)
{
	const struct python_layout *layout = &job->library.layout;

	for (uint32_t i = 0; i < stack->nr_python; i++) {
		struct fake_object *frame = frame_at(job, i);
		uint64_t code = fake_object_address(&job->codes[stack->code[i]]->code);

		fake_object_put64(frame, layout->frame_code, code);
		fake_object_put64(frame, layout->frame_instruction,
				  code + layout->code_bytecode + 2u * stack->instruction[i]);
		fake_object_put64(frame, layout->frame_back,
				  fake_object_address(frame_at(job, i + 1)));
		fake_object_put8(frame, layout->frame_owner, 0);
	}
	/* The loop's own frame. */
	struct fake_object *shim = frame_at(job, stack->nr_python);

	fake_object_put8(shim, layout->frame_owner, layout->shim_owner);
	fake_object_put64(shim, layout->frame_back, 0);
	fake_object_put64(&job->c_frame, layout->c_frame_frame,
			  stack->nr_python ? fake_object_address(frame_at(job, 0)) : 0);
	fake_object_put64(&job->thread_state, layout->thread_frame,
			  fake_object_address(&job->c_frame));
	cold_python_set_state(stack->nr_python ? &job->thread_state : NULL);
}

/* Runs some of the stacks of one outer path. */
static void evaluate(struct cold_path *path)
{
	struct job *job = path->user;
	uint32_t outer = (uint32_t)path->salt % OUTERS, times = 1 + below(job, 6);

	for (uint32_t i = 0; i < times; i++) {
		const struct stack *stack =
			&job->stacks[job->of_outer[outer][below(job, job->nr_of_outer[outer])]];
		struct cold_path inner = {stack->inner.frames, stack->inner.sites, job,
					  below(job, UINT32_MAX), 0};

		enter_python(job, stack);
		work(job);
		cold_path_next(&inner);
		job->captures++;
	}
	__asm__ volatile("" ::: "memory");
}

/* The frames change their salt, which the outer path's last frame gets by its number. */
static void choose(struct cold_path *path)
{
	struct job *job = path->user;

	path->salt = job->present->outer;
	evaluate(path);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void run(struct job *job, uint32_t captures)
{
	uint32_t step = 0;

	job->captures = 0;
	while (job->captures < captures) {
		/* Each step of a training has the same stacks in the same order. */
		if (job->setting >= SETTING_STEPS && job->captures >= step) {
			job->random = STEP_RANDOM;
			step += STEP_CAPTURES;
		}
		struct stack any = {.outer = below(job, OUTERS)};
		struct part *outer = &job->outers[any.outer];
		struct cold_path path = {outer->frames, outer->sites, job, 1, 0};

		if (job->nr_of_outer[any.outer] == 0)
			continue;
		job->present = &any;
		cold_path_next(&path);
	}
}

/* ---- making it */

static void make_part(struct job *job, struct part *part, uint32_t nr, uint32_t shared,
		      cold_frame *last)
{
	for (part->nr = 0; part->nr < nr; part->nr++) {
		uint32_t any = below(job, COLD_FRAMES), site = below(job, 2);
		/* Stacks have their first frames in common. */
		bool is_shared = part->nr < shared;

		part->frames[part->nr] =
			cold_frames[is_shared ? (part->nr * 31 + any % 3) % COLD_FRAMES : any];
		part->sites[part->nr] = (uint8_t)(is_shared ? 0 : site);
	}
	part->frames[part->nr++] = last;
}

static void make_python(struct job *job, struct stack *stack, uint32_t nr)
{
	stack->nr_python = nr;
	for (uint32_t i = 0; i < nr; i++) {
		/* The outer frames are those of the outer path, the four innermost are any. */
		bool own = i < 4;

		stack->code[i] = (uint16_t)(own ? below(job, CODES)
						: (stack->outer * 7 + (nr - i) * 3) % CODES);
		stack->instruction[i] = (uint16_t)(own ? below(job, 30) : (nr - i) % 30);
	}
}

static void make(struct job *job, uint32_t number)
{
	job->random = 88172645463325252u + number;
	job->library = (struct python_library){
		.layout = *python_layout_of(12),
		.code_type = (uint64_t)(uintptr_t)PyCode_Type,
		.string_type = (uint64_t)(uintptr_t)PyUnicode_Type,
		.bytes_type = (uint64_t)(uintptr_t)PyBytes_Type,
	};
	for (uint32_t i = 0; i < CODES; i++) {
		job->codes[i] = (struct fake_code *)(job->code_memory + i * CODE_BYTES +
						     below(job, CODE_SLACK / 16) * 16);
		fake_code_fill(job->codes[i], &job->library, "model.py", "Model.step", 10 + i);
		fake_object_put32(&job->codes[i]->code, job->library.layout.code_version,
				  1 + i + number * CODES);
	}
	for (uint32_t i = 0; i < OUTERS; i++) {
		job->has_python[i] = i % 3 > 0;
		make_part(job, &job->outers[i], 8 + below(job, 8), 6, choose);
		if (job->has_python[i]) {
			struct part *outer = &job->outers[i];

			memmove(outer->frames + 1, outer->frames,
				outer->nr * sizeof(outer->frames[0]));
			memmove(outer->sites + 1, outer->sites, outer->nr);
			outer->frames[0] = _PyEval_EvalFrameDefault;
			outer->nr++;
		}
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		struct stack *stack = &job->stacks[i];
		uint32_t outer = below(job, OUTERS);

		stack->outer = outer;
		make_part(job, &stack->inner, 10 + below(job, 14), 0, capture_frame);
		make_python(job, stack, job->has_python[outer] ? 1 + below(job, PYTHON) : 0);
		job->of_outer[outer][job->nr_of_outer[outer]++] = i;
	}
	memset(job->work, 1, sizeof(job->work));
	job->overhead = UINT32_MAX;
	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t before = cold_clock_now(), took = cold_clock_now() - before;

		job->overhead = took < job->overhead ? took : job->overhead;
	}
}

static void *run_job(void *user)
{
	struct job *job = user;

	/* All rounds have one place of the call, so that they have the same stacks. Each setting's first round makes
	 * every stack known. */
	for (uint32_t round = 0; round < 2 * SETTINGS; round++) {
		job->setting = (enum setting)(round / 2);
		job->counts = round % 2;
		job->capture = job->setting >= SETTING_RECOGNISES ? job->recognises : job->walks;
		pthread_barrier_wait(job->start);
		run(job, CAPTURES);
	}
	return NULL;
}

/* ---- the report */

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void print(struct job *jobs[THREADS], enum series series)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t nr = jobs[i]->nr[series], *cycles = jobs[i]->cycles[series];
		uint64_t sum = 0;

		qsort(cycles, nr, sizeof(*cycles), compare);
		while (nr && cycles[nr - 1] > INTERRUPTED)
			nr--;
		if (nr == 0)
			continue;
		for (uint32_t k = 0; k < nr; k++)
			sum += cycles[k];
		printf("%-34s thread %u: mean %6.0f  median %6u  p99 %6u  (%u captures)\n",
		       series_names[series], i, (double)sum / nr, cycles[nr / 2],
		       cycles[nr - 1 - nr / 100], nr);
	}
}

int cold_stacks_report(const struct launch_callback *launch)
{
	const struct stack_capture *capture = &launch->capture;
	struct stack_capture walks = *capture;
	struct job *jobs[THREADS];
	pthread_t threads[THREADS];
	pthread_barrier_t start;

	if (python_frames_find(capture->python) != PYTHON_READY)
		return -1;
	walks.walks_always = true;
	pthread_barrier_init(&start, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		jobs[i] = aligned_alloc(64, sizeof(*jobs[i]));
		if (!jobs[i])
			return -1;
		memset(jobs[i], 0, sizeof(*jobs[i]));
		jobs[i]->launch = launch;
		jobs[i]->walks = &walks;
		jobs[i]->recognises = capture;
		jobs[i]->start = &start;
		make(jobs[i], i);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run_job, jobs[i]) != 0)
			return -1;
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t series = 0; series < SERIES_NR; series++)
		print(jobs, (enum series)series);
	for (uint32_t i = 0; i < THREADS; i++)
		free(jobs[i]);
	pthread_barrier_destroy(&start);
	return 0;
}
