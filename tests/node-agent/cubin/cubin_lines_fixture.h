/* Makes lines of a cubin_fixture's cubin, and compares what they say of a place. */
#ifndef CUBIN_LINES_FIXTURE_H
#define CUBIN_LINES_FIXTURE_H

#include <stdint.h>

struct cubin_fixture;
struct cubin_lines;

/* As cubin_lines_create(), of an image that is gone afterwards. */
int fixture_lines(const struct cubin_fixture *fixture, struct cubin_lines **lines);

/* Compares the chain at an offset with "leaf /src/one.cu:9 < …", innermost first. "-": not known. */
void fixture_assert_chain(const struct cubin_lines *lines, const char *function, uint64_t offset,
			  const char *expected);

#endif
