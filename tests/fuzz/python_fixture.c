/* A small library that looks like CPython's: with an evaluation loop that the compiler has split, and what else a
 * file says. */
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED uint64_t _PyRuntime[8] = {1};
#ifndef PYTHON_FIXTURE_NO_TYPES
EXPORTED uint64_t PyCode_Type[8] = {1}, PyUnicode_Type[8] = {1}, PyBytes_Type[8] = {1};
#endif
#ifdef PYTHON_FIXTURE_VERSION
EXPORTED const uint64_t Py_Version = PYTHON_FIXTURE_VERSION;
#endif
#ifdef PYTHON_FIXTURE_DEBUG
EXPORTED void _Py_NegativeRefcount(void);
void _Py_NegativeRefcount(void)
{
}
#endif

EXPORTED int _PyEval_EvalFrameDefault(void);

/* Two parts that jump into each other, and a function that only ends in a jump. */
__asm__(".text\n"
	".type other, @function\n"
	"other: .cfi_startproc\n ret\n .cfi_endproc\n .size other, . - other\n"
	".type part, @function\n"
	"part: .cfi_startproc\n nop\n"
	"1: jmp.d32 5f\n 2: jmp.d32 6f\n 3: jmp.d32 7f\n 4: jmp.d32 8f\n"
	".cfi_endproc\n .size part, . - part\n"
	".globl _PyEval_EvalFrameDefault\n"
	".type _PyEval_EvalFrameDefault, @function\n"
	"_PyEval_EvalFrameDefault: .cfi_startproc\n nop\n"
	"5: je.d32 1b\n 6: je.d32 2b\n 7: jmp.d32 3b\n 8: jmp.d32 4b\n jmp.d32 other\n ret\n"
	".cfi_endproc\n .size _PyEval_EvalFrameDefault, . - _PyEval_EvalFrameDefault\n");
