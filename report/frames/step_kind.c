#include "step_kind.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define BATCH_MAX     1000000u /* a larger number is no batch */
#define PLAIN_MAX     64u      /* bytes of a name that are compared with plain words */
#define NUMBER_ANY    UINT32_MAX
#define NUMBER_SOME   (UINT32_MAX - 1) /* above 0 */
#define CAPTURED_FORM "capture_%g_%*"

/* How a rule's numbers tell the kind. */
enum tells {
	TELLS_KIND = 0,   /* not at all: the rule does */
	TELLS_COUNTS,     /* %c requests of context, %g of generation */
	TELLS_NEW_CACHED, /* %c new requests, %g cached ones, which may be parts of a prompt, too */
};

/* Names of ranges. %c and %g: numbers that tell; %n: another number; %x: anything but ')'; %*: anything, at the end. */
static const struct {
	const char *form;
	enum step_kind kind;
	enum tells tells;
} ranges[] = {
	/* vLLM, vllm/v1/worker/gpu_worker.py: Worker.annotate_profile(), with the profiler "cuda"; the second form with
	 * detailed_trace_annotation; the third until 2025. vllm/v1/utils.py, compute_iteration_details(): a request
	 * without output is context, also if a part of it was computed before. */
	{"execute_context_%c(%x)_generation_%g(%x)", .tells = TELLS_COUNTS},
	{"execute_%n_context_%c(%x)_generation_%g(%x)", .tells = TELLS_COUNTS},
	{"execute_new_%c_cached_%g", .tells = TELLS_NEW_CACHED},
	/* TensorRT-LLM, tensorrt_llm/_torch/pyexecutor/py_executor.py: _forward_step(), three versions; and
	 * cpp/tensorrt_llm/batch_manager/trtGptModelInflightBatching.cpp: executeStep(). */
	{"[Executor] _forward_step %n: %c ctx reqs, %g gen reqs", .tells = TELLS_COUNTS},
	{"[Executor] _forward_step %n: %c ctx reqs, %n ctx tokens, %g gen reqs",
	 .tells = TELLS_COUNTS},
	{"_forward_step: %c ctx reqs, %g gen reqs", .tells = TELLS_COUNTS},
	{"executeStep: %c ctx reqs, %g gen reqs", .tells = TELLS_COUNTS},
	/* SGLang, sglang/srt/utils/profile_utils.py: build_step_span_name(), the name of a ForwardMode
	 * (forward_batch_info.py). A decode that guesses tokens verifies them (TARGET_VERIFY). */
	{"step[EXTEND %*", .kind = STEP_PREFILL},
	{"step[SPLIT_PREFILL %*", .kind = STEP_PREFILL},
	{"step[MIXED %*", .kind = STEP_MIXED},
	{"step[DECODE bs=%g%*", .kind = STEP_DECODE},
	{"step[TARGET_VERIFY bs=%g%*", .kind = STEP_DECODE},
	{"step[IDLE %*", .kind = STEP_IDLE},
	{"step[%*", .kind = STEP_NOT_KNOWN},
};

/* The plain words, for a program of one's own, as make_plain() writes them. */
static const struct {
	const char *form;
	enum step_kind kind;
} plain_words[] = {
	{"prefill", STEP_PREFILL},
	{"prefill %n", STEP_PREFILL},
	{"prefill %n tokens", STEP_PREFILL},
	{"prefill step", STEP_PREFILL},
	{"prefill step %n", STEP_PREFILL},
	{"prefill bs %n", STEP_PREFILL},
	{"prefill batch %n", STEP_PREFILL},
	{"decode", STEP_DECODE},
	{"decode %g", STEP_DECODE},
	{"decode bs %g", STEP_DECODE},
	{"decode batch %g", STEP_DECODE},
	{"decode %n tokens", STEP_DECODE},
	{"decode step", STEP_DECODE},
	{"decode step %n", STEP_DECODE},
	{"decode step bs %g", STEP_DECODE},
	{"decode step %n bs %g", STEP_DECODE},
	{"mixed", STEP_MIXED},
	{"mixed %n", STEP_MIXED},
	{"mixed bs %n", STEP_MIXED},
	{"mixed batch %n", STEP_MIXED},
	{"sampling", STEP_SAMPLING},
};

#define SGLANG "sglang/srt/model_executor/"
#define VLLM   "vllm/v1/worker/"

/* Python functions: the end of the file's path (empty: any file), the name, and the kind. of_graph: the kind of graphs,
 * if it differs. */
static const struct {
	const char *file, *name;
	enum step_kind kind, of_graph;
} functions[] = {
	/* vLLM: one function runs batches of all kinds. Graphs are captured by number of tokens, and in mode FULL
	 * they run mixed batches, too. */
	{VLLM "gpu_model_runner.py", "execute_model", STEP_NOT_KNOWN, STEP_GRAPH},
	{VLLM "gpu_model_runner.py", "sample_tokens", .kind = STEP_SAMPLING},
	{VLLM "gpu_model_runner.py", "_sample", .kind = STEP_SAMPLING},
	{VLLM "gpu_model_runner.py", "_dummy_run", .kind = STEP_DUMMY},
	{VLLM "gpu_model_runner.py", "_dummy_sampler_run", .kind = STEP_DUMMY},
	{VLLM "gpu_model_runner.py", "profile_run", .kind = STEP_DUMMY},
	{VLLM "gpu_model_runner.py", "capture_model", .kind = STEP_DUMMY},
	{VLLM "gpu/model_runner.py", "execute_model", STEP_NOT_KNOWN, STEP_GRAPH},
	{VLLM "gpu/model_runner.py", "sample_tokens", .kind = STEP_SAMPLING},
	{VLLM "gpu/model_runner.py", "_dummy_run", .kind = STEP_DUMMY},
	{VLLM "gpu/model_runner.py", "profile_run", .kind = STEP_DUMMY},
	{VLLM "gpu/model_runner.py", "capture_model", .kind = STEP_DUMMY},
	{"vllm/worker/model_runner.py", "execute_model", STEP_NOT_KNOWN, STEP_GRAPH},
	{"vllm/worker/model_runner.py", "profile_run", .kind = STEP_DUMMY},
	{"vllm/worker/model_runner.py", "capture_model", .kind = STEP_DUMMY},
	/* SGLang, model_runner.py: _forward_raw() chooses by ForwardMode, and is_extend() is true of MIXED, too. Graphs
	 * of cuda_graph_runner.py and the decode runner are for is_cuda_graph(): decode and its verification. */
	{SGLANG "model_runner.py", "forward_decode", .kind = STEP_DECODE},
	{SGLANG "model_runner.py", "forward_extend", .kind = STEP_PREFILL_OR_MIXED},
	{SGLANG "model_runner.py", "forward_split_prefill", .kind = STEP_PREFILL},
	{SGLANG "model_runner.py", "forward_idle", .kind = STEP_IDLE},
	{SGLANG "model_runner.py", "sample", .kind = STEP_SAMPLING},
	{SGLANG "model_runner.py", "_forward_raw", STEP_NOT_KNOWN, STEP_GRAPH},
	{SGLANG "cuda_graph_runner.py", "replay", .kind = STEP_DECODE},
	{SGLANG "cuda_graph_runner.py", "capture", .kind = STEP_DUMMY},
	{SGLANG "runner/decode_cuda_graph_runner.py", "execute", .kind = STEP_DECODE},
	{SGLANG "runner/decode_cuda_graph_runner.py", "capture", .kind = STEP_DUMMY},
	{SGLANG "runner/prefill_cuda_graph_runner.py", "execute", .kind = STEP_PREFILL_OR_MIXED},
	{SGLANG "runner/prefill_cuda_graph_runner.py", "capture", .kind = STEP_DUMMY},
	{SGLANG "runner/eager_runner.py", "_execute_decode", .kind = STEP_DECODE},
	{SGLANG "runner/eager_runner.py", "_execute_extend", .kind = STEP_PREFILL_OR_MIXED},
	{SGLANG "runner/eager_runner.py", "_execute_idle", .kind = STEP_IDLE},
	/* nano-vllm: run_model() launches graphs for a decode alone. */
	{"nanovllm/engine/model_runner.py", "run_model", STEP_NOT_KNOWN, STEP_DECODE},
	{"nanovllm/engine/model_runner.py", "prepare_prefill", .kind = STEP_PREFILL},
	{"nanovllm/engine/model_runner.py", "prepare_decode", .kind = STEP_DECODE},
	{"nanovllm/engine/model_runner.py", "warmup_model", .kind = STEP_DUMMY},
	{"nanovllm/engine/model_runner.py", "capture_cudagraph", .kind = STEP_DUMMY},
	/* lightllm: a function for each kind. */
	{"lightllm/common/basemodel/basemodel.py", "_context_forward", .kind = STEP_PREFILL},
	{"lightllm/common/basemodel/basemodel.py", "_token_forward", .kind = STEP_DECODE},
	/* transformers: older versions have no function for the first step. */
	{"transformers/generation/utils.py", "_prefill", .kind = STEP_PREFILL},
	{"transformers/generation/utils.py", "_sample", STEP_NOT_KNOWN, STEP_GRAPH},
	/* gpt-fast's generate.py, and the many programs that took its names. */
	{"", "prefill", .kind = STEP_PREFILL},
	{"", "decode_one_token", .kind = STEP_DECODE},
	{"", "decode_n_tokens", .kind = STEP_DECODE},
};

static const char *const words[STEP_KINDS] = {
	[STEP_OTHER] = "other",
	[STEP_PREFILL] = "prefill",
	[STEP_DECODE] = "decode",
	[STEP_MIXED] = "mixed",
	[STEP_PREFILL_OR_MIXED] = "prefill or mixed",
	[STEP_IDLE] = "idle",
	[STEP_SAMPLING] = "sampling",
	[STEP_DUMMY] = "dummy run",
	[STEP_GRAPH] = "graph",
	[STEP_NOT_KNOWN] = "not known",
};

/* Returns whether the step is of a kind that a reader asks for: neither unknown nor other. */
static bool is_known(enum step_kind kind)
{
	return kind != STEP_OTHER && kind != STEP_NOT_KNOWN && kind != STEP_GRAPH;
}

/* ---- names of ranges */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Takes a number off the text's begin. false: there is none. */
static bool take_number(struct frame_text *text, uint32_t *number)
{
	uint64_t value = 0;
	uint32_t size = 0;

	*number = NUMBER_ANY;
	if (text->size && (*text->data == '#' || *text->data == '+')) {
		*number = *text->data == '#' ? NUMBER_ANY : NUMBER_SOME;
		size = 1;
	} else {
		for (; size < text->size && is_digit(text->data[size]); size++)
			if (value <= NUMBER_SOME)
				value = value * 10 + (uint64_t)(text->data[size] - '0');
		if (size)
			*number = value < NUMBER_SOME ? (uint32_t)value : NUMBER_SOME;
	}
	text->data += size;
	text->size -= size;
	return size > 0;
}

static void skip_until(struct frame_text *text, char stop)
{
	while (text->size && *text->data != stop) {
		text->data++;
		text->size--;
	}
}

/* Matches the whole text; c and g become the form's numbers. */
static bool matches(const char *form, struct frame_text text, uint32_t *c, uint32_t *g)
{
	uint32_t other;

	*c = *g = NUMBER_ANY;
	for (; *form; form++) {
		if (*form != '%') {
			if (!text.size || *text.data != *form)
				return false;
			text.data++;
			text.size--;
			continue;
		}
		form++;
		if (*form == '*')
			return true;
		if (*form == 'x')
			skip_until(&text, ')');
		else if (!take_number(&text, *form == 'c' ? c : *form == 'g' ? g : &other))
			return false;
	}
	return text.size == 0;
}

static bool is_some(uint32_t number)
{
	return number != 0 && number != NUMBER_ANY;
}

static enum step_kind kind_of(enum tells tells, enum step_kind kind, uint32_t c, uint32_t g)
{
	if (tells == TELLS_KIND)
		return kind;
	if (tells == TELLS_NEW_CACHED) {
		if (!is_some(c))
			return STEP_NOT_KNOWN;
		return g == 0 ? STEP_PREFILL : STEP_PREFILL_OR_MIXED;
	}
	if (c == NUMBER_ANY || g == NUMBER_ANY)
		return is_some(c) ? STEP_PREFILL_OR_MIXED : STEP_NOT_KNOWN;
	if (c)
		return g ? STEP_MIXED : STEP_PREFILL;
	return g ? STEP_DECODE : STEP_IDLE;
}

/* Writes a name in small letters, with one blank for any number of "_", ":", "=" and "-", and between a letter and a
 * number: "Decode_step: bs=8" and "decode step bs8" are equal. A longer name is cut. */
static struct frame_text make_plain(struct frame_text name, char plain[static PLAIN_MAX])
{
	struct frame_text text = {plain, 0};
	bool blank = false;

	for (uint32_t i = 0; i < name.size && text.size + 2 < PLAIN_MAX; i++) {
		char c = name.data[i];
		bool number = is_digit(c) || c == '#' || c == '+';

		if (strchr("_:=- ", c)) {
			blank = true;
			continue;
		}
		blank |= number && text.size && isalpha((unsigned char)plain[text.size - 1]);
		if (blank && text.size)
			plain[text.size++] = ' ';
		blank = false;
		plain[text.size++] = (char)tolower((unsigned char)c);
	}
	return text;
}

static bool find_plain(struct frame_text name, struct step *step)
{
	char plain[PLAIN_MAX];
	const struct frame_text text = make_plain(name, plain);
	uint32_t c, g;

	for (size_t i = 0; i < COUNT(plain_words); i++) {
		if (!matches(plain_words[i].form, text, &c, &g))
			continue;
		step->kind = step->of_graph = plain_words[i].kind;
		if (step->kind == STEP_DECODE && g <= BATCH_MAX)
			step->batch = g;
		return true;
	}
	return false;
}

static bool find_range(struct frame_text name, struct step *step)
{
	uint32_t c, g;

	for (size_t i = 0; i < COUNT(ranges); i++) {
		if (!matches(ranges[i].form, name, &c, &g))
			continue;
		step->kind = step->of_graph = kind_of(ranges[i].tells, ranges[i].kind, c, g);
		if (step->kind == STEP_DECODE && g <= BATCH_MAX)
			step->batch = g;
		return true;
	}
	return find_plain(name, step);
}

/* Cuts the domain off. false: there is none. */
static bool cut_domain(struct frame_text *name)
{
	skip_until(name, ':');
	if (!name->size)
		return false;
	name->data++;
	name->size--;
	return true;
}

struct step step_kind_of_range(struct frame_text name)
{
	struct step step = {.kind = STEP_OTHER};

	if (!find_range(name, &step) && cut_domain(&name))
		find_range(name, &step);
	return step;
}

/* vLLM, vllm/v1/worker/gpu_model_runner.py: _warmup_and_capture() names the tokens and the mode, FULL or PIECEWISE. */
uint32_t step_kind_captured(struct frame_text name)
{
	uint32_t c, g;

	if (!matches(CAPTURED_FORM, name, &c, &g) &&
	    !(cut_domain(&name) && matches(CAPTURED_FORM, name, &c, &g)))
		return 0;
	return g <= BATCH_MAX ? g : 0;
}

/* ---- functions */

static bool ends_with_path(struct frame_text file, const char *path)
{
	size_t size = strlen(path);

	if (size == 0)
		return true;
	return frame_text_ends(file, path) &&
	       (file.size == size || file.data[file.size - size - 1] == '/');
}

static struct frame_text last_part(struct frame_text name)
{
	const char *dot = name.size ? memrchr(name.data, '.', name.size) : NULL;

	if (!dot)
		return name;
	return (struct frame_text){dot + 1, (uint32_t)(name.data + name.size - dot - 1)};
}

struct step step_kind_of_function(struct frame_text file, struct frame_text name)
{
	const struct frame_text last = last_part(name);

	for (size_t i = 0; i < COUNT(functions); i++)
		if (frame_text_equals(last, functions[i].name) &&
		    ends_with_path(file, functions[i].file))
			return (struct step){.kind = functions[i].kind,
					     .of_graph = functions[i].of_graph
								 ? functions[i].of_graph
								 : functions[i].kind};
	return (struct step){.kind = STEP_OTHER};
}

/* ---- the decision */

static void take_inner(struct step *outer, const struct step *inner)
{
	if (inner->kind == STEP_OTHER || outer->kind == STEP_DUMMY)
		return;
	if (!is_known(inner->kind) && is_known(outer->kind))
		return;
	*outer = *inner;
}

void step_kind_within(struct step_evidence *evidence, const struct step_evidence *inner)
{
	take_inner(&evidence->range, &inner->range);
	take_inner(&evidence->function, &inner->function);
	if (inner->captured)
		evidence->captured = inner->captured;
}

/* Returns whether anything says that a graph was captured for steps, or is launched in one. */
static bool is_of_step(const struct step_evidence *launch, const struct step_evidence *capture)
{
	return launch->range.kind != STEP_OTHER || launch->function.kind != STEP_OTHER ||
	       (capture && (capture->captured || capture->range.kind != STEP_OTHER));
}

static struct step decide_kind(const struct step_evidence *launch,
			       const struct step_evidence *capture, bool is_graph)
{
	struct step step = launch->range;

	if (is_known(step.kind))
		return step;
	if (capture && is_known(capture->range.kind))
		return capture->range;
	step.batch = 0;
	step.kind = is_graph ? launch->function.of_graph : launch->function.kind;
	if (is_known(step.kind))
		return step;
	if (!is_of_step(launch, capture))
		step.kind = STEP_OTHER;
	else
		step.kind = is_graph ? STEP_GRAPH : STEP_NOT_KNOWN;
	return step;
}

struct step step_kind_decide(const struct step_evidence *launch,
			     const struct step_evidence *capture, bool is_graph)
{
	struct step step = decide_kind(launch, capture, is_graph);
	uint32_t captured = 0;

	if (capture)
		captured = capture->captured ? capture->captured : capture->range.batch;
	step.exact = captured && (step.kind == STEP_DECODE || step.kind == STEP_GRAPH);
	if (step.exact)
		step.batch = captured;
	return step;
}

void step_kind_text(const struct step *step, char text[static STEP_KIND_TEXT_MAX])
{
	uint32_t most = 1;

	while (most < step->batch)
		most *= 2;
	if (!step->batch)
		snprintf(text, STEP_KIND_TEXT_MAX, "[step] %s", words[step->kind]);
	else if (step->exact || most <= 2)
		snprintf(text, STEP_KIND_TEXT_MAX, "[step] %s %" PRIu32, words[step->kind],
			 step->batch);
	else
		snprintf(text, STEP_KIND_TEXT_MAX, "[step] %s %" PRIu32 "-%" PRIu32,
			 words[step->kind], most / 2 + 1, most);
}
