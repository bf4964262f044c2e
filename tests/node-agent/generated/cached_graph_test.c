#include "node-agent/generated/cached_graph.h"

#include <string.h>

#include "proto/generated_path.h"
#include "tests/support/cmocka_test.h"

#define KEY    "cabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs"
#define FRAMED "\x94\x95\x01\x02\x03\x04\x05\x06\x07\x08" /* remembered, then a new frame */

#define SPAN(text) ((struct text_span){text, sizeof(text) - 1})

static void assert_text(struct text_span text, const char *expected)
{
	assert_int_equal(text.size, strlen(expected));
	assert_memory_equal(text.data, expected, text.size);
}

static void texts_are_found_behind_their_names(void **state)
{
	const struct text_span entry =
		SPAN("\x80\x04\x8c\x09"
		     "cache_key\x94\x8c\x34" KEY "\x94\x8c\x1c"
		     "inductor_post_grad_graph_str" FRAMED "X\x05\0\0\0"
		     "graph\x94\x8c\x24"
		     "inductor_provenance_stack_traces_str\x94\x8d\x02\0\0\0\0\0\0\0"
		     "{}\x94");

	(void)state;
	assert_text(cached_graph_key(entry), KEY);
	assert_text(cached_graph_graph(entry), "graph");
	assert_text(cached_graph_traces(entry), "{}");
}

static void attribute_without_a_text_has_none(void **state)
{
	(void)state;
	assert_int_equal(cached_graph_traces(SPAN("\x8c\x24"
						  "inductor_provenance_stack_traces_str\x94N"))
				 .size,
			 0);
	assert_int_equal(cached_graph_key(SPAN("\x8c\x09"
					       "cache_key\x94\x8c\x03"
					       "abc"))
				 .size,
			 0);
	assert_int_equal(cached_graph_graph(TEXT_SPAN_NONE).size, 0);
}

static void text_that_is_longer_than_the_entry_is_none(void **state)
{
	(void)state;
	assert_int_equal(cached_graph_graph(SPAN("\x8c\x1c"
						 "inductor_post_grad_graph_strX\x06\0\0\0"
						 "graph"))
				 .size,
			 0);
	assert_int_equal(cached_graph_graph(SPAN("\x8c\x1c"
						 "inductor_post_grad_graph_strq\x01X\x06\0"))
				 .size,
			 0);
}

static void generated_paths_are_told_from_others(void **state)
{
	static const char path[] = "/tmp/torchinductor_u/ab/" KEY ".py";
	static const char dots[] = "/..tmp/.x/.../ab/" KEY ".py";
	static const char *const others[] = {
		"/tmp/torchinductor_u/ac/" KEY ".py",
		"/tmp/torchinductor_u/ab/" KEY ".so",
		"/tmp/torchinductor_u/ab/x" KEY ".py",
		"/ab/c1"
		"bcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs.py",
		"ab/" KEY ".py",
		"/tmp//torchinductor_u/ab/" KEY ".py",
		"//tmp/torchinductor_u/ab/" KEY ".py",
		"/tmp/torchinductor_u//ab/" KEY ".py",
		"/tmp/./torchinductor_u/ab/" KEY ".py",
		"/tmp/x/../torchinductor_u/ab/" KEY ".py",
		"/tmp/torchinductor_u/./ab/" KEY ".py",
		"/ab/" KEY ".py",
		"",
	};
	size_t size;
	const char *key;

	(void)state;
	assert_true(generated_path_parse(path, sizeof(path) - 1, &size, &key));
	assert_text(((struct text_span){path, size}), "/tmp/torchinductor_u");
	assert_text(((struct text_span){key, GENERATED_PATH_KEY_SIZE}), KEY);
	assert_true(generated_path_parse(dots, sizeof(dots) - 1, &size, &key));
	assert_text(((struct text_span){dots, size}), "/..tmp/.x/...");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(generated_path_parse(others[i], strlen(others[i]), NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_found_behind_their_names),
		cmocka_unit_test(attribute_without_a_text_has_none),
		cmocka_unit_test(text_that_is_longer_than_the_entry_is_none),
		cmocka_unit_test(generated_paths_are_told_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
