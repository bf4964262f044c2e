#include "cubin_lines_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "cubin_fixture.h"
#include "node-agent/cubin/cubin_lines.h"
#include "tests/support/cmocka_test.h"

int fixture_lines(const struct cubin_fixture *fixture, struct cubin_lines **lines)
{
	size_t size;
	uint8_t *image = fixture_image(fixture, &size);
	int error = cubin_lines_create(image, size, lines);

	free(image); /* nothing is kept of it */
	return error;
}

void fixture_assert_chain(const struct cubin_lines *lines, const char *function, uint64_t offset,
			  const char *expected)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	size_t count = cubin_code_find(cubin_lines_code(lines, function), offset, frames);
	char text[4096] = "", *end = text;

	for (size_t i = 0; i < count; i++)
		end += sprintf(end, "%s%s %s:%u", i ? " < " : "",
			       frames[i].function ? frames[i].function : "-",
			       frames[i].file ? frames[i].file : "-", frames[i].line);
	assert_string_equal(text, expected);
}
