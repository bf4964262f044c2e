#include "inject/nvtx/nvtx_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_text(const struct nvtx_text *text, const char *wanted)
{
	assert_int_equal(text->size, strlen(wanted));
	assert_memory_equal(text->bytes, wanted, text->size);
}

static void bytes_stay_as_they_are(void **state)
{
	struct nvtx_text text;

	(void)state;
	nvtx_text_ascii(&text, "forward");
	assert_text(&text, "forward");
	nvtx_text_ascii(&text, NULL);
	assert_text(&text, "");
	nvtx_text_ascii(&text, "gr\xc3\xb6\xc3\x9f\x65 \xff");
	assert_text(&text, "gr\xc3\xb6\xc3\x9f\x65 \xff");
}

static void longest_text_is_whole_and_a_longer_one_says_that_it_was_cut(void **state)
{
	char bytes[NVTX_TEXT_MAX + 2] = {0};
	struct nvtx_text text;

	(void)state;
	memset(bytes, 'x', NVTX_TEXT_MAX);
	nvtx_text_ascii(&text, bytes);
	assert_text(&text, bytes);
	bytes[NVTX_TEXT_MAX] = 'x';
	nvtx_text_ascii(&text, bytes);
	assert_int_equal(text.size, NVTX_TEXT_MAX);
	assert_memory_equal(text.bytes + NVTX_TEXT_MAX - 4, "x...", 4);
}

static void text_is_cut_between_characters(void **state)
{
	char bytes[2 * NVTX_TEXT_MAX + 1] = {0};
	struct nvtx_text text;

	(void)state;
	for (size_t i = 0; i < NVTX_TEXT_MAX; i++)
		memcpy(bytes + 2 * i, "\xc3\xb6", 2);
	nvtx_text_ascii(&text, bytes);
	assert_int_equal(text.size, NVTX_TEXT_MAX - 1);
	assert_memory_equal(text.bytes + text.size - 5, "\xc3\xb6...", 5);
}

static void wide_characters_become_utf8(void **state)
{
	static const wchar_t odd[] = {0xd800, 0x110000, -1, 'a', 0};
	struct nvtx_text text;

	(void)state;
	nvtx_text_unicode(&text, L"a\u00f6\u20ac\U0001f680");
	assert_text(&text, "a\xc3\xb6\xe2\x82\xac\xf0\x9f\x9a\x80");
	nvtx_text_unicode(&text, NULL);
	assert_text(&text, "");
	nvtx_text_unicode(&text, odd);
	assert_text(&text, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			   "a");
}

static void wide_text_is_cut_between_characters(void **state)
{
	wchar_t characters[NVTX_TEXT_MAX + 1] = {0};
	struct nvtx_text text;

	(void)state;
	for (size_t i = 0; i < NVTX_TEXT_MAX; i++)
		characters[i] = 0x20ac;
	nvtx_text_unicode(&text, characters);
	assert_true(text.size <= NVTX_TEXT_MAX && text.size > NVTX_TEXT_MAX - 4);
	assert_memory_equal(text.bytes + text.size - 6, "\xe2\x82\xac...", 6);
	assert_int_equal((text.size - 3) % 3, 0);
}

static void runs_of_digits_become_one_sign(void **state)
{
	struct nvtx_text text;

	(void)state;
	nvtx_text_ascii(&text, "step 12345 of 9");
	assert_int_equal(nvtx_text_mask(&text), 2);
	assert_text(&text, "step # of #");
	assert_int_equal(nvtx_text_mask(&text), 0);
	assert_text(&text, "step # of #");
}

static void requests_of_a_step_stay_none_or_some(void **state)
{
	static const char *const texts[][2] = {
		{"execute_context_0(0)_generation_64(64)", "execute_context_0(0)_generation_+(+)"},
		{"execute_context_10(983)_generation_0(0)", "execute_context_+(+)_generation_0(0)"},
		{"execute_new_0_cached_12", "execute_new_0_cached_+"},
		{"[Executor] _forward_step 0: 0 ctx reqs, 10 gen reqs",
		 "[Executor] _forward_step 0: 0 ctx reqs, + gen reqs"},
		{"execute_context_00", "execute_context_0"},
		{"my execute_context_0", "my execute_context_#"},
		{"0 ctx reqs,", "# ctx reqs,"},
	};
	struct nvtx_text text;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		nvtx_text_ascii(&text, texts[i][0]);
		nvtx_text_mask(&text);
		assert_text(&text, texts[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_stay_as_they_are),
		cmocka_unit_test(longest_text_is_whole_and_a_longer_one_says_that_it_was_cut),
		cmocka_unit_test(text_is_cut_between_characters),
		cmocka_unit_test(wide_characters_become_utf8),
		cmocka_unit_test(wide_text_is_cut_between_characters),
		cmocka_unit_test(runs_of_digits_become_one_sign),
		cmocka_unit_test(requests_of_a_step_stay_none_or_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
