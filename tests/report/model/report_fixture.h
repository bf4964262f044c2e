/* A profile in memory, made bit by bit, and its report tree. Fails the running test on any error. */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include <stdint.h>

#include "aggregator/core/fold_table.h"
#include "report/writers/folded_writer.h"
#include "report/profile/profile.h"
#include "report/model/report_build.h"

struct report_fixture {
	struct profile profile;
	struct collection *collection; /* the profile's */
	struct catalog *catalog;
	struct report_tree *tree;
	uint32_t program, runtime; /* modules: the application's, and one of CUDA's own */
	uint32_t process_id;       /* of rows to come */
};

extern struct report_fixture report_fixture;

/* For cmocka. */
int report_fixture_set_up(void **state);
int report_fixture_tear_down(void **state);

uint32_t report_fixture_string(const char *text);
uint32_t report_fixture_module(const char *path, uint32_t flags);

/* A process on a new host, with device 0 as that GPU. */
uint32_t report_fixture_process(const char *node, uint32_t pid, int32_t rank, int32_t gpu);

/* A frame. name NULL: not looked up yet; "": has none. */
uint32_t report_fixture_frame(uint32_t in_module, uint64_t offset, const char *name);
/* A line of a Python function; file NULL: a mark, or the launch's function. */
uint32_t report_fixture_code(const char *file, const char *name, uint64_t line);
uint32_t report_fixture_push(uint32_t parent, uint32_t frame);

/* A stack of named functions of the program, root first, ended by NULL. */
uint32_t report_fixture_stack(const char *first, ...);

/* The key of a kernel that was launched there; kernel NULL: its name was lost. */
struct fold_key report_fixture_key(uint32_t stack_id, const char *kernel);
void report_fixture_add_row(struct fold_key key, uint64_t count, uint64_t ns, uint64_t bytes);
void report_fixture_add_kernel(uint32_t node, const char *kernel, uint64_t ns);

/* Makes the tree anew. */
void report_fixture_build(enum demangle_mode mode);
void report_fixture_build_with(const struct report_options *options);

void report_fixture_assert_folded_with(const struct folded_options *options, const char *expected);

/* Makes the tree anew, too; in ns. */
void report_fixture_assert_folded(const char *expected);
void report_fixture_assert_folded_without_lines(const char *expected);

#endif
