#include "report/frames/inner_range.h"

#include "tests/support/cmocka_test.h"

#include "tests/report/model/report_fixture.h"

static uint32_t mark(uint32_t parent, const char *text)
{
	return report_fixture_push(parent, report_fixture_code(NULL, text, 0));
}

static uint32_t python(uint32_t parent, const char *name, uint32_t line)
{
	return report_fixture_push(parent, report_fixture_code("/home/u/train.py", name, line));
}

static void operations_stand_next_to_the_work(void **state)
{
	uint32_t module =
		mark(0, "[NVTX]TSL:XlaModule:#prefix=a,hlo_module=jit_step,program_id=3#");
	uint32_t operation =
		mark(module, "[NVTX]TSL:Thunk:#hlo_op=dot.5,unique_hlo_op_id=9,name=a/b# "
			     "train.py:layer:7, train.py:loss:12");

	(void)state;
	report_fixture_add_kernel(python(operation, "main", 30), "k", 5);
	report_fixture_add_kernel(python(module, "main", 30), "k", 6);
	report_fixture_add_kernel(python(0, "main", 30), "k", 7);
	report_fixture_assert_folded(
		"train.py:main:30;[GPU0_Kernel]k 7\n"
		"train.py:main:30;[XLA] jit_step;[GPU0_Kernel]k 6\n"
		"train.py:main:30;[XLA] jit_step;train.py:layer:7, train.py:loss:12;[HLO] "
		"dot.5;[GPU0_Kernel]k 5\n");
}

static void other_ranges_stay_outside(void **state)
{
	uint32_t step = mark(0, "[NVTX]step 3");
	uint32_t operation = mark(step, "[NVTX]TSL:Thunk:#hlo_op=copy.1#");
	uint32_t pass = mark(0, "[NVTX]TSL:XlaPass:#name=fusion,module=jit_step#");

	(void)state;
	report_fixture_add_kernel(python(operation, "main", 30), "k", 5);
	report_fixture_add_kernel(python(pass, "main", 31), "k", 6);
	report_fixture_assert_folded(
		"[NVTX]TSL:XlaPass:#name=fusion,module=jit_step#;train.py:main:31;"
		"[GPU0_Kernel]k 6\n"
		"[NVTX]step 3;train.py:main:30;[HLO] copy.1;[GPU0_Kernel]k 5\n");
}

/* Titles that were not registered may have '#' for their numbers. */
static void titles_with_masked_numbers_are_read(void **state)
{
	(void)state;
	report_fixture_add_kernel(mark(0, "[NVTX]TSL:Thunk:#hlo_op=dot.##"), "k", 5);
	report_fixture_add_kernel(
		mark(0, "[NVTX]TSL:Thunk:#name=a,hlo_op=dot.#,unique_hlo_op_id=##"), "k", 6);
	report_fixture_add_kernel(mark(0, "[NVTX]TSL:XlaModule:#hlo_module=jit_f,program_id=##"),
				  "k", 7);
	report_fixture_add_kernel(mark(0, "[NVTX]TSL:Thunk:#"), "k", 8);
	report_fixture_assert_folded("[HLO] [NVTX]TSL:Thunk:#;[GPU0_Kernel]k 8\n"
				     "[HLO] dot.#;[GPU0_Kernel]k 11\n"
				     "[XLA] jit_f;[GPU0_Kernel]k 7\n");
}

static void lines_of_a_model_stand_next_to_the_work(void **state)
{
	uint32_t lines =
		mark(mark(0, "[NVTX]step 3"), "[lines]model.py:forward:12, model.py:loss:30");

	(void)state;
	report_fixture_add_kernel(python(lines, "main", 30), "k", 5);
	report_fixture_assert_folded("[NVTX]step 3;train.py:main:30;model.py:forward:12, "
				     "model.py:loss:30;[GPU0_Kernel]k 5\n");
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(operations_stand_next_to_the_work),
		TEST(other_ranges_stay_outside),
		TEST(titles_with_masked_numbers_are_read),
		TEST(lines_of_a_model_stand_next_to_the_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
