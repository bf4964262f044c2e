/* A file whose frames are made by hand, and the rows that eh_frame makes of it; for tests. */
#ifndef EH_FRAME_FIXTURE_H
#define EH_FRAME_FIXTURE_H

#include <stdint.h>

#include "made_frames.h"
#include "unwind/unwind_row.h"
#include "unwind/unwind_rows.h"

#define EH_FRAME_FIXTURE_BYTES (1u << 20) /* of rows */

#define SPECIAL(what) unwind_rule_special(what)
#define KEPT          UNWIND_RBP_KEPT
#define LOST          UNWIND_RBP_LOST

struct eh_frame_fixture {
	struct made_frames made;
	struct unwind_rows rows;
};

/* cmocka's: *state is the fixture, empty. */
int eh_frame_fixture_set_up(void **state);
int eh_frame_fixture_tear_down(void **state);

/* eh_frame_compile() of the whole module. */
int eh_frame_fixture_compile(const struct unwind_module *module, struct unwind_rows *rows);

/* The rule that the rows have for this place in the code. */
uint32_t eh_frame_fixture_rule(const struct unwind_rows *rows, uint32_t pc);

/* Functions at 16, 32 and 100, and their header. */
void eh_frame_fixture_put_three(struct made_frames *made, enum made_table table);

/* Compiles them, and asserts that the rows are theirs. */
void eh_frame_fixture_check_three(struct eh_frame_fixture *fixture);

#endif
