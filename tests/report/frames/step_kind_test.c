#include "report/frames/step_kind.h"

#include <string.h>

#include "tests/support/cmocka_test.h"

static struct frame_text text_of(const char *text)
{
	return (struct frame_text){text, (uint32_t)strlen(text)};
}

/* Fails unless a launch in that range is called so. */
static void assert_range(const char *range, const char *expected)
{
	const struct step_evidence launch = {.range = step_kind_of_range(text_of(range))};
	const struct step step = step_kind_decide(&launch, NULL, false);
	char text[STEP_KIND_TEXT_MAX];

	step_kind_text(&step, text);
	if (strcmp(text, expected) != 0)
		fail_msg("%s is %s, not %s", range, text, expected);
}

static void assert_function(const char *file, const char *name, enum step_kind kind)
{
	if (step_kind_of_function(text_of(file), text_of(name)).kind != kind)
		fail_msg("%s:%s is of another kind", file, name);
}

static void ranges_of_vllm_tell_by_their_requests(void **state)
{
	(void)state;
	assert_range("execute_context_1(983)_generation_0(0)", "[step] prefill");
	assert_range("execute_context_0(0)_generation_1(1)", "[step] decode 1");
	assert_range("execute_context_0(0)_generation_2(2)", "[step] decode 2");
	assert_range("execute_context_0(0)_generation_3(3)", "[step] decode 3-4");
	assert_range("execute_context_0(0)_generation_64(64)", "[step] decode 33-64");
	assert_range("execute_context_0(0)_generation_65(65)", "[step] decode 65-128");
	assert_range("execute_context_2(700)_generation_12(12)", "[step] mixed");
	assert_range("execute_context_0(0)_generation_0(0)", "[step] idle");
	assert_range("execute_5_context_1(sq4sk4sqsq16sqsk16)_generation_1(sq1sk11sqsq1sqsk11)",
		     "[step] mixed");
	assert_range("execute_16_context_0(sq0sk0sqsq0sqsk0)_generation_16(sq16sk9sqsq1sqsk1)",
		     "[step] decode 9-16");
}

/* A cached request may have a part of its prompt left. */
static void older_ranges_of_vllm_tell_less(void **state)
{
	(void)state;
	assert_range("execute_new_3_cached_0", "[step] prefill");
	assert_range("execute_new_3_cached_8", "[step] prefill or mixed");
	assert_range("execute_new_0_cached_8", "[step] not known");
}

static void ranges_of_other_servers_tell(void **state)
{
	(void)state;
	assert_range("[Executor] _forward_step 12: 1 ctx reqs, 0 gen reqs", "[step] prefill");
	assert_range("TensorRT-LLM:[Executor] _forward_step 12: 0 ctx reqs, 4 gen reqs",
		     "[step] decode 3-4");
	assert_range("[Executor] _forward_step 60000: 0 ctx reqs, 0 ctx tokens, 32 gen reqs",
		     "[step] decode 17-32");
	assert_range("_forward_step: 2 ctx reqs, 4 gen reqs", "[step] mixed");
	assert_range("executeStep: 2 ctx reqs, 4 gen reqs", "[step] mixed");
	assert_range("step[EXTEND bs=2 toks=107]", "[step] prefill");
	assert_range("step[DECODE bs=16]", "[step] decode 9-16");
	assert_range("step[DECODE bs=16 g_sq=16 g_sk=99]", "[step] decode 9-16");
	assert_range("step[TARGET_VERIFY bs=1]", "[step] decode 1");
	assert_range("step[MIXED bs=2]", "[step] mixed");
	assert_range("step[IDLE bs=0]", "[step] idle");
	assert_range("step[SPLIT_PREFILL bs=1]", "[step] prefill");
	assert_range("step[DLLM_EXTEND bs=1]", "[step] not known");
}

static void plain_words_tell(void **state)
{
	(void)state;
	assert_range("prefill", "[step] prefill");
	assert_range("engine:prefill 512", "[step] prefill");
	assert_range("decode 16", "[step] decode 9-16");
	assert_range("Decode_step: bs=16", "[step] decode 9-16");
	assert_range("decode16", "[step] decode 9-16");
	assert_range("DECODE batch 16", "[step] decode 9-16");
	assert_range("decode step 16", "[step] decode"); /* the number of the step */
	assert_range("Prefill: 64 tokens", "[step] prefill");
	assert_range("prefill_512", "[step] prefill");
	assert_range("sampling", "[step] sampling");
	assert_range("mixed", "[step] mixed");
}

static void masked_numbers_tell_what_is_left(void **state)
{
	(void)state;
	assert_range("execute_context_#(#)_generation_#(#)", "[step] not known");
	assert_range("execute_context_0(0)_generation_+(+)", "[step] decode");
	assert_range("execute_context_+(+)_generation_0(0)", "[step] prefill");
	assert_range("execute_context_+(+)_generation_+(+)", "[step] mixed");
	assert_range("execute_new_#_cached_#", "[step] not known");
	assert_range("step[DECODE bs=#]", "[step] decode");
	assert_range("[Executor] _forward_step #: # ctx reqs, # gen reqs", "[step] not known");
	assert_range("decode #", "[step] decode");
}

static void other_names_are_of_no_step(void **state)
{
	static const char *const names[] = {
		"",
		":",
		"execute_context_",
		"execute_context_1",
		"execute_context_1(5",
		"execute_context_(5)_generation_1(1)",
		"execute_context_1(5)_generation_1(1) and more",
		"execute_context_-1(5)_generation_1(1)",
		"execute_context_%c(%x)_generation_%g(%x)",
		"my_execute_context_1(5)_generation_1(1)",
		"gpu_model_runner: forward",
		"[Executor] _forward_step : 1 ctx reqs, 1 gen reqs",
		"stepDECODE bs=4",
		"decoder",
		"decode jpeg",
		"decode step image 3",
		"decode x",
		"prefilled",
		"forward",
		"capture_16_FULL",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_range(names[i], "[step] other");
}

static void numbers_too_large_are_no_batch(void **state)
{
	(void)state;
	assert_range("execute_context_0(0)_generation_4294967295(1)", "[step] decode");
	assert_range("execute_context_0(0)_generation_99999999999999999999999999(1)",
		     "[step] decode");
	assert_range("execute_context_0(0)_generation_1000000(1)", "[step] decode 524289-1048576");
	assert_range("execute_context_99999999999999999999999999(1)_generation_0(0)",
		     "[step] prefill");
	assert_range("execute_context_000(0)_generation_0004(4)", "[step] decode 3-4");
}

static void functions_tell_by_file_and_name(void **state)
{
	static const char vllm[] =
		"/usr/lib/python3/site-packages/vllm/v1/worker/gpu_model_runner.py";
	static const char sglang[] = "/s/sglang/srt/model_executor/model_runner.py";

	(void)state;
	assert_function(vllm, "GPUModelRunner.execute_model", STEP_NOT_KNOWN);
	assert_function(vllm, "execute_model", STEP_NOT_KNOWN);
	assert_function(vllm, "GPUModelRunner.sample_tokens", STEP_SAMPLING);
	assert_function(vllm, "GPUModelRunner._dummy_run", STEP_DUMMY);
	assert_function(vllm, "GPUModelRunner.load_model", STEP_OTHER);
	assert_function("vllm/v1/worker/gpu_model_runner.py", "execute_model", STEP_NOT_KNOWN);
	assert_function("/my_vllm/v1/worker/gpu_model_runner.py", "execute_model", STEP_OTHER);
	assert_function("/home/u/train.py", "execute_model", STEP_OTHER);
	assert_function(sglang, "ModelRunner.forward_decode", STEP_DECODE);
	assert_function(sglang, "ModelRunner.forward_extend", STEP_PREFILL_OR_MIXED);
	assert_function("/home/u/generate.py", "prefill", STEP_PREFILL);
	assert_function("/home/u/generate.py", "decode_one_token", STEP_DECODE);
	assert_function("/home/u/vae.py", "AutoencoderKL.decode", STEP_OTHER);
	assert_function("", "", STEP_OTHER);
	assert_function("/home/u/generate.py", ".", STEP_OTHER);
}

static void the_innermost_that_is_known_counts(void **state)
{
	struct step_evidence all = {.captured = 0};
	const struct step_evidence unknown = {.range = step_kind_of_range(text_of("step[NEW x"))};
	const struct step_evidence prefill = {.range = step_kind_of_range(text_of("prefill"))};
	const struct step_evidence none = {.captured = 0};
	const struct step_evidence decode = {.range = step_kind_of_range(text_of("decode 4"))};

	(void)state;
	step_kind_within(&all, &unknown);
	assert_int_equal(all.range.kind, STEP_NOT_KNOWN);
	step_kind_within(&all, &prefill);
	step_kind_within(&all, &none);
	step_kind_within(&all, &unknown);
	assert_int_equal(all.range.kind, STEP_PREFILL);
	step_kind_within(&all, &decode);
	assert_int_equal(all.range.kind, STEP_DECODE);
	assert_int_equal(all.range.batch, 4);
}

static void within_a_dummy_run_all_is_one(void **state)
{
	struct step_evidence all = {.function = {STEP_DUMMY, STEP_DUMMY, 0, false}};
	const struct step_evidence sampling = {
		.function = {STEP_SAMPLING, STEP_SAMPLING, 0, false}};

	(void)state;
	step_kind_within(&all, &sampling);
	assert_int_equal(all.function.kind, STEP_DUMMY);
}

static void a_capture_is_named_with_its_size(void **state)
{
	(void)state;
	assert_int_equal(step_kind_captured(text_of("capture_16_FULL")), 16);
	assert_int_equal(step_kind_captured(text_of("vllm:capture_512_PIECEWISE")), 512);
	assert_int_equal(step_kind_captured(text_of("capture_#_FULL")), 0);
	assert_int_equal(step_kind_captured(text_of("capture_9999999_FULL")), 0);
	assert_int_equal(step_kind_captured(text_of("capture_16")), 0);
	assert_int_equal(step_kind_captured(text_of("capture__FULL")), 0);
	assert_int_equal(step_kind_captured(text_of("")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_of_vllm_tell_by_their_requests),
		cmocka_unit_test(older_ranges_of_vllm_tell_less),
		cmocka_unit_test(ranges_of_other_servers_tell),
		cmocka_unit_test(plain_words_tell),
		cmocka_unit_test(masked_numbers_tell_what_is_left),
		cmocka_unit_test(other_names_are_of_no_step),
		cmocka_unit_test(numbers_too_large_are_no_batch),
		cmocka_unit_test(functions_tell_by_file_and_name),
		cmocka_unit_test(the_innermost_that_is_known_counts),
		cmocka_unit_test(within_a_dummy_run_all_is_one),
		cmocka_unit_test(a_capture_is_named_with_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
