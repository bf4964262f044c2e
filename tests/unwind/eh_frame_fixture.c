#include "eh_frame_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unwind/eh_frame.h"

int eh_frame_fixture_set_up(void **state)
{
	struct eh_frame_fixture *fixture = calloc(1, sizeof(*fixture));

	made_frames_init(&fixture->made);
	unwind_rows_init(&fixture->rows, EH_FRAME_FIXTURE_BYTES);
	*state = fixture;
	return 0;
}

int eh_frame_fixture_tear_down(void **state)
{
	struct eh_frame_fixture *fixture = *state;

	unwind_rows_fini(&fixture->rows);
	made_frames_fini(&fixture->made);
	free(fixture);
	return 0;
}

int eh_frame_fixture_compile(const struct unwind_module *module, struct unwind_rows *rows)
{
	return eh_frame_compile(&module->image, module->eh_frame_hdr, module->eh_frame_hdr_size,
				module->start, module->end, rows);
}

uint32_t eh_frame_fixture_rule(const struct unwind_rows *rows, uint32_t pc)
{
	uint32_t rule = SPECIAL(UNWIND_GAP);

	for (size_t i = 0; i < rows->nr && rows->rows[i].pc <= pc; i++)
		rule = rows->rows[i].rule;
	return rule;
}

void eh_frame_fixture_put_three(struct made_frames *made, enum made_table table)
{
	static const uint8_t larger[] = {0x0e, 32}; /* CFA = rsp + 32 */

	made_frames_function(made, 16, 16, NULL, 0);
	made_frames_function(made, 32, 16, NULL, 0);
	made_frames_function(made, 100, 28, larger, sizeof(larger));
	made_frames_finish(made, table);
}

void eh_frame_fixture_check_three(struct eh_frame_fixture *fixture)
{
	const struct unwind_row expected[] = {
		{0, SPECIAL(UNWIND_GAP)},   {16, unwind_rule(UNWIND_RSP, 1, KEPT)},
		{48, SPECIAL(UNWIND_GAP)},  {100, unwind_rule(UNWIND_RSP, 4, KEPT)},
		{128, SPECIAL(UNWIND_GAP)},
	};

	assert_int_equal(eh_frame_fixture_compile(&fixture->made.module, &fixture->rows), 0);
	assert_int_equal(fixture->rows.nr, sizeof(expected) / sizeof(expected[0]));
	assert_memory_equal(fixture->rows.rows, expected, sizeof(expected));
}
