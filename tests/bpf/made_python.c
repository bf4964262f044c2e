#include "made_python.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED uint64_t _PyRuntime[MADE_RUNTIME_BYTES / sizeof(uint64_t)];
EXPORTED uint64_t PyCode_Type[MADE_TYPE_BYTES / sizeof(uint64_t)];
EXPORTED uint64_t PyUnicode_Type[MADE_TYPE_BYTES / sizeof(uint64_t)];
EXPORTED uint64_t PyBytes_Type[MADE_TYPE_BYTES / sizeof(uint64_t)];

EXPORTED made_python_loop _PyEval_EvalFrameDefault;

static volatile int loops;

/* The call is not its last instruction. */
void _PyEval_EvalFrameDefault(made_python_work *work, void *context)
{
	work(context);
	loops++;
}
